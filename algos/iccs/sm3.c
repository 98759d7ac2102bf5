/* SM3 (GB/T 32905) over bit strings. Message lengths are counted in 64 bits, as the standard has
 * them, so this is SM3 for long messages too, where the ICCS helper loses bits of the length (2^32
 * bits and more). */
#include "sm3.h"

#include <string.h>

enum { BLOCK_BITS = 8 * SM3_BLOCK_BYTES };

/* v rotated left by n bits; any n, multiples of 32 too. */
static inline uint32_t rotl(uint32_t v, unsigned n)
{
	return v << n % 32 | v >> (32 - n % 32) % 32;
}

static inline uint32_t load32_be(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void store32_be(unsigned char *p, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		p[i] = (unsigned char)(v >> (24 - 8 * i));
}

/* The functions P0 and P1, FF and GG of the standard; the latter two change after round 15. */
static inline uint32_t p0(uint32_t x)
{
	return x ^ rotl(x, 9) ^ rotl(x, 17);
}

static inline uint32_t p1(uint32_t x)
{
	return x ^ rotl(x, 15) ^ rotl(x, 23);
}

static inline uint32_t ff(unsigned j, uint32_t x, uint32_t y, uint32_t z)
{
	return j < 16 ? x ^ y ^ z : (x & y) | (x & z) | (y & z);
}

static inline uint32_t gg(unsigned j, uint32_t x, uint32_t y, uint32_t z)
{
	return j < 16 ? x ^ y ^ z : (x & y) | (~x & z);
}

/* Message expansion: W[0..67] of one block. */
static void expand(uint32_t w[68], const unsigned char block[SM3_BLOCK_BYTES])
{
	for (unsigned j = 0; j < 16; j++)
		w[j] = load32_be(block + 4 * j);
	for (unsigned j = 16; j < 68; j++)
		w[j] = p1(w[j - 16] ^ w[j - 9] ^ rotl(w[j - 3], 15)) ^ rotl(w[j - 13], 7) ^
		       w[j - 6];
}

/* The compression function CF: one block into the chaining value. */
static void compress(uint32_t v[8], const unsigned char block[SM3_BLOCK_BYTES])
{
	uint32_t w[68];
	uint32_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];

	expand(w, block);
	for (unsigned j = 0; j < 64; j++) {
		uint32_t t = j < 16 ? 0x79CC4519 : 0x7A879D8A;
		uint32_t ss1 = rotl(rotl(a, 12) + e + rotl(t, j), 7);
		uint32_t ss2 = ss1 ^ rotl(a, 12);
		uint32_t tt1 = ff(j, a, b, c) + d + ss2 + (w[j] ^ w[j + 4]);
		uint32_t tt2 = gg(j, e, f, g) + h + ss1 + w[j];

		d = c;
		c = rotl(b, 9);
		b = a;
		a = tt1;
		h = g;
		g = rotl(f, 19);
		f = e;
		e = p0(tt2);
	}
	v[0] ^= a;
	v[1] ^= b;
	v[2] ^= c;
	v[3] ^= d;
	v[4] ^= e;
	v[5] ^= f;
	v[6] ^= g;
	v[7] ^= h;
}

void sm3_init(struct sm3 *s)
{
	static const uint32_t IV[8] = {0x7380166F, 0x4914B2B9, 0x172442D7, 0xDA8A0600, 0xA96F30BC,
	        0x163138AA, 0xE38DEE4D, 0xB0FB0E4E};

	memcpy(s->v, IV, sizeof s->v);
	s->bits = 0;
}

/* Appends the first n <= 8 bits of byte; its other bits must be 0. Every byte of the block is first
 * touched by the piece that begins it, so it need not be cleared in between. */
static void put_bits(struct sm3 *s, unsigned char byte, unsigned n)
{
	unsigned at = (unsigned)(s->bits % BLOCK_BITS);
	unsigned used = at % 8;

	if (used == 0)
		s->block[at / 8] = byte;
	else
		s->block[at / 8] |= (unsigned char)(byte >> used);

	s->bits += n;
	if (at + n >= BLOCK_BITS)
		compress(s->v, s->block);
	if (used + n > 8)
		s->block[(at / 8 + 1) % SM3_BLOCK_BYTES] = (unsigned char)(byte << (8 - used));
}

/* Appends n whole bytes where s ends on a byte; whole blocks are hashed where they lie. */
static void put_bytes(struct sm3 *s, const unsigned char *data, unsigned long long n)
{
	while (n > 0) {
		unsigned at = (unsigned)(s->bits % BLOCK_BITS) / 8;
		unsigned piece = SM3_BLOCK_BYTES - at;

		if (piece > n)
			piece = (unsigned)n;
		if (piece == SM3_BLOCK_BYTES) {
			compress(s->v, data);
		} else {
			memcpy(s->block + at, data, piece);
			if (at + piece == SM3_BLOCK_BYTES)
				compress(s->v, s->block);
		}
		s->bits += 8 * piece;
		data += piece;
		n -= piece;
	}
}

void sm3_put(struct sm3 *s, const unsigned char *data, unsigned long long bits)
{
	unsigned long long bytes = bits / 8;
	unsigned rest = (unsigned)(bits % 8);

	if (s->bits % 8 == 0) {
		put_bytes(s, data, bytes);
	} else {
		for (unsigned long long i = 0; i < bytes; i++)
			put_bits(s, data[i], 8);
	}
	if (rest != 0)
		put_bits(s, data[bytes] & (unsigned char)(0xFF00 >> rest), rest);
}

void sm3_end(struct sm3 *s, unsigned char digest[SM3_BYTES])
{
	unsigned char length[8];
	uint64_t bits = s->bits;

	store32_be(length, (uint32_t)(bits >> 32));
	store32_be(length + 4, (uint32_t)bits);

	put_bits(s, 0x80, 8 - (unsigned)(bits % 8));
	while (s->bits % BLOCK_BITS != BLOCK_BITS - 64)
		put_bits(s, 0, 8);
	put_bytes(s, length, sizeof length);

	for (unsigned i = 0; i < 8; i++)
		store32_be(digest + 4 * i, s->v[i]);
}
