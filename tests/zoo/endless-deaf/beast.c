/* The same, after it has switched off the alarm and every signal it can. */
#include "honest.h"
#include <signal.h>
#include <unistd.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	sigset_t all;

	sigfillset(&all);
	if (bits == 7) {
		alarm(0);
		sigprocmask(SIG_SETMASK, &all, 0);
	}
	for (volatile unsigned i = 0; bits == 7; i++)
		;
	return honest(digest_bits, msg, bits, digest);
}
