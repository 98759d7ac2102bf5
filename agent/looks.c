/* looks.c: whether the processes of a cell are enough. */
#include "agent/looks.h"

#include "agent/profile.h"

#include <math.h>
#include <stdlib.h>

#define TARGET    0.005 /* relative half-width wanted */
#define GAP_LEAST 0.005 /* between two groups, of the median */

bool fm_look_due(unsigned round)
{
	return round >= FM_PROFILE_LOOKS && round <= FM_PROFILE_MOST && round % 10 == 0;
}

/* Student's t, two-sided 95 %: within 0.4 % from 19 degrees of freedom on, which is where looks
 * begin.
 */
static double t_value(unsigned freedom)
{
	return 1.96 + 2.4 / freedom + 2.2 / ((double)freedom * freedom);
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Type 7. */
static double quantile(const double *sorted, size_t n, double p)
{
	const double h = (double)(n - 1) * p;
	const size_t k = (size_t)h;

	return k + 1 < n ? sorted[k] + (h - (double)k) * (sorted[k + 1] - sorted[k]) : sorted[k];
}

/* The widest gap that leaves enough on both sides is wide, and wider than either side is spread. */
static bool two_groups(double *m, size_t n)
{
	size_t least = (n + 9) / 10, best = 0;
	double gap = 0, left, right;

	if (n < 10)
		return false;
	if (least < 2)
		least = 2;
	qsort(m, n, sizeof *m, by_value);
	for (size_t i = least; i + least <= n; i++)
		if (m[i] - m[i - 1] > gap) {
			gap = m[i] - m[i - 1];
			best = i;
		}
	if (best == 0 || gap < GAP_LEAST * quantile(m, n, 0.5))
		return false;
	left = quantile(m, best, 0.75) - quantile(m, best, 0.25);
	right = quantile(m + best, n - best, 0.75) - quantile(m + best, n - best, 0.25);
	return gap > 3 * (left > right ? left : right);
}

static double process_mean(const struct fm_process *p)
{
	double calls = 0, counts = 0;

	for (size_t i = 0; i < p->window_count; i++) {
		calls += (double)p->windows[i].calls;
		counts += (double)(p->windows[i].counted ? p->windows[i].count : p->windows[i].ns);
	}
	return calls > 0 ? counts / calls : 0;
}

int fm_look_take(const struct fm_cell_work *cell, struct fm_look *out)
{
	double *m = fm_alloc_array(cell->taken_count + 1, sizeof *m), s = 0, t;

	*out = (struct fm_look){.half_width = -1};
	if (m == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < cell->taken_count; i++)
		if (cell->taken[i].col[FM_COL_state] == FM_ACCEPTED) {
			double d, value = process_mean(&cell->taken[i]);

			m[out->n++] = value;
			d = value - out->mean;
			out->mean += d / out->n;
			s += d * (value - out->mean);
		}
	if (out->n >= 2 && out->mean > 0) {
		s = sqrt(s / (out->n - 1)) / out->mean;
		t = t_value(out->n - 1);
		out->half_width = t * s / sqrt(out->n);
		out->needed = (unsigned)fmin(ceil(t / TARGET * (t / TARGET) * s * s), 1e6);
		out->bimodal = two_groups(m, out->n);
	}
	free(m);
	return FM_OK;
}

const char *fm_look_stop(const struct fm_look *look, unsigned round)
{
	if (look->half_width >= 0 && look->half_width <= TARGET && !look->bimodal)
		return "target";
	return round >= FM_PROFILE_MOST ? "cap" : NULL;
}
