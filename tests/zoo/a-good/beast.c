/* Does what it should; measured among all the others. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	return honest(digest_bits, msg, bits, digest);
}
