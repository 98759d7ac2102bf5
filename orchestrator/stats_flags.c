/* stats_flags.c: flags over the process means of a cell: outlier, far, gap, two modes, drift. */
#include "orchestrator/stats.h"

#include "protocol/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void find_outliers(
        const double *m, size_t n, const struct fm_estimate *e, struct fm_stat_flags *f)
{
	double iqr = e->q3 - e->q1, low = e->q1 - 3 * iqr, high = e->q3 + 3 * iqr;

	for (size_t i = 0; i < n; i++) {
		if (n >= 3 && (m[i] > 1.1 * e->median || m[i] < e->median / 1.1))
			f->outliers++;
		if (n >= 5 && (m[i] < low || m[i] > high) && fabs(m[i] / e->median - 1) > 0.01)
			f->far++;
	}
}

/* Of the splits with at least max(2, ceil(n / 10)) values on both sides the one with the largest
 * gap; two modes if that gap is at least 0.5 % of the median and more than three times the larger
 * IQR of the two sides. */
static void find_modes(
        const double *sorted, size_t n, const struct fm_estimate *e, struct fm_stat_flags *f)
{
	size_t least = (n + 9) / 10 < 2 ? 2 : (n + 9) / 10, best = least;
	double gap, low_iqr, high_iqr;

	for (size_t i = least; i <= n - least; i++)
		if (sorted[i] - sorted[i - 1] > sorted[best] - sorted[best - 1])
			best = i;
	gap = sorted[best] - sorted[best - 1];
	low_iqr = fm_quantile(sorted, best, 0.75) - fm_quantile(sorted, best, 0.25);
	high_iqr = fm_quantile(sorted + best, n - best, 0.75) -
	           fm_quantile(sorted + best, n - best, 0.25);
	f->bimodal =
	        gap >= 0.005 * e->median && gap > 3 * (low_iqr > high_iqr ? low_iqr : high_iqr);
	f->low_mode = fm_median(sorted, best);
	f->high_mode = fm_median(sorted + best, n - best);
	f->high_share = (double)(n - best) / (double)n;
}

static int find_trend(
        const double *m, size_t n, const struct fm_estimate *e, struct fm_stat_flags *f)
{
	int rc = fm_trend(m, n, &f->trend_z, &f->trend_slope);

	f->drift = rc == FM_OK && fabs(f->trend_z) > 2.576 &&
	           fabs(f->trend_slope) * (double)(n - 1) >= 0.005 * e->median;
	return rc;
}

int fm_stat_flags(const double *m, size_t n, const struct fm_estimate *e, struct fm_stat_flags *f)
{
	double *sorted;
	int rc;

	memset(f, 0, sizeof *f);
	f->trend_z = f->trend_slope = NAN;
	find_outliers(m, n, e, f);
	f->gap = fabs(e->mean / e->median - 1) > 0.005;
	if (n < 10 || n > FM_TREND_MAX)
		return FM_OK;
	if ((sorted = fm_alloc_array(n, sizeof *sorted)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(sorted, m, n * sizeof *sorted);
	fm_sort(sorted, n);
	find_modes(sorted, n, e, f);
	free(sorted);
	if ((rc = find_trend(m, n, e, f)) != FM_OK)
		return rc;
	return FM_OK;
}
