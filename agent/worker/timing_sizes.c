/* timing_sizes.c: how many calls each window gets. */
#include "agent/worker/timing.h"

#define WEIGHT        1000 /* of a window, before its stretch of 0 to 200 */
#define STRETCH       201
#define STRETCH_CALLS 10 /* windows with fewer calls are not stretched */

uint64_t fm_timing_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

unsigned fm_timing_sizes(uint64_t seed, uint64_t total, uint64_t least, unsigned most,
        uint64_t sizes[FM_ORDER_WINDOWS_MAX])
{
	uint64_t weights[FM_ORDER_WINDOWS_MAX], sum = 0, before = 0;
	uint64_t count;

	if (least == 0)
		least = 1;
	if (total < least)
		total = least;
	count = total / least < most ? total / least : most;
	for (uint64_t i = 0; i < count; i++) {
		weights[i] = WEIGHT;
		if (total / count >= STRETCH_CALLS)
			weights[i] += fm_timing_random(&seed) % STRETCH;
		sum += weights[i];
	}
	/* the first i windows together get their share of the total, rounded down: nothing is lost
	 * by rounding. total stays below 2^44, weights below 2^18 together: no overflow */
	for (uint64_t i = 0, share = 0; i < count; i++) {
		uint64_t upto;

		share += weights[i];
		upto = total * share / sum;
		sizes[i] = upto - before;
		before = upto;
	}
	return (unsigned)count;
}
