/* fuzz_lines.c: a line that parses is the line the writer makes; wrong check values are put right
 * to get behind them. */
#include "protocol/digest.h"
#include "protocol/lines.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

/* Key or value number i of the line, NULL behind the last. */
static const char *part(const struct fm_line *l, size_t i)
{
	if (i / 2 >= l->count)
		return NULL;
	return i % 2 == 0 ? l->field[i / 2].key : l->field[i / 2].value;
}

static void check_line(const char *text, size_t len)
{
	struct fm_buf again = FM_BUF_INIT(FM_LINE_MAX);
	struct fm_line l;

	if (fm_line_parse(text, len, &l) != FM_OK)
		return;
	must(l.seq > 0 && l.count <= FM_LINE_FIELDS);
	if (l.count <= 4) {
		must(fm_line_format(&again, l.seq, l.kind, part(&l, 0), part(&l, 1), part(&l, 2),
		             part(&l, 3), part(&l, 4), part(&l, 5), part(&l, 6), part(&l, 7),
		             (char *)NULL) == FM_OK);
		must(again.len == len + 1 && memcmp(again.data, text, len) == 0);
	}
	fm_buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[FM_LINE_MAX + 16], hex[65];

	if (size > FM_LINE_MAX)
		return 0;
	check_line((const char *)data, size);
	memcpy(line, data, size);
	line[size] = ' ';
	fm_sha256_hex(line, size + 1, hex);
	memcpy(line + size + 1, hex, 8);
	check_line(line, size + 9);
	return 0;
}
