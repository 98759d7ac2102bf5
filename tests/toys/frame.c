/* frame.c: writes every byte of an array of FRAME bytes on the stack, and nothing else there. */
#include "toy.h"

#ifndef FRAME
#define FRAME 400
#endif

__attribute__((noinline)) static int rest(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	return toy(digest_bits, msg, bits, digest);
}

/* A leaf that ends in a jump: no register has to be saved. */
int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	volatile unsigned char array[FRAME];

	for (unsigned i = 0; i < FRAME; i++)
		array[i] = 0x11;
	digest[0] = array[0];
	return rest(digest_bits, msg, bits, digest);
}
