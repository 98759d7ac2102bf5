/* What the rounds of both ZuD widths have in common: constants, rotation and the chi of one lane.
 */
#ifndef ZUD_ROUND_H
#define ZUD_ROUND_H

#include <stdint.h>

#define ZUD_ROUNDS 12

/* RC[t] of iota, the same for both widths. This is the order the KAT digests confirm; the
 * submission's PDF prints six of the twelve in other places. */
static const uint64_t ZUD_RC[ZUD_ROUNDS] = {
        0x058, 0x038, 0x3C0, 0x0D0, 0x120, 0x014, 0x060, 0x02C, 0x380, 0x0F0, 0x1A0, 0x012};

/* v rotated left by n, 0 < n < 64. */
static inline uint64_t rotl(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

/* The new lane of a plane whose next two planes hold next and after in the same column. */
static inline uint64_t chi(uint64_t own, uint64_t next, uint64_t after)
{
	return own ^ (~next & after);
}

#endif
