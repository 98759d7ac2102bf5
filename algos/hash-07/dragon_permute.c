/* The 1600-bit permutation of Dragon: 16 rounds of additions, rotations and XORs on 25 lanes
 * (hash-07 Dragon). */
#include "dragon_permute.h"

enum { ROUNDS = 16 };

/* v rotated left by n, 0 < n < 64. */
static inline uint64_t rotl(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

/* Q on the lanes numbered a to e: additions and rotate-then-XOR in turn; every lane is rotated
 * once, by its own constant. */
static inline void q(
        uint64_t lane[DRAGON_LANES], unsigned a, unsigned b, unsigned c, unsigned d, unsigned e)
{
	lane[b] += lane[e];
	lane[d] = rotl(lane[d], 33) ^ lane[b];
	lane[a] += lane[d];
	lane[c] = rotl(lane[c], 24) ^ lane[a];
	lane[e] += lane[c];
	lane[b] = rotl(lane[b], 10) ^ lane[e];
	lane[d] += lane[b];
	lane[a] = rotl(lane[a], 1) ^ lane[d];
	lane[c] += lane[a];
	lane[e] = rotl(lane[e], 49) ^ lane[c];
}

void dragon_permute(uint64_t lane[DRAGON_LANES])
{
	for (unsigned t = 0; t < ROUNDS; t++) {
		lane[0] ^= 15 * (t + 1); /* RC[t] */

		/* the diagonals */
		q(lane, 0, 6, 12, 18, 24);
		q(lane, 5, 11, 17, 23, 4);
		q(lane, 10, 16, 22, 3, 9);
		q(lane, 15, 21, 2, 8, 14);
		q(lane, 20, 1, 7, 13, 19);

		/* the lanes of equal x */
		q(lane, 0, 5, 10, 15, 20);
		q(lane, 1, 6, 11, 16, 21);
		q(lane, 2, 7, 12, 17, 22);
		q(lane, 3, 8, 13, 18, 23);
		q(lane, 4, 9, 14, 19, 24);
	}
}
