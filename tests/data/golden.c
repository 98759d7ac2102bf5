/* golden.c: the golden vector of protocol/FORMATS.md section 3, made and checked on whatever
 * machine this runs; prints the public line and the signature file. */
#include "protocol/digest.h"
#include "protocol/sshsig.h"
#include <stdio.h>

#define NAMESPACE "bundle.v1@fleetmark"
#define MESSAGE   "fleetmark\n"

int main(void)
{
	struct fm_buf sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	char line[FM_PUBLIC_LINE + 1];
	struct fm_identity *id = NULL;
	unsigned char seed[32];
	int rc;

	for (unsigned char i = 0; i < sizeof seed; i++)
		seed[i] = i;
	if ((rc = fm_crypto_init()) == FM_OK && (rc = fm_identity_from_seed(seed, &id)) == FM_OK &&
	        (rc = fm_sshsig_sign(id, NAMESPACE, MESSAGE, sizeof MESSAGE - 1, &sig)) == FM_OK)
		rc = fm_sshsig_verify(fm_identity_public(id), NAMESPACE, MESSAGE,
		        sizeof MESSAGE - 1, sig.data, sig.len);
	if (rc == FM_OK) {
		fm_public_line(fm_identity_public(id), line);
		(void)printf("%s\n%.*s", line, (int)sig.len, sig.data);
	} else {
		(void)fprintf(stderr, "%s\n", fm_error_text());
	}
	fm_buf_free(&sig);
	fm_identity_free(id);
	return rc == FM_OK ? 0 : 1;
}
