/* clock.c: wall time, and the addition chain whose cost in core cycles is known. */
#include "agent/worker/clock.h"

#include "agent/worker/ops.h"

#include <stdlib.h>

static uint64_t begun;

uint64_t fm_clock_ns(void)
{
	return fm_ops->clock();
}

void fm_clock_begin(void)
{
	begun = fm_clock_ns();
}

uint64_t fm_clock_elapsed(void)
{
	return fm_clock_ns() - begun;
}

void fm_clock_chain(uint64_t rounds)
{
	fm_ops->chain(rounds);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t fm_clock_quantile(uint64_t *values, unsigned n, unsigned permille)
{
	qsort(values, n, sizeof *values, by_value);
	return values[(uint64_t)(n - 1) * permille / 1000];
}
