/* The ICCS helper sm3hash: SM3 of the message. */
#include "CryptHash_AlgorithmInstance.h"
#include "sm3.h"

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	struct sm3 s;

	if (digest_len_bits != SM3_BITS)
		return CRYPTHASH_BAD_LENGTH;

	sm3_init(&s);
	sm3_put(&s, msg, msg_len_bits);
	sm3_end(&s, digest);
	return 0;
}
