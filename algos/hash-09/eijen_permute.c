/* The 2048-bit permutation of Eijen: 16 rounds of additions, rotations and XORs on 32 words, seen
 * as eight columns of four consecutive words (hash-09 Eijen). */
#include "eijen_permute.h"

enum { ROUNDS = 16, COLUMNS = 8 };

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

/* v rotated left by n, 0 < n < 64. */
static inline uint64_t rotl(uint64_t v, unsigned n)
{
	return v << n | v >> (64 - n);
}

/* The column step: p0 to p5 are the rotations of the column's half, k its constant of the round. */
static inline void mix(uint64_t column[4], uint64_t k, unsigned p0, unsigned p1, unsigned p2,
        unsigned p3, unsigned p4, unsigned p5)
{
	uint64_t a = column[0], b = column[1], c = column[2], d = column[3];

	a += b;
	d = rotl(d ^ a, p0);
	c += d;
	b = rotl(b ^ c, p1);
	a = rotl(a, p4) ^ k;
	c = rotl(c, p5);
	a += b;
	d = rotl(d ^ a, p2);
	c += d;
	b = rotl(b ^ c, p3);

	column[0] = a;
	column[1] = b;
	column[2] = c;
	column[3] = d;
}

/* One column of the word shuffle: the numbers of the words that come into it. */
static inline void gather(uint64_t column[4], const uint64_t s[EIJEN_WORDS], unsigned i0,
        unsigned i1, unsigned i2, unsigned i3)
{
	column[0] = s[i0];
	column[1] = s[i1];
	column[2] = s[i2];
	column[3] = s[i3];
}

/* The word shuffle S. */
static inline void shuffle(uint64_t out[EIJEN_WORDS], const uint64_t in[EIJEN_WORDS])
{
	gather(out + 0, in, 22, 0, 29, 19);
	gather(out + 4, in, 26, 4, 1, 23);
	gather(out + 8, in, 30, 8, 5, 27);
	gather(out + 12, in, 2, 12, 9, 31);
	gather(out + 16, in, 6, 16, 13, 3);
	gather(out + 20, in, 10, 20, 17, 7);
	gather(out + 24, in, 14, 24, 21, 11);
	gather(out + 28, in, 18, 28, 25, 15);
}

/* The linear step: each word of a column becomes the XOR of the other three. */
static inline void spread(uint64_t column[4])
{
	uint64_t x = column[0] ^ column[1] ^ column[2] ^ column[3];

	for (unsigned i = 0; i < 4; i++)
		column[i] ^= x;
}

void eijen_permute(uint64_t s[EIJEN_WORDS])
{
	uint64_t m[EIJEN_WORDS];

	for (unsigned t = 0; t < ROUNDS; t++) {
		for (unsigned j = 0; j < COLUMNS / 2; j++)
			mix(s + 4 * j, K[t][0], 36, 54, 45, 44, 18, 9);
		for (unsigned j = COLUMNS / 2; j < COLUMNS; j++)
			mix(s + 4 * j, K[t][1], 56, 46, 54, 34, 19, 51);
		shuffle(m, s);
		for (unsigned j = 0; j < COLUMNS; j++)
			spread(m + 4 * j);
		shuffle(s, m);
	}
}
