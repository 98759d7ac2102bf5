/* order.h: the order of a round: xoshiro256** (Blackman and Vigna, public domain algorithm) and
 * Fisher-Yates. */
#ifndef FM_AGENT_ORDER_H
#define FM_AGENT_ORDER_H

#include <stddef.h>
#include <stdint.h>

struct fm_order {
	uint64_t s[4];
};

/* The four words come from SplitMix64 started at seed. */
void fm_order_seed(struct fm_order *o, uint64_t seed);
uint64_t fm_order_next(struct fm_order *o);

/* Uniform in 0..n-1, n > 0, by rejection. */
uint64_t fm_order_below(struct fm_order *o, uint64_t n);

/* A fresh permutation of 0..count-1. */
void fm_order_permute(struct fm_order *o, size_t *out, size_t count);

#endif
