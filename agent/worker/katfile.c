/* katfile.c: the text of a known-answer file, streamed record by record into its canonical SHA-256.
 */
#include "agent/worker/katfile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void fm_katfile_start(struct fm_katfile *k)
{
	memset(k, 0, sizeof *k);
	k->blanks = FM_BUF_INIT(FM_KATFILE_BLANKS_MAX);
	fm_sha256_start(&k->hash);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Hashes what is certainly inside a line: the blanks kept so far, then these bytes. */
static void hash_inner(struct fm_katfile *k, const char *text, size_t len)
{
	if (k->blanks.len > 0)
		fm_sha256_add(&k->hash, k->blanks.data, k->blanks.len);
	k->blanks.len = 0;
	fm_sha256_add(&k->hash, text, len);
	k->line = true;
}

static void end_line(struct fm_katfile *k)
{
	if (k->line)
		fm_sha256_add(&k->hash, "\n", 1);
	k->line = false;
	k->blanks.len = 0;
}

void fm_katfile_add(struct fm_katfile *k, const void *text, size_t len)
{
	const char *p = text, *end = p + len;

	k->bytes += len;
	while (p < end && k->rc == FM_OK) {
		const char *start = p;

		if (*p == '\n') {
			end_line(k);
			p++;
		} else if (is_blank(*p)) {
			while (p < end && is_blank(*p))
				p++;
			k->rc = fm_buf_put(&k->blanks, start, (size_t)(p - start));
		} else {
			while (p < end && *p != '\n' && !is_blank(*p))
				p++;
			hash_inner(k, start, (size_t)(p - start));
		}
	}
}

static void add_key(struct fm_katfile *k, const char *key)
{
	fm_katfile_add(k, key, strlen(key));
	fm_katfile_add(k, " = ", 3);
}

void fm_katfile_number(struct fm_katfile *k, const char *key, uint64_t value)
{
	char text[24];
	int len = snprintf(text, sizeof text, "%" PRIu64 "\n", value);

	add_key(k, key);
	fm_katfile_add(k, text, (size_t)len);
}

void fm_katfile_hex(struct fm_katfile *k, const char *key, const unsigned char *bytes, size_t len)
{
	static const char digits[] = "0123456789ABCDEF";
	char text[512];
	size_t used = 0;

	add_key(k, key);
	for (size_t i = 0; i < len; i++) {
		text[used++] = digits[bytes[i] >> 4];
		text[used++] = digits[bytes[i] & 15];
		if (used == sizeof text) {
			fm_katfile_add(k, text, used);
			used = 0;
		}
	}
	fm_katfile_add(k, text, used);
	fm_katfile_add(k, "\n", 1);
}

void fm_katfile_gap(struct fm_katfile *k)
{
	fm_katfile_add(k, "\n", 1);
}

int fm_katfile_end(struct fm_katfile *k, char hex[65], uint64_t *bytes)
{
	int rc = k->rc;

	end_line(k);
	fm_sha256_end(&k->hash, hex);
	if (bytes != NULL)
		*bytes = k->bytes;
	if (rc != FM_OK)
		hex[0] = '\0';
	fm_buf_free(&k->blanks);
	return rc;
}
