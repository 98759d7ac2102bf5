/* Uses words of the GNU dialect as before C99: only the fallback flags build it. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	typeof(bits) n = bits;

	asm volatile("");
	return honest(digest_bits, msg, n, digest);
}
