/* fuzz_hostkey.c: no text of known_hosts makes a key good that the SSH library did not call good,
 * nor one that it revokes. */
#include "orchestrator/hostkey.h"
#include "protocol/digest.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP   (1u << 16)
#define KEY   "AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
#define PRINT "SHA256:offeredofferedofferedofferedofferedofferedof"
#define LINE  "\n@revoked h ssh-ed25519 " KEY "\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fm_hostkey k = {.system = "x86_1",
	        .host = "h",
	        .port = size % 2 == 0 ? 22 : 2222,
	        .type = "ssh-ed25519",
	        .base64 = KEY,
	        .fingerprint = PRINT};
	struct fm_buf text = FM_BUF_INIT(2 * CAP);
	char warn[200];

	if (size > CAP || fm_crypto_init() != FM_OK ||
	        fm_buf_put(&text, size == 0 ? (const void *)"" : data, size) != FM_OK)
		return 0;
	for (int v = FM_HOSTKEY_OK; v <= FM_HOSTKEY_IS_CHANGED; v++) {
		must(fm_hostkey_decide(&k, NULL, (enum fm_hostkey_verdict)v, "store", &text, warn,
		             sizeof warn) != FM_OK ||
		        v == FM_HOSTKEY_OK);
		must(fm_hostkey_decide(&k, "SHA256:another", (enum fm_hostkey_verdict)v, "store",
		             &text, warn, sizeof warn) != FM_OK);
	}
	if (memchr(data == NULL ? (const void *)"" : data, 0, size) == NULL) {
		must(fm_buf_puts(&text, LINE) == FM_OK);
		must(fm_hostkey_decide(&k, NULL, FM_HOSTKEY_OK, "store", &text, warn,
		             sizeof warn) == FM_ERR_HOSTKEY_REVOKED);
	}
	fm_buf_free(&text);
	return 0;
}
