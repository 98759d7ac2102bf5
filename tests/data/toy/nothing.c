/* nothing.c: a toy that returns at once and writes no digest. */
#include "CryptHash_AlgorithmInstance.h"

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	(void)msg;
	(void)msg_len_bits;
	(void)digest;
	return digest_len_bits != 256;
}
