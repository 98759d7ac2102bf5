/* Reads the byte behind the message and uses it for nothing. */
#include "honest.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	volatile unsigned char next = msg[(bits + 7) / 8];

	(void)next;
	return honest(digest_bits, msg, bits, digest);
}
