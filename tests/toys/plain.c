/* plain.c: an honest small hash. */
#include "toy.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	return toy(digest_bits, msg, bits, digest);
}
