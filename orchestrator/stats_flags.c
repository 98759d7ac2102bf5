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

/* Mann-Kendall: S = sum of signs over pairs in time order, z with continuity correction; slope:
 * median of the pairwise slopes (Theil-Sen). */
static int find_trend(
        const double *m, size_t n, const struct fm_estimate *e, struct fm_stat_flags *f)
{
	size_t pairs = n * (n - 1) / 2, at = 0;
	double *slope, s = 0, sign, d;

	if ((slope = fm_alloc_array(pairs, sizeof *slope)) == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			d = m[j] - m[i];
			s += (d > 0) - (d < 0);
			slope[at++] = d / (double)(j - i);
		}
	sign = (s > 0) - (s < 0);
	d = (double)n * (double)(n - 1) * (double)(2 * n + 5) / 18;
	f->trend_z = (s - sign) / sqrt(d);
	fm_sort(slope, pairs);
	f->trend_slope = fm_median(slope, pairs);
	f->drift = fabs(f->trend_z) > 2.576 &&
	           fabs(f->trend_slope) * (double)(n - 1) >= 0.005 * e->median;
	free(slope);
	return FM_OK;
}

int fm_stat_flags(const double *m, size_t n, const struct fm_estimate *e, struct fm_stat_flags *f)
{
	double *sorted;
	int rc;

	memset(f, 0, sizeof *f);
	f->trend_z = f->trend_slope = NAN;
	find_outliers(m, n, e, f);
	f->gap = fabs(e->mean / e->median - 1) > 0.005;
	if (n < 10 || n > 2000)
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
