/* stats.c: sums, quantiles, intervals and the ratio of two means. */
#include "orchestrator/stats.h"

#include "protocol/buf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void fm_sum_add(struct fm_sum *sum, double x)
{
	double t = sum->s + x;
	if (fabs(sum->s) >= fabs(x))
		sum->c += (sum->s - t) + x;
	else
		sum->c += (x - t) + sum->s;
	sum->s = t;
}

double fm_sum_take(const struct fm_sum *sum)
{
	return sum->s + sum->c;
}

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

void fm_sort(double *x, size_t n)
{
	if (n > 1)
		qsort(x, n, sizeof *x, rising);
}

double fm_median(const double *sorted, size_t n)
{
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double fm_quantile(const double *sorted, size_t n, double p)
{
	double h = (double)(n - 1) * p;
	size_t i = (size_t)floor(h);
	if (i + 1 >= n)
		return sorted[n - 1];
	return sorted[i] + (h - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* 97.5 % points of Student's t for 1 to 30 degrees of freedom. */
double fm_t975(size_t df)
{
	static const double table[] = {12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646,
	        2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098,
	        2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518,
	        2.0484, 2.0452, 2.0423};
	if (df < 1)
		return NAN;
	return df <= 30 ? table[df - 1] : 1.96 + 2.4 / (double)df;
}

/* The largest l with 2 P(Bin(n, 1/2) < l) <= 0.05. */
size_t fm_median_rank(size_t n)
{
	double term, below = 0;
	size_t l = 0;

	if (n < 6)
		return 0;
	if (n > 1000) /* 2^-n leaves the doubles; the normal approximation is within one rank there
	               */
		return (size_t)floor(((double)n - 1.96 * sqrt((double)n)) / 2);
	term = ldexp(1.0, -(int)n); /* C(n, k) / 2^n, k = 0 */
	while (2 * (below + term) <= 0.05) {
		below += term;
		term = term * (double)(n - l) / (double)(l + 1);
		l++;
	}
	return l;
}

/* Every value eight times, sorted: 8n ranks; means of the ranks n+1..3n, 3n+1..5n, 5n+1..7n. */
static void stabilised(const double *sorted, size_t n, double out[3])
{
	for (size_t q = 0; q < 3; q++) {
		size_t first = n * (2 * q + 1),
		       last = n * (2 * q + 3); /* ranks first + 1 .. last */
		struct fm_sum sum = {0, 0};
		for (size_t i = first / 8; i < n && i * 8 < last; i++) {
			size_t from = i * 8 > first ? i * 8 : first,
			       to = i * 8 + 8 < last ? i * 8 + 8 : last;
			fm_sum_add(&sum, (double)(to - from) * sorted[i]);
		}
		out[q] = fm_sum_take(&sum) / (double)(2 * n);
	}
}

int fm_estimate(const double *m, size_t n, struct fm_estimate *out)
{
	struct fm_sum sum = {0, 0}, squares = {0, 0};
	double *sorted;
	size_t l;

	memset(out, 0, sizeof *out);
	if (n < 1 || n > FM_STATS_MAX)
		return fm_fail(FM_ERR_INTERNAL, "statistics of %zu values", n);
	if ((sorted = fm_alloc_array(n, sizeof *sorted)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(sorted, m, n * sizeof *sorted);
	fm_sort(sorted, n);
	for (size_t i = 0; i < n; i++)
		fm_sum_add(&sum, m[i]);
	out->n = n;
	out->mean = fm_sum_take(&sum) / (double)n;
	for (size_t i = 0; i < n; i++)
		fm_sum_add(&squares, (m[i] - out->mean) * (m[i] - out->mean));
	out->variance = n < 2 ? NAN : fm_sum_take(&squares) / (double)(n - 1);
	out->half = n < 2 ? NAN : fm_t975(n - 1) * sqrt(out->variance / (double)n);
	out->median = fm_median(sorted, n);
	l = fm_median_rank(n);
	out->median_low = l > 0 ? sorted[l - 1] : NAN;
	out->median_high = l > 0 ? sorted[n - l] : NAN;
	out->q1 = fm_quantile(sorted, n, 0.25);
	out->q3 = fm_quantile(sorted, n, 0.75);
	out->min = sorted[0];
	out->max = sorted[n - 1];
	stabilised(sorted, n, out->stable);
	free(sorted);
	return FM_OK;
}

double fm_between(double variance, double within, double k)
{
	double b = variance - within / k;
	return b > 0 ? b : 0;
}

/* P(T > t) of Student's t with df degrees of freedom, t >= 0: with x = atan(t / sqrt df) the
 * probability within +-t is, for odd df, 2/pi (x + sin x (cos x + 2/3 cos^3 x + 2*4/(3*5) cos^5 x
 * ...)), for even df sin x (1 + 1/2 cos^2 x + 1*3/(2*4) cos^4 x ...), up to cos^(df-2). */
static double t_above(double t, size_t df)
{
	double x = atan(t / sqrt((double)df)), c = cos(x), term = df % 2 ? c : 1, sum = 0;

	for (size_t k = df % 2 ? 1 : 0; k + 2 <= df; k += 2) {
		sum += term;
		term *= c * c * (double)(k + 1) / (double)(k + 2);
	}
	sum *= sin(x);
	return df % 2 ? 0.5 - (x + sum) / acos(-1.0) : (1 - sum) / 2;
}

double fm_t_upper(double upper, size_t df)
{
	double low = 0, high = 1;

	if (df < 1 || !(upper >= 1e-9) || !(upper < 0.5))
		return NAN;
	while (t_above(high, df) > upper)
		high *= 2;
	for (int i = 0; i < 100 && high - low > 1e-10 * high; i++) {
		double middle = low + (high - low) / 2;
		if (t_above(middle, df) > upper)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

/* With g = t^2 vb / b^2 < 1: (r +- (t / b) sqrt(va (1 - g) + r^2 vb)) / (1 - g). */
struct fm_ratio fm_fieller_at(
        double t, double a, double va, size_t na, double b, double vb, size_t nb)
{
	struct fm_ratio out = {NAN, NAN, NAN};
	double g, width;

	if (!isfinite(a) || !isfinite(b) || b == 0)
		return out;
	out.r = a / b;
	if (na < 2 || nb < 2 || !isfinite(va) || !isfinite(vb) || !isfinite(t))
		return out;
	g = t * t * vb / (b * b);
	if (!(g < 1))
		return out;
	width = t / b * sqrt(va * (1 - g) + out.r * out.r * vb);
	out.low = (out.r - width) / (1 - g);
	out.high = (out.r + width) / (1 - g);
	return out;
}

struct fm_ratio fm_fieller(double a, double va, size_t na, double b, double vb, size_t nb)
{
	size_t n = na < nb ? na : nb;

	return fm_fieller_at(n < 2 ? NAN : fm_t975(n - 1), a, va, na, b, vb, nb);
}
