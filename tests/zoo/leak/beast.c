/* Keeps 1000 bytes of every call. */
#include "honest.h"
#include <stdlib.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	static volatile char *kept;

	kept = malloc(1000);
	if (kept != 0)
		kept[0] = 1;
	return honest(digest_bits, msg, bits, digest);
}
