/* Has lines that end in CR LF (the script makes them). */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	return honest(digest_bits, msg, bits, digest);
}
