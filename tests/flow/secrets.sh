#!/bin/bash
# secrets.sh: while a key is open its memory is locked, left out of dumps and unreadable past its end; after it is closed no copy
# of the seed, of its hex digits or of the secret half is left anywhere in the process. Built without sanitizers, which keep memory.
set -euo pipefail
: "${FLEETMARK_ROOT:?}"
command -v gcc > /dev/null || { echo "skipped: needs gcc"; exit 77; }
T=$(mktemp -d "${TMPDIR:-/tmp}/fleetmark-secrets-XXXXXX")
trap 'rm -rf "$T"' EXIT
cat > "$T/secrets.c" <<'END'
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/identity.h"
#include "protocol/sshsig.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is looked for, never as it is: every byte is stored with this added. */
#define MASK 0x5a
static unsigned char hidden[3][64];
static size_t length[3] = {64, 32, 64}; /* hex digits, seed, secret half as libsodium keeps it (seed, public) */

static long locked(void)
{
	char line[200];
	long kb = -1;
	FILE *f = fopen("/proc/self/status", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (strncmp(line, "VmLck:", 6) == 0)
			kb = strtol(line + 6, NULL, 10);
	if (f != NULL)
		fclose(f);
	return kb;
}

static int is_at(const unsigned char *p, int which)
{
	for (size_t i = 0; i < length[which]; i++)
		if ((unsigned char)(p[i] ^ MASK) != hidden[which][i])
			return 0;
	return 1;
}

/* How often each stands in what this process can read and write. */
static void scan(int found[3])
{
	char line[400];
	FILE *f = fopen("/proc/self/maps", "r");

	memset(found, 0, 3 * sizeof *found);
	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		unsigned long from, to;
		char mode[8];

		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) != 3 || mode[0] != 'r' || mode[1] != 'w')
			continue;
		for (unsigned long at = from; at + 64 <= to; at++)
			for (int i = 0; i < 3; i++)
				found[i] += is_at((const unsigned char *)at, i);
	}
	if (f != NULL)
		fclose(f);
}

static unsigned digit(unsigned char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10u;
}

int main(int argc, char **argv)
{
	struct fm_buf sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	struct fm_identity *id = NULL;
	const struct fm_public *pub;
	int dir = open(argc > 1 ? argv[1] : ".", O_RDONLY | O_DIRECTORY), fd, found[3];
	long before, open_kb;
	unsigned char one;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (fm_crypto_init() != FM_OK || fm_identity_create(dir, "key") != FM_OK)
		return 2;
	/* byte by byte, so that no buffer here holds it */
	fd = openat(dir, "key", O_RDONLY);
	for (int i = 0; i < 64; i++) {
		if (read(fd, &one, 1) != 1)
			return 2;
		hidden[0][i] = one ^ MASK;
		hidden[1][i / 2] = (unsigned char)(i % 2 == 0 ? digit(one) << 4 : hidden[1][i / 2] | digit(one));
	}
	close(fd);
	for (int i = 0; i < 32; i++)
		hidden[1][i] ^= MASK;
	before = locked();
	if (fm_identity_load(dir, "key", &id) != FM_OK)
		return 2;
	pub = fm_identity_public(id);
	for (int i = 0; i < 32; i++) {
		hidden[2][i] = hidden[1][i];
		hidden[2][i + 32] = pub->key[i] ^ MASK;
	}
	open_kb = locked();
	scan(found);
	printf("open: %ld KiB locked (before: %ld); copies: %d of the hex digits, %d of the seed, %d of the secret half\n",
		open_kb, before, found[0], found[1], found[2]);
	if (open_kb <= before || found[0] != 0 || found[1] != 1 || found[2] != 1)
		return 1; /* the scan must find the one that has to be there */
	if (fm_sshsig_sign(id, "bundle.v1@fleetmark", "x", 1, &sig) != FM_OK)
		return 2;
	fm_identity_free(id);
	scan(found);
	printf("closed: %ld KiB locked; copies: %d, %d, %d\n", locked(), found[0], found[1], found[2]);
	return locked() != before || found[0] + found[1] + found[2] != 0;
}
END
cd "$FLEETMARK_ROOT"
gcc -std=c11 -D_GNU_SOURCE -O1 -I. -o "$T/secrets" "$T/secrets.c" protocol/*.c -lsodium || { echo "FAILED: does not build"; exit 1; }
"$T/secrets" "$T" || { echo "FAILED: status $?"; exit 1; }
echo ok
