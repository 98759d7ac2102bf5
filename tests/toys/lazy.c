/* lazy.c: calls functions of libc that nothing called before; linked lazily, the first call of each
 * runs the linker on the stack. */
#include "toy.h"
#include <stdlib.h>
#include <string.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	char text[8] = "12 34";
	volatile long sum = strtol(text, NULL, 10) + labs(-3) + (long)strcspn(text, " ");

	return sum > 0 ? toy(digest_bits, msg, bits, digest) : 1;
}
