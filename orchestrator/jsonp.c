/* jsonp.c: prints JSON in the layout of the published records. */
#include "orchestrator/jsonp.h"

#include "orchestrator/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void put(struct fm_jsonp *w, const char *bytes, size_t len)
{
	if (w->error == FM_OK)
		w->error = fm_buf_put(w->out, bytes, len);
}

static void puts_(struct fm_jsonp *w, const char *text)
{
	put(w, text, strlen(text));
}

/* One code point of UTF-8 (0xfffd for a byte that is none), and how many bytes it took. */
static unsigned decode(const unsigned char *s, size_t *used)
{
	unsigned length = s[0] < 0x80   ? 1
	                  : s[0] < 0xc2 ? 0
	                  : s[0] < 0xe0 ? 2
	                  : s[0] < 0xf0 ? 3
	                  : s[0] < 0xf5 ? 4
	                                : 0;
	unsigned c = length < 2 ? s[0] : s[0] & (0xffu >> (length + 1));

	*used = 1;
	if (length == 0)
		return 0xfffd;
	for (unsigned i = 1; i < length; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0xfffd;
		c = c << 6 | (s[i] & 0x3fu);
	}
	*used = length;
	return c;
}

/* Bytes that stand for themselves at the beginning of s. */
static size_t plain_run(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x80 && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

static void put_string(struct fm_jsonp *w, const char *text)
{
	static const char special[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const unsigned char *s = (const unsigned char *)text;
	char escape[16];
	size_t used;

	puts_(w, "\"");
	while (*s != '\0') {
		if ((used = plain_run(s)) > 0) {
			put(w, (const char *)s, used);
			s += used;
			continue;
		}
		const char *known = strchr(special, *s);
		unsigned c = decode(s, &used);
		if (known != NULL)
			snprintf(escape, sizeof escape, "\\%c", letter[known - special]);
		else if (c >= 0x10000)
			snprintf(escape, sizeof escape, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10),
			        0xdc00 + (c & 0x3ff));
		else
			snprintf(escape, sizeof escape, "\\u%04x", c);
		puts_(w, escape);
		s += used;
	}
	puts_(w, "\"");
}

static void indent(struct fm_jsonp *w)
{
	puts_(w, "\n");
	for (int i = 0; i < w->depth; i++)
		puts_(w, " ");
}

/* Comma, line, indentation and key before a value. */
static void before(struct fm_jsonp *w, const char *key)
{
	if (w->level[w->depth].used)
		puts_(w, ",");
	w->level[w->depth].used = true;
	indent(w);
	if (w->level[w->depth].array != (key == NULL) && w->error == FM_OK)
		w->error = fm_fail(
		        FM_ERR_INTERNAL, "JSON key %s out of place", key == NULL ? "missing" : key);
	if (key == NULL)
		return;
	put_string(w, key);
	puts_(w, ": ");
}

static void open(struct fm_jsonp *w, bool array)
{
	puts_(w, array ? "[" : "{");
	if (w->depth == FM_JSONP_DEPTH) {
		w->error = fm_fail(FM_ERR_INTERNAL, "JSON deeper than %d", FM_JSONP_DEPTH);
		return;
	}
	w->depth++;
	w->level[w->depth].array = array;
	w->level[w->depth].used = false;
}

void fm_jsonp_start(struct fm_jsonp *w, struct fm_buf *out)
{
	memset(w, 0, sizeof *w);
	w->out = out;
	open(w, false);
}

int fm_jsonp_end(struct fm_jsonp *w)
{
	fm_jsonp_close(w);
	puts_(w, "\n");
	if (w->error == FM_OK && w->depth != 0)
		return fm_fail(FM_ERR_INTERNAL, "JSON ended %d levels deep", w->depth);
	return w->error;
}

void fm_jsonp_object(struct fm_jsonp *w, const char *key)
{
	before(w, key);
	open(w, false);
}

void fm_jsonp_array(struct fm_jsonp *w, const char *key)
{
	before(w, key);
	open(w, true);
}

void fm_jsonp_close(struct fm_jsonp *w)
{
	bool array = w->level[w->depth].array, used = w->level[w->depth].used;

	if (w->depth == 0) {
		w->error = fm_fail(FM_ERR_INTERNAL, "JSON closed too often");
		return;
	}
	w->depth--;
	if (used)
		indent(w);
	puts_(w, array ? "]" : "}");
}

void fm_jsonp_str(struct fm_jsonp *w, const char *key, const char *text)
{
	before(w, key);
	if (text == NULL)
		puts_(w, "null");
	else
		put_string(w, text);
}

void fm_jsonp_int(struct fm_jsonp *w, const char *key, int64_t value)
{
	before(w, key);
	puts_(w, fm_n_int(value).s);
}

void fm_jsonp_double(struct fm_jsonp *w, const char *key, double value)
{
	before(w, key);
	puts_(w, isfinite(value) ? fm_n_double(value == 0 ? 0.0 : value).s : "null");
}

void fm_jsonp_bool(struct fm_jsonp *w, const char *key, bool value)
{
	before(w, key);
	puts_(w, value ? "true" : "false");
}

void fm_jsonp_null(struct fm_jsonp *w, const char *key)
{
	before(w, key);
	puts_(w, "null");
}
