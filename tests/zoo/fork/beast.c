/* Starts a child that leaves its session, ignores TERM and stays. */
#include "honest.h"
#include <signal.h>
#include <unistd.h>

int CryptHash(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	static int done;

	if (!done++ && fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		for (;;)
			pause();
	}
	return honest(digest_bits, msg, bits, digest);
}
