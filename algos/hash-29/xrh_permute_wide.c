/* The permutation of XRH-2 for the performance version: lane i of all four groups is one vector, so
 * the S-boxes, mixes and shifts of the four groups are done together. What each step is stands in
 * xrh_permute.c; this file computes the same. */
#include "xrh_permute.h"

enum { ROUNDS = 18 };

/* The compiler's own vectors: 256 bits wide where the target has such registers, taken apart where
 * it has not. */
typedef uint64_t wide __attribute__((vector_size(32)));

#define INLINE static inline __attribute__((always_inline))

/* The words numbered i to l of a (0 to 3) and b (4 to 7). */
#if defined __clang__
#define PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define PICK(a, b, i, j, k, l) __builtin_shuffle(a, b, (wide){i, j, k, l})
#endif

/* The words in another order: 1, 0, 3, 2 and 2, 3, 0, 1. GCC finds the quick instructions for both
 * if it is told in words of 32 bits. */
#if defined __clang__
#define PAIR(a) PICK(a, a, 1, 0, 3, 2)
#define HALF(a) PICK(a, a, 2, 3, 0, 1)
#else
typedef uint32_t wide32 __attribute__((vector_size(32)));
#define PAIR(a) ((wide)__builtin_shuffle((wide32)(a), (wide32){2, 3, 0, 1, 6, 7, 4, 5}))
#define HALF(a) ((wide)__builtin_shuffle((wide32)(a), (wide32){4, 5, 6, 7, 0, 1, 2, 3}))
#endif

/* 64 elements of GF(2^5) of each of four groups; x0 holds the coefficients of 1, x4 those of z^4.
 */
struct state {
	wide x0, x1, x2, x3, x4;
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

/* The S-box on every element. */
INLINE struct state substitute(struct state a)
{
	wide s = a.x0 ^ a.x1;

	return (struct state){(a.x0 & a.x1) ^ (s & a.x4) ^ (a.x2 & ~(s ^ a.x3 ^ a.x4)),
	        s ^ a.x3 ^ a.x4 ^ (s & (a.x2 ^ a.x4)) ^ (a.x1 & a.x3),
	        ~(a.x1 ^ a.x2 ^ a.x3) ^ (a.x0 & (a.x1 ^ a.x3)) ^ (a.x2 & a.x3) ^ (s & a.x4),
	        s ^ a.x2 ^ (a.x2 & (a.x0 ^ a.x3)) ^ (a.x3 & a.x4),
	        a.x3 ^ a.x4 ^ (a.x2 & (s ^ a.x3)) ^ (a.x1 & a.x4)};
}

/* a + z b */
INLINE struct state add_times2(struct state a, struct state b)
{
	return (struct state){
	        a.x0 ^ b.x4, a.x1 ^ b.x0, a.x2 ^ b.x1 ^ b.x4, a.x3 ^ b.x2, a.x4 ^ b.x3};
}

/* What the mix adds up: ones + z (twos + z fours). */
struct sums {
	wide ones, twos, fours;
};

/* The sums of one coefficient of the groups a0 to a3, with u = a0 + a1 and v = a2 + a3:
 *
 *     ones   u        v        v   u + a3
 *     twos   a1 + v   a1 + a2  a3  a0 + v      (a3 = a2 + v)
 *     fours  0        u        u   0
 */
INLINE struct sums sums_of(wide a)
{
	wide zero = {0, 0, 0, 0};
	wide half = HALF(a);                    /* a2 a3 a0 a1 */
	wide pair = PAIR(a), back = PAIR(half); /* a1 a0 a3 a2, a3 a2 a1 a0 */
	wide uv = a ^ pair, vu = half ^ back;   /* u u v v, v v u u */
	wide u = PICK(uv, vu, 0, 1, 6, 7), v = PICK(vu, uv, 0, 1, 6, 7);
	wide some = PICK(PICK(a, pair, 4, 1, 2, 3), back, 0, 1, 2, 7); /* a1 a1 a2 a0 */

	return (struct sums){PICK(u, v, 0, 5, 6, 3) ^ PICK(zero, a, 0, 1, 2, 7),
	        some ^ PICK(v, back, 0, 5, 2, 3), PICK(zero, u, 0, 5, 6, 3)};
}

INLINE struct state mix(struct state a)
{
	struct sums s0 = sums_of(a.x0), s1 = sums_of(a.x1), s2 = sums_of(a.x2);
	struct sums s3 = sums_of(a.x3), s4 = sums_of(a.x4);
	struct state ones = {s0.ones, s1.ones, s2.ones, s3.ones, s4.ones};
	struct state twos = {s0.twos, s1.twos, s2.twos, s3.twos, s4.twos};
	struct state fours = {s0.fours, s1.fours, s2.fours, s3.fours, s4.fours};

	return add_times2(ones, add_times2(twos, fours));
}

/* A rotation of pieces of a lane, another one for each group: the bits in stays go left, those in
 * wraps come in from the right. */
struct turn {
	wide left, stays, right, wraps;
};

/* The lowest n bits, 0 <= n <= 64. */
INLINE uint64_t low(unsigned n)
{
	return n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

/* Pieces of width bits from bit 0 on are rotated left by n0 to n3, all less than width. */
INLINE struct turn turn(unsigned width, unsigned n0, unsigned n1, unsigned n2, unsigned n3)
{
	uint64_t ones = UINT64_MAX / low(width); /* a 1 at the lowest bit of every piece */
	wide left = {n0, n1, n2, n3};
	wide stays = {low(width - n0), low(width - n1), low(width - n2), low(width - n3)};
	wide wraps = {low(n0), low(n1), low(n2), low(n3)};

	return (struct turn){left, stays * ones, (width - left) % 64, wraps * ones};
}

INLINE wide rotate(wide v, struct turn by)
{
	return (v & by.stays) << by.left | (v >> by.right & by.wraps);
}

INLINE struct state rotate_all(struct state s, struct turn by)
{
	return (struct state){rotate(s.x0, by), rotate(s.x1, by), rotate(s.x2, by),
	        rotate(s.x3, by), rotate(s.x4, by)};
}

INLINE struct state round_of(struct state s, struct turn there, struct turn back, uint64_t rc)
{
	s = mix(substitute(s));
	s = rotate_all(mix(rotate_all(substitute(s), there)), back);
	s.x0 ^= (wide){rc, 0, 0, 0};
	return s;
}

INLINE wide load(const uint64_t *lane)
{
	return (wide){lane[0], lane[5], lane[10], lane[15]};
}

INLINE void store(uint64_t *lane, wide v)
{
	for (unsigned g = 0; g < 4; g++)
		lane[5 * g] = v[g];
}

void xrh_permute(uint64_t lane[XRH_LANES])
{
	struct turn x = turn(4, 0, 1, 2, 3), x_back = turn(4, 0, 3, 2, 1);
	struct turn y = turn(16, 0, 4, 8, 12), y_back = turn(16, 0, 12, 8, 4);
	struct turn z = turn(64, 0, 16, 32, 48), z_back = turn(64, 0, 48, 32, 16);
	struct state s = {
	        load(lane), load(lane + 1), load(lane + 2), load(lane + 3), load(lane + 4)};

	for (unsigned t = 0; t < ROUNDS; t += 3) {
		s = round_of(s, x, x_back, RC[t]);
		s = round_of(s, y, y_back, RC[t + 1]);
		s = round_of(s, z, z_back, RC[t + 2]);
	}

	store(lane, s.x0);
	store(lane + 1, s.x1);
	store(lane + 2, s.x2);
	store(lane + 3, s.x3);
	store(lane + 4, s.x4);
}
