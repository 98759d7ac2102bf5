/* Writes one byte behind the digest. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	digest[32] = 1;
	return honest(digest_bits, msg, bits, digest);
}
