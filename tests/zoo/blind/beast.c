/* Gives the same digest for every message. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	(void)msg;
	(void)bits;
	return honest(digest_bits, (const unsigned char *)"", 0, digest);
}
