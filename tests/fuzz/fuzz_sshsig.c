/* fuzz_sshsig.c: no bytes but the one good signature verify; a public line has one spelling. */
#include "protocol/digest.h"
#include "protocol/sshsig.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define NAMESPACE "bundle.v1@fleetmark"

static struct fm_identity *id;
static struct fm_buf golden;

/* The key of the golden vector in FORMATS.md, its message and signature. */
static void make_golden(void)
{
	unsigned char seed[32];

	for (unsigned char i = 0; i < 32; i++)
		seed[i] = i;
	golden = FM_BUF_INIT(FM_SSHSIG_MAX);
	must(fm_crypto_init() == FM_OK && fm_identity_from_seed(seed, &id) == FM_OK);
	must(fm_sshsig_sign(id, NAMESPACE, "fleetmark\n", 10, &golden) == FM_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[FM_PUBLIC_LINE + 1], again[FM_PUBLIC_LINE + 1];
	struct fm_public pub;
	int rc;

	if (id == NULL)
		make_golden();
	rc = fm_sshsig_verify(
	        fm_identity_public(id), NAMESPACE, "fleetmark\n", 10, (const char *)data, size);
	must((rc == FM_OK) == (size == golden.len && memcmp(data, golden.data, size) == 0));
	if (size != FM_PUBLIC_LINE)
		return 0;
	memcpy(line, data, size);
	line[size] = '\0';
	if (fm_public_parse(line, &pub) == FM_OK) {
		fm_public_line(&pub, again);
		must(strcmp(line, again) == 0);
	}
	return 0;
}
