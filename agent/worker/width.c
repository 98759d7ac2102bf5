/* width.c: how wide the core is for us: independent additions against dependent ones. */
#include "agent/worker/width.h"

#include "agent/worker/clock.h"
#include "agent/worker/ops.h"
#include "agent/worker/result.h"

#include <stdbool.h>
#include <stddef.h>

#define CHAIN_ROUNDS 40 /* 10,240 additions: 3.5 us at 3 GHz, 70 steps of the coarsest clock */
#define BLOCK_ROUNDS 80
#define BLOCK_UNROLL 512

/* Eight sums that do not wait for each other: as wide as any core that is measured. */
static void block(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, step = 3;

	for (unsigned i = 0; i < BLOCK_ROUNDS; i++) {
#if defined(__x86_64__)
		__asm__ volatile(
		        ".rept 64\n\tadd %8, %0\n\tadd %8, %1\n\tadd %8, %2\n\t"
		        "add %8, %3\n\tadd %8, %4\n\tadd %8, %5\n\tadd %8, %6\n\t"
		        "add %8, %7\n\t.endr"
		        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
		        : "r"(step)
		        : "cc");
#else
		__asm__ volatile(
		        ".rept 64\n\tadd %0, %0, %8\n\tadd %1, %1, %8\n\tadd %2, %2, %8\n\t"
		        "add %3, %3, %8\n\tadd %4, %4, %8\n\tadd %5, %5, %8\n\t"
		        "add %6, %6, %8\n\tadd %7, %7, %8\n\t.endr"
		        : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h)
		        : "r"(step));
#endif
	}
}

static uint64_t chain_ns(void)
{
	const uint64_t ns = fm_clock_ns();

	fm_clock_chain(CHAIN_ROUNDS);
	return fm_clock_ns() - ns;
}

/* The chain before and after, the faster of the two: an interrupt in it would make the core look
 * wider than it is. One in the block makes it narrower, which a tenth of the probes may be. */
int64_t fm_width_measure(void)
{
	const uint64_t before = chain_ns();
	uint64_t after, ns = fm_clock_ns();

	block();
	ns = fm_clock_ns() - ns;
	after = chain_ns();
	if (ns == 0)
		return -1;
	return (int64_t)(1000u * BLOCK_ROUNDS * BLOCK_UNROLL * (before < after ? before : after) /
	                 (ns * CHAIN_ROUNDS * FM_CHAIN_UNROLL));
}

int64_t fm_width_probe(void)
{
	return fm_ops->width();
}

void fm_width_tell(uint64_t *probes, unsigned n)
{
	static const struct {
		const char *fact;
		unsigned permille;
	} facts[] = {{"width_low_milli", 100}, {"width_milli", 500}, {"width_high_milli", 900}};
	/* an unknown one is the largest number there is */
	const bool known = n > 0 && fm_clock_quantile(probes, n, 1000) <= INT64_MAX;

	for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
		fm_result_number(facts[i].fact,
		        known ? (int64_t)fm_clock_quantile(probes, n, facts[i].permille) : -1);
}
