/* The XRH-2 sponge (hash-29 XRH-2), built once per instance: DIGEST_BITS is the digest length. */
#include <string.h>

#include "CryptHash_AlgorithmInstance.h"
#include "xrh_permute.h"

#if DIGEST_BITS != 512 && DIGEST_BITS != 768 && DIGEST_BITS != 1024
#error "DIGEST_BITS must be 512, 768 or 1024"
#endif

#define DIGEST_LANES (DIGEST_BITS / 64)
#define RATE_LANES   (XRH_LANES - (DIGEST_LANES + 1))
#define RATE_BYTES   (8 * RATE_LANES)
#define RATE_BITS    (64 * RATE_LANES)

/* Lanes and bytes: least significant byte first, on every host. */
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

/* Absorbing: the block goes into the rate, and the whole state of before P is added again after it.
 */
static void absorb(uint64_t lane[XRH_LANES], const unsigned char block[RATE_BYTES])
{
	uint64_t before[XRH_LANES];

	for (unsigned i = 0; i < RATE_LANES; i++)
		lane[i] ^= load64_le(block + 8 * i);
	memcpy(before, lane, sizeof before);

	xrh_permute(lane);

	for (unsigned i = 0; i < XRH_LANES; i++)
		lane[i] ^= before[i];
}

/* Squeezing: the lanes of the rate, then bare P and the rate again, until the digest is full. */
static void squeeze(uint64_t lane[XRH_LANES], unsigned char digest[DIGEST_BITS / 8])
{
	for (unsigned i = 0; i < DIGEST_LANES; i++) {
		if (i > 0 && i % RATE_LANES == 0)
			xrh_permute(lane);
		store64_le(digest + 8 * i, lane[i % RATE_LANES]);
	}
}

/* Sets the bit that is number bit of the string, most significant first. */
static inline void set_bit(unsigned char *string, unsigned bit)
{
	string[bit / 8] |= (unsigned char)(0x80 >> bit % 8);
}

/* Padding: the last bits < RATE_BITS bits of the message, then 1 0...0 1 up to the end of a block.
 * Returns how many blocks of tail that takes: the two bits that are always added may need a second
 * one. */
static unsigned pad(unsigned char tail[2 * RATE_BYTES], const unsigned char *msg, unsigned bits)
{
	unsigned blocks = bits + 2 <= RATE_BITS ? 1 : 2;

	memset(tail, 0, 2 * RATE_BYTES);
	for (unsigned i = 0; i < bits / 8; i++)
		tail[i] = msg[i];
	if (bits % 8 != 0)
		tail[bits / 8] = msg[bits / 8] & (unsigned char)(0xFF00 >> bits % 8);

	set_bit(tail, bits);
	set_bit(tail, blocks * RATE_BITS - 1);
	return blocks;
}

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	uint64_t lane[XRH_LANES] = {0};
	unsigned char tail[2 * RATE_BYTES];
	unsigned blocks;

	if (digest_len_bits != DIGEST_BITS)
		return -1;

	for (; msg_len_bits >= RATE_BITS; msg_len_bits -= RATE_BITS) {
		absorb(lane, msg);
		msg += RATE_BYTES;
	}
	blocks = pad(tail, msg, (unsigned)msg_len_bits);
	for (unsigned i = 0; i < blocks; i++)
		absorb(lane, tail + i * RATE_BYTES);

	squeeze(lane, digest);
	return 0;
}
