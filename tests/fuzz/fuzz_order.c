/* fuzz_order.c: an order that is taken holds only what FORMATS.md section 10 allows. */
#include "agent/worker/order.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fm_order o;

	if (fm_order_parse(&o, (const char *)data, size) != FM_OK) {
		must(o.library == NULL && o.kat == NULL && o.bytes == NULL);
		return 0;
	}
	must(o.task <= FM_TASK_TIME && o.cpu >= -1);
	if (o.library != NULL)
		must(o.library[0] == '/' && strlen(o.library_sha256) == 64 && o.digest_bits >= 8 &&
		        o.digest_bits <= FM_ORDER_DIGEST_BITS_MAX);
	for (size_t i = 0; i < o.kat_count; i++) {
		must(strlen(o.kat[i].hex) == 64 && strchr(o.kat[i].file, '/') == NULL);
		must(o.kat[i].vectors == 0 || o.vectors_file != NULL);
	}
	for (size_t i = 0; i < o.bytes_count; i++)
		must(o.bytes[i] >= 1 && o.bytes[i] <= FM_ORDER_BYTES_MAX);
	if (o.task == FM_TASK_TIME)
		must(o.bytes_count == 1 && o.calls >= 1 && o.windows >= 1 &&
		        o.windows <= FM_ORDER_WINDOWS_MAX && o.counter != NULL);
	fm_order_free(&o);
	return 0;
}
