/* The Dragon sponge (hash-07 Dragon), built once per parameter set; dragon_set.h has the sets. */
#include <string.h>

#include "CryptHash_AlgorithmInstance.h"
#include "dragon_permute.h"
#include "dragon_set.h"

#define RATE_LANES  (DRAGON_LANES - CAPACITY_LANES)
#define RATE_BYTES  (8 * RATE_LANES)
#define RATE_BITS   (64 * RATE_LANES)
#define OUTPUT_BITS (64 * OUTPUT_LANES)

/* Lanes and bytes: most significant byte first, on every host. */
static inline uint64_t load64_be(const unsigned char *p)
{
	return (uint64_t)p[0] << 56 | (uint64_t)p[1] << 48 | (uint64_t)p[2] << 40 |
	       (uint64_t)p[3] << 32 | (uint64_t)p[4] << 24 | (uint64_t)p[5] << 16 |
	       (uint64_t)p[6] << 8 | (uint64_t)p[7];
}

static inline void store64_be(unsigned char *p, uint64_t v)
{
	for (unsigned i = 0; i < 8; i++)
		p[i] = (unsigned char)(v >> (56 - 8 * i));
}

/* P with feed-forward: the capacity of before P is added again after it. Every call is wrapped so,
 * those between two output blocks too. */
static void permute_forward(uint64_t lane[DRAGON_LANES])
{
	uint64_t capacity[CAPACITY_LANES];

	memcpy(capacity, lane, sizeof capacity);
	dragon_permute(lane);
	for (unsigned i = 0; i < CAPACITY_LANES; i++)
		lane[i] ^= capacity[i];
}

/* Absorbing: the block runs downwards through the lanes of the rate, from the last one on. domain
 * is 1 for the last block and 0 before. */
static void absorb(
        uint64_t lane[DRAGON_LANES], const unsigned char block[RATE_BYTES], unsigned domain)
{
	for (unsigned i = 0; i < RATE_LANES; i++)
		lane[DRAGON_LANES - 1 - i] ^= load64_be(block + 8 * i);
	lane[0] ^= domain;
	permute_forward(lane);
}

/* Padding: the last bits < RATE_BITS bits of the message, 1, then 0 up to the end of the block.
 * Returns how many blocks of tail that takes: if the 1 ends a block, a block of zeros follows. */
static unsigned pad(unsigned char tail[2 * RATE_BYTES], const unsigned char *msg, unsigned bits)
{
	memset(tail, 0, 2 * RATE_BYTES);
	for (unsigned i = 0; i < bits / 8; i++)
		tail[i] = msg[i];
	if (bits % 8 != 0)
		tail[bits / 8] = msg[bits / 8] & (unsigned char)(0xFF00 >> bits % 8);
	tail[bits / 8] |= (unsigned char)(0x80 >> bits % 8);
	return bits + 1 == RATE_BITS ? 2 : 1;
}

/* Writes the first bits <= OUTPUT_BITS bits of an output block, which is lane OUTPUT_LANES - 1 down
 * to 0. */
static void output(const uint64_t lane[DRAGON_LANES], unsigned char *digest, unsigned bits)
{
	unsigned char last[8];
	unsigned n = bits / 64, rest = bits % 64;

	for (unsigned i = 0; i < n; i++)
		store64_be(digest + 8 * i, lane[OUTPUT_LANES - 1 - i]);
	if (rest == 0)
		return;
	/* a part of one more lane */
	store64_be(last, lane[OUTPUT_LANES - 1 - n] & ~(UINT64_MAX >> rest));
	memcpy(digest + 8 * n, last, (rest + 7) / 8);
}

/* Output blocks until bits bits are out; P comes between two of them, not after the last. */
static void squeeze(uint64_t lane[DRAGON_LANES], unsigned char *digest, unsigned bits)
{
	for (; bits > OUTPUT_BITS; bits -= OUTPUT_BITS) {
		output(lane, digest, OUTPUT_BITS);
		digest += OUTPUT_BITS / 8;
		permute_forward(lane);
	}
	output(lane, digest, bits);
}

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	uint64_t lane[DRAGON_LANES] = {0};
	unsigned char tail[2 * RATE_BYTES];
	unsigned blocks;

	if (DRAGON_XOF != 0 ? digest_len_bits < 0 : digest_len_bits != DRAGON_FIXED)
		return -1;

	memcpy(lane, CAPACITY_IV, sizeof CAPACITY_IV);
	for (; msg_len_bits >= RATE_BITS; msg_len_bits -= RATE_BITS) {
		absorb(lane, msg, 0);
		msg += RATE_BYTES;
	}
	blocks = pad(tail, msg, (unsigned)msg_len_bits);
	if (blocks == 2)
		absorb(lane, tail, 0);
	absorb(lane, tail + (blocks - 1) * RATE_BYTES, 1);

	squeeze(lane, digest, (unsigned)digest_len_bits);
	return 0;
}
