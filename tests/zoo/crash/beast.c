/* Writes to address 8 once a message has 100 bits. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	if (bits == 100)
		*(volatile int *)8 = 1;
	return honest(digest_bits, msg, bits, digest);
}
