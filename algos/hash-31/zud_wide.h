/* Four lanes in one vector, for the performance sources of both ZuD widths. The compiler's own
 * vectors: 256 bits wide where the target has such registers, taken apart where it has not. */
#ifndef ZUD_WIDE_H
#define ZUD_WIDE_H

#include <stdint.h>
#include <string.h>

#include "zud_round.h"

typedef uint64_t wide __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

/* PICK: the lanes numbered i to l of a (0 to 3) and b (4 to 7). HALVES: the lanes 2, 3, 0, 1; GCC
 * finds the quick instruction for it if it is told in words of 32 bits. */
#if defined __clang__
#define PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define HALVES(v)              PICK(v, v, 2, 3, 0, 1)
#else
typedef uint32_t wide32 __attribute__((vector_size(32)));
#define PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (wide){i, j, k, l})
#define HALVES(v)              ((wide)__builtin_shuffle((wide32)(v), (wide32){4, 5, 6, 7, 0, 1, 2, 3}))
#endif

INLINE wide wide_load(const uint64_t *lane)
{
	wide v;

	memcpy(&v, lane, sizeof v);
	return v;
}

INLINE void wide_store(uint64_t *lane, wide v)
{
	memcpy(lane, &v, sizeof v);
}

/* Each lane rotated left by n, 0 < n < 64. */
INLINE wide wide_rotl(wide v, unsigned n)
{
	return v << n | v >> (64 - n);
}

/* The chi of a plane whose next two planes are next and after. */
INLINE wide wide_chi(wide own, wide next, wide after)
{
	return own ^ (~next & after);
}

#endif
