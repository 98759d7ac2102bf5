/* toy.h: an honest small hash, worth nothing, whose cost grows with the length of the message. */
#ifndef TOY_H
#define TOY_H

#include <stddef.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest);

static inline int toy(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	unsigned long long state = 0xcbf29ce484222325u;

	for (unsigned long long i = 0; i < bits / 8; i++)
		state = (state ^ msg[i]) * 0x100000001b3u;
	for (int i = 0; i < digest_bits / 8; i++) {
		state = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9u + bits;
		digest[i] = (unsigned char)(state >> 56);
	}
	return 0;
}

#endif
