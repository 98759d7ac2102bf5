/* stats.h: the statistics of a cell, computed from the means of its accepted processes. Nothing
 * here removes a value.
 *
 * NAN stands for "there is none" (an interval of one process); callers print a dash for it and null
 * in records. Doubles throughout, long sums compensated (Neumaier), no contraction
 * (-ffp-contract=off), so that every platform gets the same bits. The formulas are those of the
 * measuring guide, section 11; they are repeated at each function. */
#ifndef FM_STATS_H
#define FM_STATS_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>

#define FM_STATS_MAX 1000000 /* values of one call */

/* Neumaier's compensated sum: start with {0, 0}, add, take. */
struct fm_sum {
	double s, c;
};
void fm_sum_add(struct fm_sum *sum, double x);
double fm_sum_take(const struct fm_sum *sum);

void fm_sort(double *x, size_t n);                /* rising */
double fm_median(const double *sorted, size_t n); /* n >= 1; even n: mean of the middle two */
double fm_quantile(const double *sorted, size_t n, double p); /* type 7 */
double fm_t975(size_t df);       /* table to 30, then 1.96 + 2.4 / df; df >= 1 */
size_t fm_median_rank(size_t n); /* l: ranks l and n + 1 - l (from 1) hold the median with >= 95 %;
                                    0 below n = 6 */

struct fm_estimate {
	size_t n;
	double mean;           /* of the process means */
	double variance, half; /* s^2; half-width of the 95 % t interval; NAN for n < 2 */
	double median, median_low, median_high; /* bounds NAN for n < 6 */
	double q1, q3, min, max;
	double stable[3]; /* stabilised quartiles */
};
/* m: n >= 1 process means in time order (not changed). FM_ERR_MEMORY. */
FM_CHECK int fm_estimate(const double *m, size_t n, struct fm_estimate *out);

/* Flags of section 12. Counts are 0 when a flag is not set. */
struct fm_stat_flags {
	size_t outliers; /* n >= 3: > 1.1 x median or < median / 1.1 */
	size_t far; /* n >= 5: outside Q1 - 3 IQR .. Q3 + 3 IQR and more than 1 % off the median */
	bool gap;   /* mean and median differ by more than 0.5 % */
	bool bimodal; /* n >= 10 */
	double low_mode, high_mode,
	        high_share;          /* medians of both sides and the share of the upper one */
	bool drift;                  /* n >= 10 */
	double trend_z, trend_slope; /* slope per process, NAN below n = 10 */
};
FM_CHECK int fm_stat_flags(
        const double *m, size_t n, const struct fm_estimate *e, struct fm_stat_flags *out);

/* Within and between processes: w[i] is the variance of the window means of process i, k the mean
 * number of windows. */
double fm_between(double variance, double within, double k); /* max(0, s^2 - W / k) */

/* The ratio a / b of two independent means with variances va, vb of the means (not of the values),
 * by Fieller, at t with min(na, nb) - 1 degrees of freedom. Without an interval (g >= 1, or n < 2)
 * low and high are NAN. */
struct fm_ratio {
	double r, low, high;
};
struct fm_ratio fm_fieller(double a, double va, size_t na, double b, double vb, size_t nb);

/* Two cells that ran in the same rounds, a[i] and b[i] in round i: mean and variance of ln a - ln b
 * over the rounds in which both have a value above 0 (NAN: none); variance NAN for n < 2. */
struct fm_log_ratio {
	double mean, variance;
	size_t n;
};
struct fm_log_ratio fm_log_ratio(const double *a, const double *b, size_t rounds);
/* Their ratio a / b with its interval at that t of n - 1 degrees of freedom. */
struct fm_ratio fm_ratio_in_rounds(const struct fm_log_ratio *l, double t);

/* Planning (Kalibera and Jones): windows of a process that make the mean most precise for the time,
 * ceil sqrt((c2 / c1)(W / B)), 8 to 200; c1 is what a window costs, c2 a process without its
 * windows, in the same unit. */
double fm_windows_advised(double between, double within, double c1, double c2);

/* Processes for a 95 % half-width of `half` times the mean, with k windows each:
 * ceil((t / half)^2 (B + W / k) / M^2), taken twice for t; at least 2, at most a million. */
double fm_processes_advised(double mean, double between, double within, double k, double half);

/* Mann-Kendall over m in time order, with the correction for continuity, and the median of the
 * slopes of all pairs (Theil-Sen). NAN for fewer than 2 or more than FM_TREND_MAX. FM_ERR_MEMORY.
 */
#define FM_TREND_MAX 2000
FM_CHECK int fm_trend(const double *m, size_t n, double *z, double *slope);

/* cost = fixed + slope x bytes by least squares with weights 1 / variance. FM_ERR_CONFIG without
 * three sizes of known variance. */
struct fm_size_model {
	double fixed, slope;
	double worst; /* largest residual, of the model's value */
	bool poor;    /* it is above 3 % */
};
FM_CHECK int fm_size_model(const double *bytes, const double *cost, const double *variance,
        size_t n, struct fm_size_model *out);
/* The same at a given t. */
struct fm_ratio fm_fieller_at(
        double t, double a, double va, size_t na, double b, double vb, size_t nb);

/* The t that Student's t with df degrees of freedom exceeds with probability upper, 1e-9 <= upper
 * < 0.5, to 9 digits; NAN outside. Exact finite sums for whole df, inverted by bisection. */
double fm_t_upper(double upper, size_t df);

#endif
