/* sizes.c: sections of known sizes beside an honest hash, and code that no one can reach. */
#include "toy.h"

const unsigned char table[5000] = {1};
unsigned char start[3000] = {1};
static unsigned char room[7000];
static _Thread_local unsigned char own[64] = {1};

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	room[bits % sizeof room] ^= table[bits % sizeof table];
	start[bits % sizeof start] ^= own[bits % sizeof own];
	return toy(digest_bits, msg, bits, digest);
}
