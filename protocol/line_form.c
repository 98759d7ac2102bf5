/* line_form.c: parses and writes one line of journal, spool or progress. */
#include "protocol/line_form.h"
#include "protocol/digest.h"
#include "protocol/lines.h"
#include <string.h>

#define CHECK_DIGITS 8

static bool raw_ok(unsigned char c)
{
	return c >= 0x21 && c <= 0x7e && c != '%' && c != '=';
}

/* [a-z_]+ of at most 31 bytes. */
static bool kind_ok(const char *kind)
{
	size_t n = strspn(kind, "abcdefghijklmnopqrstuvwxyz_");

	return n > 0 && n < sizeof((struct fm_line *)0)->kind && kind[n] == '\0';
}

/* [a-z][a-z0-9_]* */
static bool key_ok(const char *key)
{
	return key[0] >= 'a' && key[0] <= 'z' &&
	       key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes a value in place; only what must be encoded may be. */
static bool decode(char *value)
{
	char *to = value;

	for (const char *from = value; *from != '\0'; from++) {
		int high, low;

		if (*from != '%') {
			if (!raw_ok((unsigned char)*from))
				return false;
			*to++ = *from;
			continue;
		}
		high = hex_digit(from[1]);
		low = high < 0 ? -1 : hex_digit(from[2]);
		if (low < 0 || high + low == 0 || raw_ok((unsigned char)(high << 4 | low)))
			return false;
		*to++ = (char)(high << 4 | low);
		from += 2;
	}
	*to = '\0';
	return true;
}

static void check_of(const char *bytes, size_t len, char out[CHECK_DIGITS + 1])
{
	char hex[65];

	fm_sha256_hex(bytes, len, hex);
	memcpy(out, hex, CHECK_DIGITS);
	out[CHECK_DIGITS] = '\0';
}

/* Takes the word at *at (terminating it) and moves on behind its space. */
static char *next_word(char **at)
{
	char *word = *at, *space = strchr(word, ' ');

	if (space == NULL)
		return NULL;
	*space = '\0';
	*at = space + 1;
	return word;
}

/* One key=value; no key twice. */
static bool take_field(struct fm_line *l, char *word)
{
	char *value = strchr(word, '=');

	if (value == NULL || l->count == FM_LINE_FIELDS)
		return false;
	*value++ = '\0';
	if (!key_ok(word) || fm_line_get(l, word) != NULL || !decode(value))
		return false;
	l->field[l->count].key = word;
	l->field[l->count++].value = value;
	return true;
}

/* What is wrong with the line in l->text, NULL if nothing is. */
static const char *parse_text(struct fm_line *l, size_t len)
{
	char check[CHECK_DIGITS + 1], *at = l->text, *word;

	if (len < CHECK_DIGITS + 1 || l->text[len - CHECK_DIGITS - 1] != ' ')
		return "no check value";
	check_of(l->text, len - CHECK_DIGITS, check);
	if (memcmp(check, l->text + len - CHECK_DIGITS, CHECK_DIGITS) != 0)
		return "a check value that does not fit";
	l->text[len - CHECK_DIGITS] = '\0'; /* what is left: words, each with a space behind it */
	if ((word = next_word(&at)) == NULL || fm_parse_u64(word, UINT64_MAX, &l->seq) != FM_OK ||
	        l->seq == 0)
		return "no sequence number";
	if ((word = next_word(&at)) == NULL || !kind_ok(word))
		return "no kind";
	memcpy(l->kind, word, strlen(word) + 1);
	while (*at != '\0')
		if ((word = next_word(&at)) == NULL || !take_field(l, word))
			return "a field that is no key=value of its own";
	return NULL;
}

int fm_line_parse(const char *bytes, size_t len, struct fm_line *out)
{
	const char *fault;
	char shown[80];

	out->count = 0;
	out->seq = 0;
	out->kind[0] = '\0';
	if (len >= FM_LINE_MAX)
		fault = "more than 4096 bytes";
	else if (memchr(bytes, '\0', len) != NULL)
		fault = "a NUL byte";
	else {
		memcpy(out->text, bytes, len);
		out->text[len] = '\0';
		fault = parse_text(out, len);
	}
	if (fault == NULL)
		return FM_OK;
	return fm_fail(
	        FM_ERR_FORM, "line '%s' has %s", fm_escape(bytes, len, shown, sizeof shown), fault);
}

const char *fm_line_get(const struct fm_line *l, const char *key)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->field[i].key, key) == 0)
			return l->field[i].value;
	return NULL;
}

uint64_t fm_line_u64(const struct fm_line *l, const char *key, uint64_t otherwise)
{
	const char *text = fm_line_get(l, key);
	uint64_t value;

	if (text == NULL || fm_parse_u64(text, UINT64_MAX, &value) != FM_OK)
		return otherwise;
	return value;
}

static int put_value(struct fm_buf *b, const char *value)
{
	int rc = FM_OK;

	for (const unsigned char *p = (const unsigned char *)value; *p != '\0' && rc == FM_OK; p++)
		rc = raw_ok(*p) ? fm_buf_put(b, p, 1) : fm_buf_printf(b, "%%%02X", *p);
	return rc;
}

int fm_line_vformat(struct fm_buf *out, uint64_t seq, const char *kind, va_list args)
{
	struct fm_buf b = FM_BUF_INIT(FM_LINE_MAX);
	char check[CHECK_DIGITS + 1];
	struct fm_line again;
	const char *key, *value;
	int rc;

	rc = fm_buf_printf(&b, "%llu %s ", (unsigned long long)seq, kind);
	while (rc == FM_OK && (key = va_arg(args, const char *)) != NULL) {
		if ((value = va_arg(args, const char *)) == NULL)
			rc = fm_fail(FM_ERR_INTERNAL, "line %s: key %s without value", kind, key);
		else if ((rc = fm_buf_printf(&b, "%s=", key)) == FM_OK &&
		         (rc = put_value(&b, value)) == FM_OK)
			rc = fm_buf_puts(&b, " ");
	}
	if (rc == FM_OK) {
		check_of(b.data, b.len, check);
		rc = fm_buf_puts(&b, check);
	}
	/* What the parser would refuse is not written: one place knows the grammar. */
	if (rc == FM_OK && (rc = fm_line_parse(b.data, b.len, &again)) == FM_OK &&
	        (rc = fm_buf_puts(&b, "\n")) == FM_OK)
		rc = fm_buf_put(out, b.data, b.len);
	fm_buf_free(&b);
	return rc;
}

int fm_line_format(struct fm_buf *out, uint64_t seq, const char *kind, ...)
{
	va_list args;
	int rc;

	va_start(args, kind);
	rc = fm_line_vformat(out, seq, kind, args);
	va_end(args);
	return rc;
}
