/* keyblob.c: base64 both ways, for keys only. */
#include "orchestrator/keyblob.h"
#include "protocol/digest.h"
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int fm_keyblob_decode(const char *text, struct fm_buf *out)
{
	uint32_t bits = 0;
	int have = 0, rc = FM_OK;

	for (; rc == FM_OK && *text != '\0'; text++) {
		const char *at = strchr(digits, *text);

		if (at == NULL)
			break;
		bits = (bits << 6 | (uint32_t)(at - digits)) & 0xffffff;
		have += 6;
		if (have >= 8) {
			char byte = (char)(bits >> (have - 8) & 0xff);

			have -= 8;
			rc = fm_buf_put(out, &byte, 1);
		}
	}
	return rc;
}

void fm_keyblob_print(const struct fm_buf *blob, char out[51])
{
	unsigned char hash[33] = {0};
	char hex[65];
	size_t n = 7;

	fm_sha256_hex(blob->len > 0 ? blob->data : "", blob->len, hex);
	memcpy(out, "SHA256:", 8);
	if (fm_unhex(hex, hash, 32) != FM_OK)
		return;
	for (size_t i = 0; i < 33; i += 3) {
		uint32_t three = (uint32_t)hash[i] << 16 |
		                 (uint32_t)(i + 1 < 33 ? hash[i + 1] : 0) << 8 |
		                 (i + 2 < 33 ? hash[i + 2] : 0);

		for (int k = 18; k >= 0 && n < 50; k -= 6)
			out[n++] = digits[three >> k & 63];
	}
	out[n] = '\0';
}
