/* Takes every digest length and always writes 32 bytes. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	(void)digest_bits;
	return honest(256, msg, bits, digest);
}
