/* heap.c: six requests whose sizes are known: 5941 bytes at most at once, nothing kept.
 *
 * BIG: a library of that many bytes more, each page of which is read when it is loaded. */
#include "toy.h"
#include <stdlib.h>

#ifdef BIG
static const unsigned char big[BIG] = {1};

__attribute__((constructor)) static void read_all(void)
{
	volatile unsigned char seen;

	for (size_t i = 0; i < BIG; i += 4096)
		seen = ((const volatile unsigned char *)big)[i];
	(void)seen;
}
#endif

static int blocks(void)
{
	/* volatile: or the compiler leaves out blocks that nobody uses */
	void *volatile a = malloc(1), *volatile b = malloc(1000), *volatile c = calloc(10, 30);
	void *volatile d;
	void *e = NULL;

	b = realloc(b, 5000);
	d = aligned_alloc(64, 640);
	free(c);
	if (posix_memalign(&e, 128, 256) != 0)
		return 1;
	free(a);
	free(b);
	free(d);
	free(e);
	return 0;
}

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	return blocks() | toy(digest_bits, msg, bits, digest);
}
