/* Ends the process with status 0 in the middle. */
#include "honest.h"
#include <stdlib.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	if (bits == 50)
		exit(0);
	return honest(digest_bits, msg, bits, digest);
}
