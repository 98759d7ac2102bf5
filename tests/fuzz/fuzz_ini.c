/* fuzz_ini.c: INI texts: no crash, and what is accepted has a section before every key and no key
 * or section twice. */
#include "orchestrator/ini.h"
#include "tests/fuzz/fuzz.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_ini *ini = NULL;
	int line = 0;

	if (size > 1u << 16 || fm_ini_parse("fuzz.ini", (const char *)data, size, &ini) != FM_OK)
		return 0;
	for (size_t i = 0; i < fm_ini_count(ini); i++) {
		const struct fm_ini_entry *e = fm_ini_at(ini, i);
		int64_t number;
		char **words;
		size_t count;

		must(e->section != NULL && (i > 0 || e->key == NULL) && e->line > line);
		line = e->line;
		for (size_t k = 0; k < i && i < 200; k++) {
			const struct fm_ini_entry *o = fm_ini_at(ini, k);
			bool same = strcmp(o->section, e->section) == 0;

			if ((e->key == NULL && o->key == NULL && same) ||
			        (e->key != NULL && o->key != NULL && same &&
			                strcmp(o->key, e->key) == 0))
				abort();
		}
		if (e->key == NULL)
			continue;
		must(strlen(e->value) <= 4096);
		(void)!fm_ini_int(ini, e, -5, 5, &number);
		if (fm_ini_words(ini, e, &words, &count) == FM_OK)
			free(words);
	}
	fm_ini_free(ini);
	return 0;
}
