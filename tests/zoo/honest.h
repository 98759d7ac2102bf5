/* honest.h: a small 256-bit hash that every beast of the zoo starts from; right for any bit length
 * and alignment, and without any claim of security. */
#ifndef HONEST_H
#define HONEST_H

#include "CryptHash_AlgorithmInstance.h"

static void honest_step(unsigned long long s[4], unsigned long long x)
{
	s[0] = (s[0] ^ x) * 0x9e3779b97f4a7c15ull;
	s[1] ^= s[0] << 27 | s[0] >> 37;
	s[2] += s[1];
	s[3] ^= s[2] << 41 | s[2] >> 23;
	s[0] += s[3];
}

static int honest(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	unsigned long long s[4] = {1, 2, 3, 4}, n;

	if (digest_bits != 256)
		return -4;
	for (n = 0; n < bits / 8; n++)
		honest_step(s, msg[n]);
	if (bits % 8 != 0)
		honest_step(s, 0x100u + (msg[n] >> (8 - bits % 8)));
	honest_step(s, bits + 0x200);
	for (n = 0; n < 12; n++)
		honest_step(s, n);
	for (n = 0; n < 32; n++)
		digest[n] = (unsigned char)(s[n / 8] >> (8 * (n % 8)));
	return 0;
}

#endif
