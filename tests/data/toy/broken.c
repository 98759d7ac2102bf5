/* broken.c: does not compile: a build failure that must not stop the other instances. */
#include "CryptHash_AlgorithmInstance.h"

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	return digest_len_bits + msg_len_bits + digest;
}

#error this source is broken on purpose
