/* jsonw.c: writes the fixed JSON form, and refuses what the reader would refuse. */
#include "protocol/jsonw.h"
#include <string.h>

#define TEXT_MAX 200 /* bytes of host text */

/* Remembers the first result that is no success. */
static void note(struct fm_jsonw *w, int rc)
{
	if (w->error == FM_OK)
		w->error = rc;
}

static void put(struct fm_jsonw *w, const char *text)
{
	if (w->error == FM_OK)
		note(w, fm_buf_puts(w->out, text));
}

static void put_line(struct fm_jsonw *w, int depth)
{
	put(w, "\n");
	while (depth-- > 0)
		put(w, "  ");
}

/* [a-z][a-z0-9_]*, at most 63 bytes. */
static bool key_ok(const char *key)
{
	return key[0] >= 'a' && key[0] <= 'z' && strlen(key) < 64 &&
	       key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

/* Everything in front of a value: comma, line, indent, key. False when nothing may be written. */
static bool begin_value(struct fm_jsonw *w, const char *key)
{
	if (w->error != FM_OK)
		return false;
	if (w->depth < 1) {
		note(w, fm_fail(FM_ERR_INTERNAL, "json: a value outside of the document"));
		return false;
	}
	if (w->level[w->depth].array != (key == NULL) || (key != NULL && !key_ok(key))) {
		note(w, fm_fail(FM_ERR_INTERNAL, "json: key '%.64s' cannot stand here",
		                key != NULL ? key : ""));
		return false;
	}
	if (key != NULL && strcmp(w->level[w->depth].last, key) >= 0) {
		note(w, fm_fail(FM_ERR_INTERNAL, "json: key '%s' behind '%s'", key,
		                w->level[w->depth].last));
		return false;
	}
	if (w->level[w->depth].used)
		put(w, ",");
	put_line(w, w->depth);
	w->level[w->depth].used = true;
	if (key != NULL) {
		memcpy(w->level[w->depth].last, key, strlen(key) + 1);
		put(w, "\"");
		put(w, key);
		put(w, "\": ");
	}
	return true;
}

static void open_level(struct fm_jsonw *w, bool array)
{
	if (w->depth >= FM_JSON_DEPTH) {
		note(w, fm_fail(FM_ERR_FORM, "json: deeper than %d", FM_JSON_DEPTH));
		return;
	}
	w->depth++;
	w->level[w->depth].array = array;
	w->level[w->depth].used = false;
	w->level[w->depth].last[0] = '\0';
	put(w, array ? "[" : "{");
}

void fm_jsonw_start(struct fm_jsonw *w, struct fm_buf *out)
{
	memset(w, 0, sizeof *w);
	w->out = out;
	open_level(w, false);
}

int fm_jsonw_end(struct fm_jsonw *w)
{
	if (w->error == FM_OK && w->depth != 1)
		note(w, fm_fail(FM_ERR_INTERNAL, "json: ends at depth %d", w->depth));
	fm_jsonw_close(w);
	put(w, "\n");
	return w->error;
}

void fm_jsonw_object(struct fm_jsonw *w, const char *key)
{
	if (begin_value(w, key))
		open_level(w, false);
}

void fm_jsonw_array(struct fm_jsonw *w, const char *key)
{
	if (begin_value(w, key))
		open_level(w, true);
}

void fm_jsonw_close(struct fm_jsonw *w)
{
	if (w->error != FM_OK)
		return;
	if (w->depth < 1) {
		note(w, fm_fail(FM_ERR_INTERNAL, "json: nothing is open"));
		return;
	}
	if (w->level[w->depth].used)
		put_line(w, w->depth - 1);
	put(w, w->level[w->depth].array ? "]" : "}");
	w->depth--;
}

void fm_jsonw_str(struct fm_jsonw *w, const char *key, const char *text)
{
	char shown[80];

	for (const char *p = text; w->error == FM_OK && *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e)
			note(w, fm_fail(FM_ERR_FORM, "json: '%s' of %s is not printable ASCII",
			                fm_escape(text, strlen(text), shown, sizeof shown),
			                key != NULL ? key : "an array"));
	if (!begin_value(w, key))
		return;
	put(w, "\"");
	while (*text != '\0' && w->error == FM_OK) {
		size_t plain = strcspn(text, "\"\\");

		note(w, fm_buf_put(w->out, text, plain));
		text += plain;
		if (*text != '\0')
			put(w, *text++ == '"' ? "\\\"" : "\\\\");
	}
	put(w, "\"");
}

void fm_jsonw_int(struct fm_jsonw *w, const char *key, long long value)
{
	if (value > FM_JSON_INT_MAX || value < -FM_JSON_INT_MAX)
		note(w, fm_fail(FM_ERR_FORM, "json: %s is %lld, beyond 2^53 - 1",
		                key != NULL ? key : "value", value));
	if (begin_value(w, key) && w->error == FM_OK)
		note(w, fm_buf_printf(w->out, "%lld", value));
}

void fm_jsonw_u64(struct fm_jsonw *w, const char *key, uint64_t value)
{
	if (begin_value(w, key) && w->error == FM_OK)
		note(w, fm_buf_printf(w->out, "\"%llu\"", (unsigned long long)value));
}

void fm_jsonw_text(struct fm_jsonw *w, const char *key, const char *text)
{
	char fit[TEXT_MAX + 1];
	size_t n = 0;

	for (; text[n] != '\0' && n < TEXT_MAX; n++)
		fit[n] = text[n] >= 0x20 && text[n] <= 0x7e ? text[n] : '?';
	fit[n] = '\0';
	fm_jsonw_str(w, key, fit);
}
