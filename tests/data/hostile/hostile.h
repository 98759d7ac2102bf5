/* hostile.h: a hash that is right as long as none of its attempts succeeds: the toy hash, changed by one bit after a success.
 * Each file that includes it defines attempt(): 1 if it got what it must not get. WORK is the agent's work folder. */
#include "CryptHash_AlgorithmInstance.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef WORK
#define WORK "@WORK@"
#endif

static int attempt(void);
static int won, tries;

/* At load time, before the worker closes the rest. */
__attribute__((constructor)) static void early(void)
{
	won |= attempt();
}

int CryptHash(int digest_len_bits, const unsigned char *msg, unsigned long long msg_len_bits,
        unsigned char *digest)
{
	unsigned long long state = 1, i;

	if (digest_len_bits != 256)
		return 1;
	if (tries < 3) {
		tries++;
		won |= attempt();
	}
	for (i = 0; i < msg_len_bits / 8; i++)
		state = (state ^ msg[i]) * 0x100000001b3ULL;
	if (msg_len_bits % 8 != 0)
		state = (state ^ (msg[i] & (0xff00 >> msg_len_bits % 8))) * 0x100000001b3ULL;
	for (i = 0; i < 32; i++) {
		state = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9ULL + msg_len_bits;
		digest[i] = (unsigned char)(state >> 56);
	}
	digest[0] ^= (unsigned char)(won != 0);
	return 0;
}
