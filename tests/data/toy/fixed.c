/* fixed.c: a toy that writes the same digest whatever the message is. */
#include "CryptHash_AlgorithmInstance.h"

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	int i;

	(void)msg;
	(void)msg_len_bits;
	for (i = 0; i < digest_len_bits / 8; i++)
		digest[i] = 0x5a;
	return digest_len_bits != 256;
}
