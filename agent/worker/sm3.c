/* sm3.c: the hash SM3 (GB/T 32905-2016) of whole bytes, for the DRNG of the known-answer files. */
#include "agent/worker/sm3.h"

#include <string.h>

#define BLOCK 64

/* Rotation that is defined for every n, 0 and 32 too: rounds 0 and 32 rotate by these. */
static uint32_t rotl(uint32_t x, unsigned n)
{
	return (x << (n & 31)) | (x >> ((32 - n) & 31));
}

static uint32_t load32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store32(unsigned char *p, uint32_t x)
{
	p[0] = (unsigned char)(x >> 24);
	p[1] = (unsigned char)(x >> 16);
	p[2] = (unsigned char)(x >> 8);
	p[3] = (unsigned char)x;
}

static uint32_t p1(uint32_t x)
{
	return x ^ rotl(x, 15) ^ rotl(x, 23);
}

static void compress(uint32_t v[8], const unsigned char block[BLOCK])
{
	uint32_t w[68];
	uint32_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];

	for (unsigned j = 0; j < 16; j++)
		w[j] = load32(block + 4 * j);
	for (unsigned j = 16; j < 68; j++)
		w[j] = p1(w[j - 16] ^ w[j - 9] ^ rotl(w[j - 3], 15)) ^ rotl(w[j - 13], 7) ^
		       w[j - 6];
	for (unsigned j = 0; j < 64; j++) {
		uint32_t t = j < 16 ? 0x79cc4519u : 0x7a879d8au;
		uint32_t ss1 = rotl(rotl(a, 12) + e + rotl(t, j), 7);
		uint32_t ss2 = ss1 ^ rotl(a, 12);
		uint32_t ff = j < 16 ? a ^ b ^ c : (a & b) | (a & c) | (b & c);
		uint32_t gg = j < 16 ? e ^ f ^ g : (e & f) | (~e & g);
		uint32_t tt1 = ff + d + ss2 + (w[j] ^ w[j + 4]);
		uint32_t tt2 = gg + h + ss1 + w[j];

		d = c;
		c = rotl(b, 9);
		b = a;
		a = tt1;
		h = g;
		g = rotl(f, 19);
		f = e;
		e = tt2 ^ rotl(tt2, 9) ^ rotl(tt2, 17);
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

void fm_sm3(const void *msg, size_t len, unsigned char digest[FM_SM3_BYTES])
{
	uint32_t v[8] = {0x7380166f, 0x4914b2b9, 0x172442d7, 0xda8a0600, 0xa96f30bc, 0x163138aa,
	        0xe38dee4d, 0xb0fb0e4e};
	const unsigned char *p = msg;
	unsigned char tail[2 * BLOCK] = {0};
	uint64_t bits = (uint64_t)len * 8;
	size_t rest = len % BLOCK, end = rest < BLOCK - 8 ? BLOCK : 2 * BLOCK;

	for (size_t i = 0; i < len / BLOCK; i++)
		compress(v, p + i * BLOCK);
	if (rest > 0)
		memcpy(tail, p + (len - rest), rest);
	tail[rest] = 0x80;
	store32(tail + end - 8, (uint32_t)(bits >> 32));
	store32(tail + end - 4, (uint32_t)bits);
	for (size_t i = 0; i < end; i += BLOCK)
		compress(v, tail + i);
	for (unsigned i = 0; i < 8; i++)
		store32(digest + 4 * i, v[i]);
}
