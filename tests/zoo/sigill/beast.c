/* Executes an instruction that is none. */
#include "honest.h"
#include <signal.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	if (bits == 3)
		raise(SIGILL);
	return honest(digest_bits, msg, bits, digest);
}
