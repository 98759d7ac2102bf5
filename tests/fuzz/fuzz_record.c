/* fuzz_record.c: a record that the reader accepts is printed as JSON that it accepts again, with
 * the same figures. */
#include "orchestrator/cells.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_buf out = FM_BUF_INIT(FM_RECORD_MAX);
	struct fm_record r, again;
	struct fm_cell_fig c;

	if (size > 1u << 20 || fm_record_read("record", (const char *)data, size, &r) != FM_OK)
		return 0;
	memset(&c, 0, sizeof c);
	(void)!fm_cell_from_record(&r, &c);
	fm_cell_fig_free(&c);
	if (r.complete && !r.own) {
		must(fm_record_write(&r, NULL, NULL, &out) == FM_OK);
		must(fm_record_read("again", out.data, out.len, &again) == FM_OK);
		must(r.measurements == again.measurements && r.mean_seconds == again.mean_seconds);
		fm_record_free(&again);
	}
	fm_buf_free(&out);
	fm_record_free(&r);
	return 0;
}
