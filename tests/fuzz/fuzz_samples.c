/* fuzz_samples.c: columns of samples and process tables: what is accepted has as many values as
 * lines, all in range. */
#include "orchestrator/samples.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_proc *rows;
	uint64_t *values;
	size_t count, lines = 0;

	if (size > 1u << 20)
		return 0;
	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	if (fm_samples_column("column", (const char *)data, size, &values, &count) == FM_OK) {
		must(count == lines);
		free(values);
	}
	if (fm_samples_table("table", (const char *)data, size, &rows, &count) == FM_OK) {
		must(count + 1 == lines);
		for (size_t i = 0; i < count; i++) {
			must(rows[i].column[FM_PROC_STATE] < FM_STATES &&
			        rows[i].column[FM_PROC_REASON] < FM_REASONS);
			must(i == 0 || rows[i].column[FM_PROC_PROCESS] >
			                       rows[i - 1].column[FM_PROC_PROCESS]);
		}
		free(rows);
	}
	return 0;
}
