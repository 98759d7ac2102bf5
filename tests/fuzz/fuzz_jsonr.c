/* fuzz_jsonr.c: whatever comes in, the reader neither crashes nor accepts a fixed-form text that
 * our writer would not write. */
#include "orchestrator/jsonr.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

/* Looks at every node, as callers do. */
static void walk(const struct fm_json_node *n)
{
	for (const struct fm_json_node *c = fm_json_first(n); c != NULL; c = fm_json_next(c)) {
		const char *text = fm_json_text(c);
		double number;

		must(text == NULL || strlen(text) <= 1u << 20);
		(void)fm_json_number(c, &number);
		walk(c);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct fm_json *d = NULL;

	if (fm_json_read("fuzz", text, size, 1u << 20, &d) == FM_OK) {
		walk(fm_json_root(d));
		must(size >= 3 && text[0] == '{' && text[size - 1] == '\n');
		for (size_t i = 0; i < size; i++)
			must(text[i] == '\n' || (text[i] >= 0x20 && text[i] <= 0x7e));
	} else {
		must(d == NULL);
	}
	fm_json_free(d);
	d = NULL;
	if (fm_json_read_foreign("fuzz", text, size, 1u << 20, &d) == FM_OK)
		walk(fm_json_root(d));
	fm_json_free(d);
	return 0;
}
