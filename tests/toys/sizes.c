/* sizes.c: sections of known sizes beside an honest hash.
 *
 * MORE: so many bytes more in each of read-only, initialised and zeroed data. */
#include "toy.h"

#ifndef MORE
#define MORE 0
#endif

const unsigned char table[5000 + MORE] = {1};
unsigned char start[3000 + MORE] = {1};
static unsigned char room[7000 + MORE];
static _Thread_local unsigned char own[64] = {1};

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	room[bits % sizeof room] ^= table[bits % sizeof table];
	start[bits % sizeof start] ^= own[bits % sizeof own];
	return toy(digest_bits, msg, bits, digest);
}
