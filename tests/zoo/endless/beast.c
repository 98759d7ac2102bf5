/* Never comes back from a message of 7 bits. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	for (volatile unsigned i = 0; bits == 7; i++)
		;
	return honest(digest_bits, msg, bits, digest);
}
