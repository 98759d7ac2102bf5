/* resign.c: what a thief of a key could do: signs standard input with a seed file, for the attack
 * tests.
 *
 *   resign SEEDFILE NAMESPACE < MANIFEST.sha256 > MANIFEST.sha256.sig
 *   resign --public SEEDFILE            the public line
 *   resign --new SEEDFILE               makes a key */
#include "protocol/digest.h"
#include "protocol/identity.h"
#include "protocol/sshsig.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int read_all(struct fm_buf *in)
{
	char piece[65536];
	size_t n;
	int rc = FM_OK;

	while (rc == FM_OK && (n = fread(piece, 1, sizeof piece, stdin)) > 0)
		rc = fm_buf_put(in, piece, n);
	return rc;
}

static int sign(const struct fm_identity *id, const char *namespace)
{
	struct fm_buf in = FM_BUF_INIT(1u << 30), sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	int rc;

	if ((rc = read_all(&in)) == FM_OK &&
	        (rc = fm_sshsig_sign(id, namespace, in.len > 0 ? in.data : "", in.len, &sig)) ==
	                FM_OK)
		(void)fwrite(sig.data, 1, sig.len, stdout);
	fm_buf_free(&in);
	fm_buf_free(&sig);
	return rc;
}

int main(int argc, char **argv)
{
	struct fm_identity *id = NULL;
	char line[FM_PUBLIC_LINE + 1];
	int rc = fm_crypto_init();

	if (argc != 3)
		return 2;
	if (rc == FM_OK && strcmp(argv[1], "--new") == 0)
		rc = fm_identity_create(AT_FDCWD, argv[2]);
	else if (rc == FM_OK &&
	         (rc = fm_identity_load(AT_FDCWD,
	                  strcmp(argv[1], "--public") == 0 ? argv[2] : argv[1], &id)) == FM_OK) {
		fm_public_line(fm_identity_public(id), line);
		if (strcmp(argv[1], "--public") == 0)
			(void)puts(line);
		else
			rc = sign(id, argv[2]);
	}
	if (rc != FM_OK)
		(void)fprintf(stderr, "resign: %s\n", fm_error_text());
	fm_identity_free(id);
	return rc == FM_OK ? 0 : 1;
}
