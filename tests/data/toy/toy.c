/* toy.c: a hash-shaped function for tests of the agent: quick, deterministic, worth nothing. */
#include "CryptHash_AlgorithmInstance.h"

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	unsigned long long state = TOY_START, i;

	if (digest_len_bits != 256)
		return 1;
	for (i = 0; i < msg_len_bits / 8; i++)
		state = (state ^ msg[i]) * 0x100000001b3ULL;
	if (msg_len_bits % 8 != 0)
		state = (state ^ (msg[i] & (0xff00 >> msg_len_bits % 8))) * 0x100000001b3ULL;
	for (i = 0; i < 32; i++) {
		state = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9ULL + msg_len_bits;
		digest[i] = (unsigned char)(state >> 56);
	}
	return 0;
}
