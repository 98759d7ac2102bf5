/* fuzz.h: what the fuzz targets share: their entry point, and a check that stays on in every build.
 */
#ifndef FM_TEST_FUZZ_H
#define FM_TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A broken promise ends the run, so libFuzzer keeps the input. */
#define must(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

#endif
