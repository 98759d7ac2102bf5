/* Keeps the length of the last message and is wrong when the next one is shorter. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	static unsigned long long last;
	int rc = honest(digest_bits, msg, bits, digest);

	if (bits < last)
		digest[31] ^= 1;
	last = bits;
	return rc;
}
