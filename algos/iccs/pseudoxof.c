/* The ICCS helper pseudoXOF: H(M || ct) for ct = 1, 2, 3, ... as 32 bits, big-endian, joined and
 * cut to the wanted length; H is SM3 and M the message as a bit string. This is the key derivation
 * of SM2 (GB/T 32918.4). The counter follows the last message bit directly. The message is hashed
 * anew for every counter, as the ICCS helper does: the time is the baseline that pages show other
 * hashes against, so it must not be saved here. */
#include <string.h>

#include "CryptHash_AlgorithmInstance.h"
#include "sm3.h"

/* Block number ct of the output. */
static void output_block(unsigned char out[SM3_BYTES], const unsigned char *msg,
        unsigned long long msg_len_bits, uint32_t ct)
{
	unsigned char counter[4];
	struct sm3 s;

	for (unsigned i = 0; i < 4; i++)
		counter[i] = (unsigned char)(ct >> (24 - 8 * i));
	sm3_init(&s);
	sm3_put(&s, msg, msg_len_bits);
	sm3_put(&s, counter, 8 * sizeof counter);
	sm3_end(&s, out);
}

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	unsigned char last[SM3_BYTES];
	uint32_t ct = 1;
	unsigned bits;

	if (digest_len_bits < 0)
		return CRYPTHASH_BAD_LENGTH;

	for (bits = (unsigned)digest_len_bits; bits >= SM3_BITS; bits -= SM3_BITS) {
		output_block(digest, msg, msg_len_bits, ct++);
		digest += SM3_BYTES;
	}
	if (bits > 0) {
		output_block(last, msg, msg_len_bits, ct);
		memcpy(digest, last, (bits + 7) / 8);
		if (bits % 8 != 0)
			digest[bits / 8] &= (unsigned char)(0xFF00 >> bits % 8);
	}
	return 0;
}
