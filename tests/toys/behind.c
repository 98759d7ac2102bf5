/* behind.c: maps a page of its own in every call, past malloc. */
#include "toy.h"
#include <sys/mman.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? 1 : toy(digest_bits, msg, bits, digest);
}
