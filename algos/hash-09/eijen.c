/* The Eijen sponge (hash-09 Eijen), built once per instance: DIGEST_BITS is the digest length.
 *
 * This is what the submitted code computes, and so what the KAT digests are. The submission's paper
 * feeds the domain bit forward as well, which the code does not. */
#include <string.h>

#include "CryptHash_AlgorithmInstance.h"
#include "eijen_permute.h"

#if DIGEST_BITS != 256 && DIGEST_BITS != 384 && DIGEST_BITS != 512 && DIGEST_BITS != 768 && \
        DIGEST_BITS != 1024
#error "DIGEST_BITS must be 256, 384, 512, 768 or 1024"
#endif

#define DIGEST_WORDS   (DIGEST_BITS / 64)
#define CAPACITY_WORDS (DIGEST_WORDS + 1)
#define RATE_WORDS     (EIJEN_WORDS - CAPACITY_WORDS)
#define RATE_BYTES     (8 * RATE_WORDS)
#define RATE_BITS      (64 * RATE_WORDS)

/* What the last block adds to the last word of the state; other blocks add 0. */
#define DOMAIN_BIT 0x8000000000000000

/* Words and bytes: least significant byte first, on every host. */
static inline uint64_t load64_le(const unsigned char *p)
{
	return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
	       (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
	       (uint64_t)p[7] << 56;
}

static inline void store64_le(unsigned char *p, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		p[i] = (unsigned char)(v >> 8 * i);
}

/* Absorbing: the capacity is kept before the domain bit goes in, and added again after P. */
static void absorb(uint64_t s[EIJEN_WORDS], const unsigned char block[RATE_BYTES], uint64_t domain)
{
	uint64_t capacity[CAPACITY_WORDS];

	memcpy(capacity, s + RATE_WORDS, sizeof capacity);
	for (unsigned i = 0; i < RATE_WORDS; i++)
		s[i] ^= load64_le(block + 8 * i);
	s[EIJEN_WORDS - 1] ^= domain;

	eijen_permute(s);

	for (unsigned i = 0; i < CAPACITY_WORDS; i++)
		s[RATE_WORDS + i] ^= capacity[i];
}

/* Padding: the last bits < RATE_BITS bits of the message, a mark, zeros. The mark is the lowest bit
 * of a byte of its own behind whole bytes, but the next bit in order behind a partial byte: so 7
 * zero bits behind whole bytes give the same block as none. */
static void pad(unsigned char block[RATE_BYTES], const unsigned char *msg, unsigned bits)
{
	memset(block, 0, RATE_BYTES);
	for (unsigned i = 0; i < bits / 8; i++)
		block[i] = msg[i];
	if (bits % 8 == 0)
		block[bits / 8] = 0x01;
	else
		block[bits / 8] =
		        (unsigned char)((msg[bits / 8] & 0xFF00 >> bits % 8) | 0x80 >> bits % 8);
}

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	uint64_t s[EIJEN_WORDS] = {0};
	unsigned char last[RATE_BYTES];

	if (digest_len_bits != DIGEST_BITS || digest == NULL || (msg == NULL && msg_len_bits != 0))
		return -1;

	for (; msg_len_bits >= RATE_BITS; msg_len_bits -= RATE_BITS) {
		absorb(s, msg, 0);
		msg += RATE_BYTES;
	}
	pad(last, msg, (unsigned)msg_len_bits);
	absorb(s, last, DOMAIN_BIT);

	for (unsigned i = 0; i < DIGEST_WORDS; i++)
		store64_le(digest + 8 * i, s[EIJEN_WORDS - DIGEST_WORDS + i]);
	return 0;
}
