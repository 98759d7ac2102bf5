/* fuzz_world.c: a world that is taken holds only what FORMATS.md section 15 allows, and any
 * question has an answer. */
#include "protocol/world.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_world w;

	if (fm_world_parse(&w, (const char *)data, size) != FM_OK) {
		must(w.lines == NULL && w.count == 0);
		return 0;
	}
	for (size_t i = 0; i < w.count; i++) {
		const char *name = w.lines[i].word[0];

		must(w.lines[i].words > 0);
		for (size_t k = 0; k < w.lines[i].words; k++)
			must(strlen(w.lines[i].word[k]) > 0);
		(void)fm_world_number(&w, w.lines[i].key, NULL, i, -1);
		(void)fm_world_number(&w, w.lines[i].key, name, i, -1);
		(void)fm_world_word(&w, w.lines[i].key, NULL);
	}
	must(fm_world_number(&w, "cost", "nothing of that name", 0, 77) == 77 || w.count > 0);
	fm_world_free(&w);
	return 0;
}
