/* fuzz_katfile.c: however a known-answer file is cut, its canonical digest is the same, and blanks
 * at line ends never count. */
#include "agent/worker/katfile.h"
#include "tests/fuzz/fuzz.h"
#include <string.h>

#define CAP (1u << 16)

static int digest(const uint8_t *data, size_t size, size_t piece, const char *end, char hex[65])
{
	struct fm_katfile k;
	uint64_t bytes = 0;
	int rc;

	fm_katfile_start(&k);
	for (size_t at = 0; at < size; at += piece)
		fm_katfile_add(&k, data + at, size - at < piece ? size - at : piece);
	fm_katfile_add(&k, end, strlen(end));
	rc = fm_katfile_end(&k, hex, &bytes);
	must(rc != FM_OK || bytes == size + strlen(end));
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char whole[65], cut[65], more[65];

	if (size == 0 || size > CAP || fm_crypto_init() != FM_OK)
		return 0;
	must(digest(data, size, size, "", whole) == FM_OK);
	must(digest(data, size, 1 + data[0] % 13, "", cut) == FM_OK);
	must(digest(data, size, size, " \t\r\n \n", more) == FM_OK);
	must(strcmp(whole, cut) == 0 && strcmp(whole, more) == 0);
	return 0;
}
