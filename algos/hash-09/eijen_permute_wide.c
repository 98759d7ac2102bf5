/* The permutation of Eijen for the performance version: row i of the state, the words number i of
 * all eight columns, is two vectors of four words, so a step is done for four columns at a time.
 * What each step is stands in eijen_permute.c; this file computes the same. */
#include <string.h>

#include "eijen_permute.h"

enum { ROUNDS = 16 };

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

/* A row: columns 0 to 3, 4 to 7. */
struct row {
	wide lo, hi;
};

/* Four columns, or all eight. */
struct half {
	wide a, b, c, d;
};
struct rows {
	struct row a, b, c, d;
};

/* K0[t] for columns 0 to 3 and K1[t] for columns 4 to 7: the binary fraction of pi, word after
 * word. */
/* clang-format off */
static const uint64_t K[ROUNDS][2] = {
	{0x243F6A8885A308D3, 0x13198A2E03707344},
	{0xA4093822299F31D0, 0x082EFA98EC4E6C89},
	{0x452821E638D01377, 0xBE5466CF34E90C6C},
	{0xC0AC29B7C97C50DD, 0x3F84D5B5B5470917},
	{0x9216D5D98979FB1B, 0xD1310BA698DFB5AC},
	{0x2FFD72DBD01ADFB7, 0xB8E1AFED6A267E96},
	{0xBA7C9045F12C7F99, 0x24A19947B3916CF7},
	{0x0801F2E2858EFC16, 0x636920D871574E69},
	{0xA458FEA3F4933D7E, 0x0D95748F728EB658},
	{0x718BCD5882154AEE, 0x7B54A41DC25A59B5},
	{0x9C30D5392AF26013, 0xC5D1B023286085F0},
	{0xCA417918B8DB38EF, 0x8E79DCB0603A180E},
	{0x6C9E0E8BB01E8A3E, 0xD71577C1BD314B27},
	{0x78AF2FDA55605C60, 0xE65525F3AA55AB94},
	{0x5748986263E81440, 0x55CA396A2AAB10B6},
	{0xB4CC5C341141E8CE, 0xA15486AF7C72E993},
};
/* clang-format on */

/* Each word rotated left by n, 0 < n < 64. */
INLINE wide rotl(wide v, unsigned n)
{
	return v << n | v >> (64 - n);
}

/* The column step: p0 to p5 are the rotations of these four columns, k their constant of the round.
 */
INLINE struct half mix(struct half s, uint64_t k, unsigned p0, unsigned p1, unsigned p2,
        unsigned p3, unsigned p4, unsigned p5)
{
	s.a += s.b;
	s.d = rotl(s.d ^ s.a, p0);
	s.c += s.d;
	s.b = rotl(s.b ^ s.c, p1);
	s.a = rotl(s.a, p4) ^ (wide) { k, k, k, k };
	s.c = rotl(s.c, p5);
	s.a += s.b;
	s.d = rotl(s.d ^ s.a, p2);
	s.c += s.d;
	s.b = rotl(s.b ^ s.c, p3);
	return s;
}

INLINE struct rows mix_all(struct rows s, const uint64_t k[2])
{
	struct half lo = {s.a.lo, s.b.lo, s.c.lo, s.d.lo}, hi = {s.a.hi, s.b.hi, s.c.hi, s.d.hi};

	lo = mix(lo, k[0], 36, 54, 45, 44, 18, 9);
	hi = mix(hi, k[1], 56, 46, 54, 34, 19, 51);
	return (struct rows){{lo.a, hi.a}, {lo.b, hi.b}, {lo.c, hi.c}, {lo.d, hi.d}};
}

/* v moved up by one column, and by four. */
INLINE struct row move1(struct row v)
{
	return (struct row){PICK(v.hi, v.lo, 3, 4, 5, 6), PICK(v.lo, v.hi, 3, 4, 5, 6)};
}

INLINE struct row move4(struct row v)
{
	return (struct row){v.hi, v.lo};
}

/* v moved down by five columns. */
INLINE struct row move3(struct row v)
{
	return (struct row){PICK(v.hi, v.lo, 1, 2, 3, 4), PICK(v.lo, v.hi, 1, 2, 3, 4)};
}

/* The word shuffle S: each row comes whole from another one, moved along the columns. */
INLINE struct rows shuffle(struct rows s)
{
	return (struct rows){move3(s.c), s.a, move1(s.b), move4(s.d)};
}

INLINE struct row add(struct row a, struct row b)
{
	return (struct row){a.lo ^ b.lo, a.hi ^ b.hi};
}

/* The linear step: each word of a column becomes the XOR of the other three. */
INLINE struct rows spread(struct rows s)
{
	struct row x = add(add(s.a, s.b), add(s.c, s.d));

	return (struct rows){add(s.a, x), add(s.b, x), add(s.c, x), add(s.d, x)};
}

/* Columns to rows, or rows to columns. */
INLINE struct half transpose(struct half s)
{
	wide ab0 = PICK(s.a, s.b, 0, 4, 2, 6), ab1 = PICK(s.a, s.b, 1, 5, 3, 7);
	wide cd0 = PICK(s.c, s.d, 0, 4, 2, 6), cd1 = PICK(s.c, s.d, 1, 5, 3, 7);

	return (struct half){PICK(ab0, cd0, 0, 1, 4, 5), PICK(ab1, cd1, 0, 1, 4, 5),
	        PICK(ab0, cd0, 2, 3, 6, 7), PICK(ab1, cd1, 2, 3, 6, 7)};
}

INLINE struct half load(const uint64_t s[16])
{
	struct half h;

	memcpy(&h, s, sizeof h);
	return transpose(h);
}

INLINE void store(uint64_t s[16], struct half h)
{
	h = transpose(h);
	memcpy(s, &h, sizeof h);
}

void eijen_permute(uint64_t s[EIJEN_WORDS])
{
	struct half lo = load(s), hi = load(s + 16);
	struct rows r = {{lo.a, hi.a}, {lo.b, hi.b}, {lo.c, hi.c}, {lo.d, hi.d}};

	for (unsigned t = 0; t < ROUNDS; t++)
		r = shuffle(spread(shuffle(mix_all(r, K[t]))));

	store(s, (struct half){r.a.lo, r.b.lo, r.c.lo, r.d.lo});
	store(s + 16, (struct half){r.a.hi, r.b.hi, r.c.hi, r.d.hi});
}
