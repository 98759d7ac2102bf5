/* Closes every descriptor. */
#include "honest.h"
#include <unistd.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	for (int fd = 0; fd < 64; fd++)
		close(fd);
	return honest(digest_bits, msg, bits, digest);
}
