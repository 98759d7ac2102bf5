/* The ICCS helper pseudohash with DIGEST_BITS bits: a chain of SM3 and HMAC-SM3 values.
 *
 *     k1 = F(T || M)   h1 = H(M || T)   h2 = H(k1 || h1)
 *     k2 = F(h1)                        h3 = H(h2 || k2)
 *     k3 = F(h2)       k4 = F(h3)       h4 = H(k3 || h3 || k4)
 *
 * M is the message as a bit string, || joins bit strings, H is SM3, F is HMAC-SM3 with a fixed key
 * and T stands for the digest length. The digest is h1 || h2, then h3 for 768 bits and h4 for 1024.
 */
#include <string.h>

#include "CryptHash_AlgorithmInstance.h"
#include "sm3.h"

#if DIGEST_BITS == 512
#define TAG 0x02
#elif DIGEST_BITS == 768
#define TAG 0x03
#elif DIGEST_BITS == 1024
#define TAG 0x04
#else
#error "DIGEST_BITS must be 512, 768 or 1024"
#endif

/* T, 16 bits. */
static const unsigned char T[2] = {TAG, 0x00};
enum { T_BITS = 16 };

/* The key of F: H("3.14159265358979") || H("2.71828182845904"), both in ASCII. */
/* clang-format off */
static const unsigned char KEY[SM3_BLOCK_BYTES] = {
	0x53, 0x07, 0xF6, 0xD5, 0xEB, 0x6A, 0x3C, 0xED, 0x3D, 0x24, 0xC5, 0x3C, 0xC9, 0xC8, 0x2C, 0xCE,
	0x2F, 0x89, 0x36, 0x39, 0x70, 0x23, 0xF0, 0x69, 0x5C, 0x26, 0xC8, 0x0C, 0x1A, 0xB1, 0x82, 0xA7,
	0x1D, 0xB0, 0x2B, 0xA9, 0x2F, 0x54, 0x40, 0x18, 0x11, 0x5A, 0x96, 0xE7, 0x19, 0x66, 0x2C, 0xA3,
	0x2B, 0x7C, 0x7E, 0xFC, 0x0A, 0x6D, 0x24, 0x82, 0x15, 0x07, 0x66, 0xBA, 0x6F, 0x65, 0x5B, 0x8E,
};
/* clang-format on */

/* A bit string that is joined to others. */
struct piece {
	const unsigned char *data;
	unsigned long long bits;
};

/* Starts a hash with the key XOR pad, the first block of both halves of HMAC. */
static void start_keyed(struct sm3 *s, unsigned char pad)
{
	unsigned char block[SM3_BLOCK_BYTES];

	for (unsigned i = 0; i < sizeof block; i++)
		block[i] = KEY[i] ^ pad;
	sm3_init(s);
	sm3_put(s, block, 8 * sizeof block);
}

static void put_all(struct sm3 *s, const struct piece *piece, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sm3_put(s, piece[i].data, piece[i].bits);
}

/* H of the joined pieces. */
static void hash(unsigned char out[SM3_BYTES], const struct piece *piece, unsigned count)
{
	struct sm3 s;

	sm3_init(&s);
	put_all(&s, piece, count);
	sm3_end(&s, out);
}

/* F of the joined pieces. */
static void keyed(unsigned char out[SM3_BYTES], const struct piece *piece, unsigned count)
{
	unsigned char inner[SM3_BYTES];
	struct sm3 s;

	start_keyed(&s, 0x36);
	put_all(&s, piece, count);
	sm3_end(&s, inner);

	start_keyed(&s, 0x5C);
	sm3_put(&s, inner, SM3_BITS);
	sm3_end(&s, out);
}

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	unsigned char k[4][SM3_BYTES], h[4][SM3_BYTES];
	const struct piece m = {msg, msg_len_bits}, t = {T, T_BITS};
	const struct piece k1 = {k[0], SM3_BITS}, k2 = {k[1], SM3_BITS}, k3 = {k[2], SM3_BITS},
	                   k4 = {k[3], SM3_BITS};
	const struct piece h1 = {h[0], SM3_BITS}, h2 = {h[1], SM3_BITS}, h3 = {h[2], SM3_BITS};

	if (digest_len_bits != DIGEST_BITS)
		return CRYPTHASH_BAD_LENGTH;

	keyed(k[0], (const struct piece[]){t, m}, 2);
	hash(h[0], (const struct piece[]){m, t}, 2);
	hash(h[1], (const struct piece[]){k1, h1}, 2);
	if (DIGEST_BITS >= 768) {
		keyed(k[1], &h1, 1);
		hash(h[2], (const struct piece[]){h2, k2}, 2);
	}
	if (DIGEST_BITS >= 1024) {
		keyed(k[2], &h2, 1);
		keyed(k[3], &h3, 1);
		hash(h[3], (const struct piece[]){k3, h3, k4}, 3);
	}
	memcpy(digest, h, DIGEST_BITS / 8);
	return 0;
}
