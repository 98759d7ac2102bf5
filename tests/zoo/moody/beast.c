/* Gives another digest with every call. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	static unsigned calls;
	int rc = honest(digest_bits, msg, bits, digest);

	digest[0] ^= (unsigned char)++calls;
	return rc;
}
