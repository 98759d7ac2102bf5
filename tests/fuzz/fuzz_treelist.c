/* fuzz_treelist.c: the files of a tree list that is in form are a manifest in form, or none. */
#include "protocol/manifest.h"
#include "protocol/path.h"
#include "protocol/treelist.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_buf out = FM_BUF_INIT(CAP);
	int rc;

	if (size > CAP)
		return 0;
	rc = fm_treelist_sources((const char *)data, size, &out);
	must(rc == FM_OK || rc == FM_ERR_SOURCE);
	for (char *at = out.data, *end; rc == FM_OK && at != NULL && *at != '\0'; at = end + 1) {
		must((end = strchr(at, '\n')) != NULL);
		*end = '\0';
		must(fm_path_ok(at + 66));
		at[64] = '\0';
		must(fm_hex64_ok(at));
	}
	fm_buf_free(&out);
	return 0;
}
