/* stats_plan.c: how many processes and windows a cell needs, ratios inside rounds, trend, and cost
 * against message size. */
#include "orchestrator/stats.h"

#include "protocol/buf.h"

#include <math.h>
#include <stdlib.h>

#define WINDOWS_LEAST  8
#define WINDOWS_MOST   200
#define PROCESSES_MOST 1e6
#define NORMAL_975     1.96
#define RESIDUAL_LIMIT 0.03

double fm_windows_advised(double between, double within, double c1, double c2)
{
	double k;

	if (!(c1 > 0) || !(c2 >= 0) || !(within >= 0) || !(between >= 0))
		return NAN;
	k = between > 0 ? ceil(sqrt(c2 / c1 * (within / between))) : WINDOWS_MOST;
	return k < WINDOWS_LEAST ? WINDOWS_LEAST : k > WINDOWS_MOST ? WINDOWS_MOST : k;
}

double fm_processes_advised(double mean, double between, double within, double k, double half)
{
	double variance = between + within / k, t = NORMAL_975, n = NAN;

	if (!(mean > 0) || !(half > 0) || !isfinite(variance) || variance < 0)
		return NAN;
	for (int round = 0; round < 2; round++) {
		n = ceil(t / half * (t / half) * variance / (mean * mean));
		if (n < 2)
			n = 2;
		if (!(n <= PROCESSES_MOST))
			return PROCESSES_MOST;
		t = fm_t975((size_t)n - 1);
	}
	return n;
}

struct fm_log_ratio fm_log_ratio(const double *a, const double *b, size_t rounds)
{
	struct fm_log_ratio l = {0, NAN, 0};
	double squares = 0;

	for (size_t i = 0; i < rounds; i++) {
		double d, ln;

		if (!(a[i] > 0) || !(b[i] > 0))
			continue;
		ln = log(a[i]) - log(b[i]);
		d = ln - l.mean;
		l.mean += d / (double)++l.n;
		squares += d * (ln - l.mean);
	}
	if (l.n >= 2)
		l.variance = squares / (double)(l.n - 1);
	return l;
}

struct fm_ratio fm_ratio_in_rounds(const struct fm_log_ratio *l, double t)
{
	const double half = l->n >= 2 ? t * sqrt(l->variance / (double)l->n) : NAN;

	return l->n == 0
	               ? (struct fm_ratio){NAN, NAN, NAN}
	               : (struct fm_ratio){exp(l->mean), exp(l->mean - half), exp(l->mean + half)};
}

int fm_trend(const double *m, size_t n, double *z, double *slope)
{
	size_t pairs = n * (n - 1) / 2, at = 0;
	double *slopes, s = 0, sign, d;

	*z = *slope = NAN;
	if (n < 2 || n > FM_TREND_MAX)
		return FM_OK;
	if ((slopes = fm_alloc_array(pairs, sizeof *slopes)) == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			d = m[j] - m[i];
			s += (d > 0) - (d < 0);
			slopes[at++] = d / (double)(j - i);
		}
	sign = (s > 0) - (s < 0);
	d = (double)n * (double)(n - 1) * (double)(2 * n + 5) / 18;
	*z = (s - sign) / sqrt(d);
	fm_sort(slopes, pairs);
	*slope = fm_median(slopes, pairs);
	free(slopes);
	return FM_OK;
}

/* Normal equations, about the weighted means. */
int fm_size_model(const double *bytes, const double *cost, const double *variance, size_t n,
        struct fm_size_model *out)
{
	struct fm_sum w = {0, 0}, wx = {0, 0}, wy = {0, 0}, xx = {0, 0}, xy = {0, 0};
	double x, y, residual;

	*out = (struct fm_size_model){NAN, NAN, NAN, false};
	for (size_t i = 0; i < n; i++) {
		if (!(variance[i] > 0) || !isfinite(cost[i]))
			return fm_fail(FM_ERR_CONFIG, "a size without a spread has no weight");
		fm_sum_add(&w, 1 / variance[i]);
		fm_sum_add(&wx, bytes[i] / variance[i]);
		fm_sum_add(&wy, cost[i] / variance[i]);
	}
	if (n < 3)
		return fm_fail(FM_ERR_CONFIG, "fewer than three sizes");
	x = fm_sum_take(&wx) / fm_sum_take(&w);
	y = fm_sum_take(&wy) / fm_sum_take(&w);
	for (size_t i = 0; i < n; i++) {
		fm_sum_add(&xx, (bytes[i] - x) * (bytes[i] - x) / variance[i]);
		fm_sum_add(&xy, (bytes[i] - x) * (cost[i] - y) / variance[i]);
	}
	if (!(fm_sum_take(&xx) > 0))
		return fm_fail(FM_ERR_CONFIG, "all sizes are the same");
	out->slope = fm_sum_take(&xy) / fm_sum_take(&xx);
	out->fixed = y - out->slope * x;
	out->worst = 0;
	for (size_t i = 0; i < n; i++) {
		residual = fabs(cost[i] / (out->fixed + out->slope * bytes[i]) - 1);
		if (residual > out->worst)
			out->worst = residual;
	}
	out->poor = out->worst > RESIDUAL_LIMIT;
	return FM_OK;
}
