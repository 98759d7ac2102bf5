/* Passes every known answer and never comes back from the longest message that is timed. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	for (volatile unsigned i = 0; bits == 8 * 65536; i++)
		;
	return honest(digest_bits, msg, bits, digest);
}
