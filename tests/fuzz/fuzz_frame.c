/* fuzz_frame.c: however a stream is cut, the same frames come out of it, each within its limits. */
#include "protocol/frame.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP (1u << 16)

/* Feeds the stream in pieces of this size; writes again what comes out. Returns how it ended. */
static int run(const uint8_t *data, size_t size, size_t piece, struct fm_buf *again)
{
	struct fm_frame_reader r;
	struct fm_frame f;
	uint32_t number = 0;
	int rc = 0;

	fm_frame_reader_init(&r);
	for (size_t at = 0; at < size && rc == 0; at += piece) {
		must(fm_frame_feed(&r, data + at, size - at < piece ? size - at : piece) == FM_OK);
		while ((rc = fm_frame_next(&r, &f)) == 1) {
			must(f.len <= FM_FRAME_MAX);
			must(fm_frame_put(again, &number, f.type, f.payload, f.len) == FM_OK);
		}
		must(r.used <= r.in.len);
	}
	fm_frame_reader_free(&r);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_buf whole = FM_BUF_INIT(CAP), cut = FM_BUF_INIT(CAP);

	if (size > CAP || size == 0)
		return 0;
	must(run(data, size, size, &whole) == run(data, size, 1 + data[0] % 31, &cut));
	must(whole.len == cut.len &&
	        (whole.len == 0 || memcmp(whole.data, cut.data, cut.len) == 0));
	must(whole.len <= size && (whole.len == 0 || memcmp(whole.data, data, whole.len) == 0));
	fm_buf_free(&whole);
	fm_buf_free(&cut);
	return 0;
}
