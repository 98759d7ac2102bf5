/* slow.c: the toy with a long first look at every message, so that a test can interrupt the
 * measuring. */
#include "CryptHash_AlgorithmInstance.h"

#ifndef SLOW_TURNS
#define SLOW_TURNS 60000000ULL /* some 30 ms */
#endif

static volatile unsigned long long sink;

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	unsigned long long i, state = msg_len_bits;

	if (digest_len_bits != 256)
		return 1;
	if (msg_len_bits >= 8ULL * 4096 && msg_len_bits <= 8ULL * 4096 + 64)
		for (i = 0; i < SLOW_TURNS; i++)
			sink = i;
	for (i = 0; i < msg_len_bits / 8; i++)
		state = state * 31 + msg[i];
	for (i = 0; i < 32; i++)
		digest[i] = (unsigned char)(state >> i);
	return 0;
}
