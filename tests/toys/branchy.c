/* branchy.c: how much it does depends on the bits of the message, in a way that a branch predictor
 * learns when the message stays the same. */
#include "toy.h"

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	volatile unsigned long long work = 1;

	for (unsigned long long i = 0; i < bits; i++)
		if ((msg[i / 8] >> (i % 8)) & 1)
			work = work * 3 + 1;
	return work == 0 ? 1 : toy(digest_bits, msg, bits, digest);
}
