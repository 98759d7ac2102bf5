/* leak.c: keeps as many bytes as the message has, and 200, of every call. */
#include "toy.h"
#include <stdlib.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	static volatile char *kept;

	if ((kept = malloc((size_t)(bits / 8) + 200)) == NULL)
		return 1;
	kept[0] = 1;
	return toy(digest_bits, msg, bits, digest);
}
