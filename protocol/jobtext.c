/* jobtext.c: reads and writes job text; everything is checked before the first key is taken. */
#include "protocol/jobtext.h"
#include "protocol/path.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "fleetmark-"
#define LAST "end"

/* Length of the key at p, 0 if there is none: [a-z][a-z0-9_]*. */
static size_t key_length(const char *p)
{
	size_t n = 0;

	while ((p[n] >= 'a' && p[n] <= 'z') ||
	        (n > 0 && ((p[n] >= '0' && p[n] <= '9') || p[n] == '_')))
		n++;
	return n;
}

/* NULL if the value is fine, else what is wrong with it. */
static const char *value_fault(const char *value, size_t len)
{
	if (len == 0)
		return "an empty value";
	if (len > FM_VALUE_MAX)
		return "a value of more than 1000 bytes";
	if (value[0] == ' ' || value[len - 1] == ' ')
		return "a value with a space outside";
	for (size_t i = 0; i < len; i++)
		if (value[i] < 0x20 || value[i] > 0x7e)
			return "a byte that is not printable ASCII";
	return NULL;
}

/* Splits the terminated line into key and value, each terminated. */
static int split_line(const struct fm_text *t, unsigned line, char *text, size_t len)
{
	size_t key = key_length(text);
	const char *fault;
	char shown[80];

	if (key == 0 || text[key] != ' ')
		return fm_fail(FM_ERR_FORM,
		        "%s line %u: read '%s', expected a key, a space and a value", t->kind, line,
		        fm_escape(text, len, shown, sizeof shown));
	text[key] = '\0';
	if (strcmp(text, LAST) == 0)
		return fm_fail(FM_ERR_FORM, "%s line %u: 'end' has no value", t->kind, line);
	fault = value_fault(text + key + 1, len - key - 1);
	if (fault != NULL)
		return fm_fail(
		        FM_ERR_FORM, "%s line %u: key '%.60s' has %s", t->kind, line, text, fault);
	return FM_OK;
}

/* The first line, which says kind and version. */
static int check_head(const struct fm_text *t, const char *line, size_t len)
{
	size_t kind = strlen(t->kind), head = strlen(HEAD);
	char shown[80];

	if (len == head + kind + 2 && memcmp(line, HEAD, head) == 0 &&
	        memcmp(line + head, t->kind, kind) == 0 && memcmp(line + head + kind, " 1", 2) == 0)
		return FM_OK;
	return fm_fail(FM_ERR_FORM, "%s line 1: read '%s', expected '" HEAD "%s 1'", t->kind,
	        fm_escape(line, len, shown, sizeof shown), t->kind);
}

/* Checks and splits all lines of t->copy. */
static int check_all(struct fm_text *t, size_t len)
{
	char *at = t->copy, *stop = t->copy + len;
	unsigned line = 0;
	int rc;

	while (at < stop) {
		char *lf = memchr(at, '\n', (size_t)(stop - at));

		line++;
		if (lf == NULL)
			return fm_fail(FM_ERR_FORM, "%s line %u: is cut off, expected a line end",
			        t->kind, line);
		*lf = '\0';
		if (line == 1) {
			if ((rc = check_head(t, at, (size_t)(lf - at))) != FM_OK)
				return rc;
			t->next = lf + 1;
		} else if (strcmp(at, LAST) == 0 && (size_t)(lf - at) == strlen(LAST)) {
			if (lf + 1 != stop)
				return fm_fail(FM_ERR_FORM, "%s line %u: text after 'end'", t->kind,
				        line + 1);
			return FM_OK;
		} else if ((rc = split_line(t, line, at, (size_t)(lf - at))) != FM_OK)
			return rc;
		at = lf + 1;
	}
	return fm_fail(FM_ERR_FORM, "%s line %u: expected more lines, the last one 'end'", t->kind,
	        line + 1);
}

int fm_text_open(struct fm_text *t, const char *kind, const char *bytes, size_t len)
{
	int rc;

	memset(t, 0, sizeof *t);
	if (len > FM_TEXT_MAX)
		return fm_fail(
		        FM_ERR_SIZE, "%s: has %zu bytes, allowed are %u", kind, len, FM_TEXT_MAX);
	if ((t->copy = fm_alloc(len + 1)) == NULL)
		return FM_ERR_MEMORY;
	if (len > 0)
		memcpy(t->copy, bytes, len);
	t->kind = kind;
	t->line = 1;
	if ((rc = check_all(t, len)) != FM_OK)
		fm_text_free(t);
	return rc;
}

void fm_text_free(struct fm_text *t)
{
	free(t->copy);
	memset(t, 0, sizeof *t);
}

static bool at_end(const struct fm_text *t)
{
	return t->next == NULL || strcmp(t->next, LAST) == 0;
}

bool fm_text_maybe(struct fm_text *t, const char *key, const char **value)
{
	if (at_end(t) || strcmp(t->next, key) != 0)
		return false;
	t->key = t->next;
	t->value = t->key + strlen(t->key) + 1;
	t->next += strlen(t->key) + 1 + strlen(t->value) + 1;
	t->line++;
	if (value != NULL)
		*value = t->value;
	return true;
}

int fm_text_take(struct fm_text *t, const char *key, const char **value)
{
	if (fm_text_maybe(t, key, value))
		return FM_OK;
	return fm_fail(FM_ERR_FORM, "%s line %u: read '%.60s', expected '%s'",
	        t->kind != NULL ? t->kind : "text", t->line + 1, at_end(t) ? LAST : t->next, key);
}

/* Puts kind, line and key in front of the error of a value. */
static int wrap_value(const struct fm_text *t, int rc)
{
	if (rc != FM_OK)
		fm_wrap(rc, "%s line %u: %s", t->kind, t->line, t->key);
	return rc;
}

int fm_text_take_u64(struct fm_text *t, const char *key, uint64_t max, uint64_t *value)
{
	const char *text = NULL;
	int rc = fm_text_take(t, key, &text);

	return rc != FM_OK ? rc : wrap_value(t, fm_parse_u64(text, max, value));
}

int fm_text_take_i64(struct fm_text *t, const char *key, int64_t *value)
{
	const char *text = NULL;
	uint64_t magnitude;
	bool minus;
	int rc = fm_text_take(t, key, &text);

	if (rc != FM_OK)
		return rc;
	minus = text[0] == '-';
	if ((rc = fm_parse_u64(text + minus, INT64_MAX, &magnitude)) != FM_OK)
		return wrap_value(t, rc);
	if (minus && magnitude == 0)
		return fm_fail(FM_ERR_FORM, "%s line %u: %s: read '-0', expected '0'", t->kind,
		        t->line, key);
	*value = minus ? -(int64_t)magnitude : (int64_t)magnitude;
	return FM_OK;
}

int fm_text_take_hex(struct fm_text *t, const char *key, char hex[65])
{
	const char *text = NULL;
	int rc = fm_text_take(t, key, &text);

	if (rc != FM_OK)
		return rc;
	if (!fm_hex64_ok(text))
		return fm_fail(FM_ERR_FORM,
		        "%s line %u: %s: read '%.80s', expected 64 lower-case hex digits", t->kind,
		        t->line, key, text);
	memcpy(hex, text, 65);
	return FM_OK;
}

int fm_text_take_name(struct fm_text *t, const char *key, char name[65])
{
	const char *text = NULL;
	int rc = fm_text_take(t, key, &text);

	if (rc != FM_OK)
		return rc;
	if (fm_name_check(key, text) != FM_OK)
		return fm_wrap(FM_ERR_FORM, "%s line %u", t->kind, t->line);
	memcpy(name, text, strlen(text) + 1);
	return FM_OK;
}

int fm_text_close(struct fm_text *t)
{
	if (at_end(t))
		return FM_OK;
	return fm_fail(FM_ERR_FORM, "%s line %u: read '%.60s', expected 'end'", t->kind,
	        t->line + 1, t->next);
}

int fm_text_begin(struct fm_buf *b, const char *kind)
{
	if (key_length(kind) != strlen(kind) || kind[0] == '\0')
		return fm_fail(FM_ERR_FORM, "kind of a job text: read '%.60s'", kind);
	return fm_buf_printf(b, HEAD "%s 1\n", kind);
}

int fm_text_put(struct fm_buf *b, const char *key, const char *format, ...)
{
	char *value = NULL;
	const char *fault;
	va_list args;
	int rc, length;

	if (key[0] == '\0' || key_length(key) != strlen(key) || strcmp(key, LAST) == 0)
		return fm_fail(FM_ERR_FORM, "key of a job text: read '%.60s'", key);
	va_start(args, format);
	length = vasprintf(&value, format, args);
	va_end(args);
	if (length < 0)
		return fm_fail(FM_ERR_MEMORY, "no memory for the value of %s", key);
	if ((fault = value_fault(value, (size_t)length)) != NULL)
		rc = fm_fail(FM_ERR_FORM, "job text: key '%s' has %s", key, fault);
	else if (b->len + strlen(key) + (size_t)length + strlen(" \n" LAST "\n") > FM_TEXT_MAX)
		rc = fm_fail(FM_ERR_SIZE, "job text: more than the %u bytes that are allowed",
		        FM_TEXT_MAX);
	else
		rc = fm_buf_printf(b, "%s %s\n", key, value);
	free(value);
	return rc;
}

int fm_text_end(struct fm_buf *b)
{
	return fm_buf_puts(b, LAST "\n");
}
