/* order.c: random orders that a seed repeats. */
#include "agent/order.h"

static uint64_t rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

void fm_order_seed(struct fm_order *o, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		o->s[i] = z ^ (z >> 31);
	}
}

uint64_t fm_order_next(struct fm_order *o)
{
	uint64_t result = rotl(o->s[1] * 5, 7) * 9, t = o->s[1] << 17;

	o->s[2] ^= o->s[0];
	o->s[3] ^= o->s[1];
	o->s[1] ^= o->s[2];
	o->s[0] ^= o->s[3];
	o->s[2] ^= t;
	o->s[3] = rotl(o->s[3], 45);
	return result;
}

uint64_t fm_order_below(struct fm_order *o, uint64_t n)
{
	uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;

	do
		x = fm_order_next(o);
	while (x >= limit);
	return x % n;
}

void fm_order_permute(struct fm_order *o, size_t *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		out[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t k = (size_t)fm_order_below(o, i), swap = out[i - 1];

		out[i - 1] = out[k];
		out[k] = swap;
	}
}
