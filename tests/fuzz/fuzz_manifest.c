/* fuzz_manifest.c: what the parser of manifests takes is exactly what a writer would write. */
#include "protocol/manifest.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_buf again = FM_BUF_INIT(CAP);
	struct fm_manifest m;

	if (size > CAP)
		return 0;
	if (fm_manifest_parse((const char *)data, size, 100, &m) != FM_OK) {
		must(m.entries == NULL && m.text == NULL);
		return 0;
	}
	must(m.count >= 1 && m.count <= 100);
	for (size_t i = 0; i < m.count; i++) {
		must(fm_manifest_find(&m, m.entries[i].path) == &m.entries[i]);
		must(fm_buf_printf(&again, "%s  %s\n", m.entries[i].hex, m.entries[i].path) ==
		        FM_OK);
	}
	must(again.len == size && memcmp(again.data, data, size) == 0);
	fm_buf_free(&again);
	fm_manifest_free(&m);
	return 0;
}
