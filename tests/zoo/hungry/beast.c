/* Allocates 10 GiB and touches them. */
#include "honest.h"
#include <stdlib.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	const size_t size = (size_t)10 << 30;
	char *room = malloc(size);

	if (room == 0)
		return -2;
	for (size_t i = 0; i < size; i += 4096)
		room[i] = 1;
	free(room);
	return honest(digest_bits, msg, bits, digest);
}
