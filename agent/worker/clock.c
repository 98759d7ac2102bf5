/* clock.c: wall time, and the addition chain whose cost in core cycles is known. */
#include "agent/worker/clock.h"

#include <stdlib.h>
#include <time.h>

static uint64_t begun;

uint64_t fm_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
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
	uint64_t sum = 1, step = 3;

	for (uint64_t i = 0; i < rounds; i++) {
		/* register to register: new cores fold an addition of a constant while renaming */
#if defined(__x86_64__)
		__asm__ volatile(".rept 256\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step) : "cc");
#else
		__asm__ volatile(".rept 256\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(step));
#endif
	}
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
