/* The 1280-bit permutation of XRH-2 (hash-29 XRH-2). The 20 lanes are four groups of five; at each
 * of the 64 bit positions a group holds one element of GF(2^5), its first lane the lowest bit.
 * Everything is done for the 64 positions at once with the logical operations of the lanes, so
 * there is no table to look up. */
#include "xrh_permute.h"

enum { ROUNDS = 18 };

/* Compilers take these functions for too large to inline, and then the shifts and masks, constants
 * of each kind of round, are computed over and over. */
#define INLINE static inline __attribute__((always_inline))

/* 64 elements of GF(2^5), modulo z^5 + z^2 + 1; x0 holds the coefficients of 1, x4 those of z^4. */
struct group {
	uint64_t x0, x1, x2, x3, x4;
};

/* The whole state: group g is lanes 5g to 5g + 4. */
struct state {
	struct group g0, g1, g2, g3;
};

/* The lane shifts: pieces of how many bits are rotated, and by how many bits times the group's
 * number. */
struct shift {
	unsigned width, step;
};

/* RC[t]: the binary fraction of pi, word after word. */
/* clang-format off */
static const uint64_t RC[ROUNDS] = {
	0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0,
	0x082EFA98EC4E6C89, 0x452821E638D01377, 0xBE5466CF34E90C6C,
	0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917, 0x9216D5D98979FB1B,
	0xD1310BA698DFB5AC, 0x2FFD72DBD01ADFB7, 0xB8E1AFED6A267E96,
	0xBA7C9045F12C7F99, 0x24A19947B3916CF7, 0x0801F2E2858EFC16,
	0x636920D871574E69, 0xA458FEA3F4933D7E, 0x0D95748F728EB658
};
/* clang-format on */

INLINE struct group add(struct group a, struct group b)
{
	return (struct group){a.x0 ^ b.x0, a.x1 ^ b.x1, a.x2 ^ b.x2, a.x3 ^ b.x3, a.x4 ^ b.x4};
}

/* Multiplication by z. */
INLINE struct group times2(struct group a)
{
	return (struct group){a.x4, a.x0, a.x1 ^ a.x4, a.x2, a.x3};
}

/* The S-box, of degree 2, on every element: the submission's table as a circuit. */
INLINE struct group sbox(struct group a)
{
	uint64_t s = a.x0 ^ a.x1;

	return (struct group){(a.x0 & a.x1) ^ (s & a.x4) ^ (a.x2 & ~(s ^ a.x3 ^ a.x4)),
	        s ^ a.x3 ^ a.x4 ^ (s & (a.x2 ^ a.x4)) ^ (a.x1 & a.x3),
	        ~(a.x1 ^ a.x2 ^ a.x3) ^ (a.x0 & (a.x1 ^ a.x3)) ^ (a.x2 & a.x3) ^ (s & a.x4),
	        s ^ a.x2 ^ (a.x2 & (a.x0 ^ a.x3)) ^ (a.x3 & a.x4),
	        a.x3 ^ a.x4 ^ (a.x2 & (s ^ a.x3)) ^ (a.x1 & a.x4)};
}

INLINE struct state substitute(struct state s)
{
	return (struct state){sbox(s.g0), sbox(s.g1), sbox(s.g2), sbox(s.g3)};
}

/* The mix of every column, multiplication by the matrix
 *
 *     1 3 2 2
 *     4 6 3 1
 *     4 4 1 3
 *     3 1 2 3
 *
 * taken apart so that it needs five doublings: with u = a0 + a1, v = a2 + a3 and w = 4u + v its
 * rows are u + 2(a1 + v), w + 2(a1 + a2), w + 2 a3 and u + a3 + 2(a0 + v). */
INLINE struct state mix(struct state a)
{
	struct group u = add(a.g0, a.g1), v = add(a.g2, a.g3), w = add(times2(times2(u)), v);

	return (struct state){add(u, times2(add(a.g1, v))), add(w, times2(add(a.g1, a.g2))),
	        add(w, times2(a.g3)), add(add(u, a.g3), times2(add(a.g0, v)))};
}

/* v cut into pieces of width bits from bit 0 on, each rotated left by n, 0 < n < width. ones has a
 * 1 at the lowest bit of every piece. */
INLINE uint64_t rotl_pieces(uint64_t v, unsigned width, unsigned n)
{
	uint64_t ones = width == 64 ? 1 : UINT64_MAX / ((UINT64_C(1) << width) - 1);
	uint64_t stays = ones * ((UINT64_C(1) << (width - n)) - 1);
	uint64_t wraps = ones * ((UINT64_C(1) << n) - 1);

	return (v & stays) << n | (v >> (width - n) & wraps);
}

INLINE struct group rotate(struct group a, unsigned width, unsigned n)
{
	return (struct group){rotl_pieces(a.x0, width, n), rotl_pieces(a.x1, width, n),
	        rotl_pieces(a.x2, width, n), rotl_pieces(a.x3, width, n),
	        rotl_pieces(a.x4, width, n)};
}

/* Group 0 stays, the others are rotated to the left; unspread undoes it. */
INLINE struct state spread(struct state s, struct shift by)
{
	return (struct state){s.g0, rotate(s.g1, by.width, by.step),
	        rotate(s.g2, by.width, 2 * by.step), rotate(s.g3, by.width, 3 * by.step)};
}

INLINE struct state unspread(struct state s, struct shift by)
{
	return (struct state){s.g0, rotate(s.g1, by.width, by.width - by.step),
	        rotate(s.g2, by.width, by.width - 2 * by.step),
	        rotate(s.g3, by.width, by.width - 3 * by.step)};
}

INLINE struct state round_of(struct state s, struct shift by, uint64_t rc)
{
	s = mix(substitute(s));
	s = unspread(mix(spread(substitute(s), by)), by);
	s.g0.x0 ^= rc;
	return s;
}

INLINE struct group load_group(const uint64_t lane[5])
{
	return (struct group){lane[0], lane[1], lane[2], lane[3], lane[4]};
}

INLINE void store_group(uint64_t lane[5], struct group a)
{
	lane[0] = a.x0;
	lane[1] = a.x1;
	lane[2] = a.x2;
	lane[3] = a.x3;
	lane[4] = a.x4;
}

void xrh_permute(uint64_t lane[XRH_LANES])
{
	static const struct shift X = {4, 1}, Y = {16, 4}, Z = {64, 16};
	struct state s = {load_group(lane), load_group(lane + 5), load_group(lane + 10),
	        load_group(lane + 15)};

	for (unsigned t = 0; t < ROUNDS; t += 3) {
		s = round_of(s, X, RC[t]);
		s = round_of(s, Y, RC[t + 1]);
		s = round_of(s, Z, RC[t + 2]);
	}

	store_group(lane, s.g0);
	store_group(lane + 5, s.g1);
	store_group(lane + 10, s.g2);
	store_group(lane + 15, s.g3);
}
