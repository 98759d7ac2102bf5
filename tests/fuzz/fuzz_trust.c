/* fuzz_trust.c: lists of keys that are taken are what the writer makes of them, and hold no key
 * twice. */
#include "orchestrator/trust_parts.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP (1u << 16)

static void signers(const char *text, size_t size)
{
	struct fm_buf again = FM_BUF_INIT(CAP);
	struct fm_trust t;

	memset(&t, 0, sizeof t);
	if (fm_trust_parse_signers(text, size, &t) == FM_OK) {
		must(fm_trust_format_signers(&t, &again) == FM_OK);
		must(again.len == size && memcmp(again.data, text, size) == 0);
		for (size_t i = 0; i < t.count; i++) {
			must(strcmp(t.keys[i].system, "controller") != 0);
			must(!fm_public_equal(&t.keys[i].key, &t.controller));
			for (size_t k = 0; k < i; k++)
				must(!fm_public_equal(&t.keys[i].key, &t.keys[k].key));
		}
	}
	fm_buf_free(&again);
	fm_trust_free(&t);
}

static void revoked(const char *text, size_t size)
{
	char line[FM_PUBLIC_LINE + 1];
	struct fm_trust t;

	memset(&t, 0, sizeof t);
	if (fm_trust_parse_revoked(text, size, &t) == FM_OK) {
		must(t.revoked_count * (FM_PUBLIC_LINE + 1) == size);
		for (size_t i = 0; i < t.revoked_count; i++) {
			fm_public_line(&t.revoked[i], line);
			must(memcmp(text + i * (FM_PUBLIC_LINE + 1), line, FM_PUBLIC_LINE) == 0);
		}
	}
	fm_trust_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > CAP)
		return 0;
	signers((const char *)data, size);
	revoked((const char *)data, size);
	return 0;
}
