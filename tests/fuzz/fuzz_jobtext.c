/* fuzz_jobtext.c: job text that opens is what the writer makes of its keys and values. */
#include "protocol/jobtext.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP (1u << 16)

/* Takes every line, in whatever order it comes, and the values as every type. */
static void take_all(struct fm_text *t, struct fm_buf *again)
{
	while (strcmp(t->next, "end") != 0) {
		struct fm_text typed = *t;
		char key[FM_VALUE_MAX + 1], hex[65], name[65];
		const char *value;
		uint64_t u;
		int64_t i;

		if (strlen(t->next) <
		        sizeof key) { /* a key may be long, nobody waits for such a one */
			memcpy(key, t->next, strlen(t->next) + 1);
			(void)!fm_text_take_u64(&typed, key, 1000, &u);
			typed = *t;
			(void)!fm_text_take_i64(&typed, key, &i);
			typed = *t;
			(void)!fm_text_take_hex(&typed, key, hex);
			typed = *t;
			(void)!fm_text_take_name(&typed, key, name);
		}
		must(fm_text_maybe(t, t->next, &value));
		must(fm_text_put(again, t->key, "%s", value) == FM_OK);
	}
	must(fm_text_close(t) == FM_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_buf again = FM_BUF_INIT(CAP);
	struct fm_text t;

	if (size > CAP || fm_text_open(&t, "job", (const char *)data, size) != FM_OK)
		return 0;
	must(fm_text_begin(&again, "job") == FM_OK);
	take_all(&t, &again);
	must(fm_text_end(&again) == FM_OK);
	must(again.len == size && memcmp(again.data, data, size) == 0);
	fm_text_free(&t);
	fm_buf_free(&again);
	return 0;
}
