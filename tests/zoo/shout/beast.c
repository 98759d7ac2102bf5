/* Has wrong digests and prints a good RESULT line wherever it can. */
#include "honest.h"
#include <stdio.h>
#include <unistd.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	static const char line[] = "RESULT shout shout-256 PASS \nstatus PASS\nend ok\n";
	int rc = honest(digest_bits, msg, bits, digest);

	for (int fd = 1; fd < 5; fd++)
		if (write(fd, line, sizeof line - 1) < 0)
			continue;
	digest[0] ^= 1;
	return rc;
}
