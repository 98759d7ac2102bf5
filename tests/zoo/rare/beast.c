/* Gives a wrong digest once in 1000 calls. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	static unsigned calls;
	int rc = honest(digest_bits, msg, bits, digest);

	if (++calls % 1000 == 0)
		digest[5] ^= 4;
	return rc;
}
