/* Calls itself until the stack is full. */
#include "honest.h"

static int deeper(volatile char *p)
{
	volatile char room[4096];

	room[0] = *p;
	return deeper(room) + room[0];
}

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	char c = 0;

	if (bits == 9)
		return deeper(&c);
	return honest(digest_bits, msg, bits, digest);
}
