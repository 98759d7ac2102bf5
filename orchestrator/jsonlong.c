/* jsonlong.c: reads a document of the fixed form with one long array, line by line: the form gives
 * every value its own lines, and no string holds a line end. */
#include "orchestrator/jsonlong.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE       65536
#define ELEMENT_MAX (1u << 20) /* bytes of one element, and of one line */

/* A document being read; line: of the file, from 1, 0 where it was begun in its middle. */
struct lines {
	const struct fm_json_long *d;
	struct fm_buf window; /* bytes of the file from offset on */
	uint64_t offset;      /* of what comes next */
	size_t used, line;
	bool ended;
};

static int fill(struct lines *l)
{
	uint64_t from = l->offset + l->window.len - l->used;
	size_t size = PIECE;
	ssize_t n;
	char *room;

	fm_buf_consume(&l->window, l->used);
	l->used = 0;
	if (l->d->fd < 0) { /* of memory */
		if (from > l->d->len)
			from = l->d->len;
		size = l->d->len - from < size ? l->d->len - from : size;
		l->ended = size == 0;
		return fm_buf_put(&l->window, l->d->bytes + from, size);
	}
	if ((room = fm_buf_room(&l->window, size)) == NULL)
		return fm_fail(
		        FM_ERR_SIZE, "%s: a line of more than %u bytes", l->d->what, ELEMENT_MAX);
	do
		n = pread(l->d->fd, room, size, (off_t)from);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fm_fail_errno("%s", l->d->what);
	l->window.len += (size_t)n;
	l->ended = n == 0;
	return FM_OK;
}

/* The next line with its LF (the last may have none); len 0 at the end. Valid until the next call.
 */
static int next(struct lines *l, const char **line, size_t *len)
{
	const char *end = NULL;
	size_t seen = 0;
	int rc;

	for (;;) {
		size_t have = l->window.len - l->used;
		if (have > seen)
			end = memchr(l->window.data + l->used + seen, '\n', have - seen);
		if (end != NULL || l->ended)
			break;
		seen = have;
		if ((rc = fill(l)) != FM_OK)
			return rc;
	}
	*line = l->window.data == NULL ? "" : l->window.data + l->used;
	*len = end != NULL ? (size_t)(end - *line) + 1 : l->window.len - l->used;
	l->used += *len;
	l->offset += *len;
	l->line += *len > 0;
	return FM_OK;
}

static int not_fixed(const struct lines *l, const char *line, size_t len)
{
	char shown[80];

	return fm_fail(FM_ERR_FORM, "%s: line %zu is not in the fixed form: read '%s'", l->d->what,
	        l->line, fm_escape(line, len > 0 ? len - 1 : 0, shown, sizeof shown));
}

/* The line that ends the array, with or without a comma. */
static bool closes(const char *line, size_t len)
{
	return (len == 4 && memcmp(line, "  ]\n", 4) == 0) ||
	       (len == 5 && memcmp(line, "  ],\n", 5) == 0);
}

/* Elements stand four spaces deep; one that is an object ends at such a line which opens nothing.
 */
static bool ends_element(const char *line, size_t len)
{
	return len > 5 && memcmp(line, "    ", 4) == 0 && line[4] != ' ' && line[len - 2] != '{' &&
	       line[len - 2] != '[';
}

/* Adds the lines of one element to text, two spaces less deep and as the value of the key, the
 * comma behind it taken off: a document of its own. *len 0: the array ended instead. */
static int gather(struct lines *l, struct fm_buf *text, bool *comma)
{
	const char *line;
	size_t len;
	int rc = fm_buf_printf(text, "{\n  \"%s\": ", l->d->key);

	for (bool first = true;; first = false) {
		if (rc != FM_OK || (rc = next(l, &line, &len)) != FM_OK)
			return rc;
		if (first && closes(line, len)) {
			text->len = 0;
			return FM_OK;
		}
		if (len < 6 || line[len - 1] != '\n' || memcmp(line, "    ", 4) != 0)
			return not_fixed(l, line, len);
		if (ends_element(line, len))
			break;
		rc = fm_buf_put(text, line + (first ? 4 : 2), len - (first ? 4 : 2));
	}
	*comma = line[len - 2] == ',';
	size_t from = text->data[text->len - 1] == '\n' ? 2 : 4;
	rc = fm_buf_put(text, line + from, len - from - 1 - *comma);
	return rc == FM_OK ? fm_buf_puts(text, "\n}\n") : rc;
}

/* count elements at most. */
static int elements(struct lines *l, size_t count, fm_json_long_take *take, void *arg)
{
	struct fm_buf text = FM_BUF_INIT(ELEMENT_MAX);
	bool comma = true, before;
	int rc = FM_OK;

	for (size_t i = 0; i < count && rc == FM_OK; i++) {
		struct fm_json *json = NULL;
		uint64_t offset = l->offset;
		char what[120];

		before = comma;
		snprintf(what, sizeof what, "%.80s, line %zu", l->d->what, l->line + 1);
		text.len = 0;
		if ((rc = gather(l, &text, &comma)) != FM_OK)
			break;
		if (text.len == 0 ? before : !before) /* one comma between two, none at the end */
			rc = fm_fail(FM_ERR_FORM, "%s: line %zu is not in the fixed form: %s",
			        l->d->what, l->line, before ? "no element" : "no comma before it");
		if (rc != FM_OK || text.len == 0)
			break;
		if ((rc = fm_json_read(l->line > 0 ? what : l->d->what, text.data, text.len,
		             ELEMENT_MAX, &json)) == FM_OK)
			rc = take(arg, fm_json_first(fm_json_root(json)), offset);
		fm_json_free(json);
	}
	fm_buf_free(&text);
	return rc;
}

int fm_json_long_some(const struct fm_json_long *d, uint64_t offset, size_t count,
        fm_json_long_take *take, void *arg)
{
	struct lines l = {.d = d, .window = FM_BUF_INIT(ELEMENT_MAX + PIECE), .offset = offset};
	int rc;

	l.line = d->line > 0 && offset == d->first ? d->line - 1 : 0;
	rc = elements(&l, count, take, arg);
	fm_buf_free(&l.window);
	return rc;
}

int fm_json_long_each(const struct fm_json_long *d, fm_json_long_take *take, void *arg)
{
	return d->first == 0 ? FM_OK : fm_json_long_some(d, d->first, SIZE_MAX, take, arg);
}

/* Everything but the lines of the elements; the array is closed where it was opened. */
static int skeleton(
        struct lines *l, struct fm_json_long *d, const char *opening, struct fm_buf *out)
{
	size_t length = strlen(opening), len;
	bool inside = false;
	const char *line;
	int rc;

	for (;;) {
		if ((rc = next(l, &line, &len)) != FM_OK || len == 0)
			return rc;
		if (inside && closes(line, len)) {
			inside = false;
			rc = fm_buf_put(out, line + 2, len - 2);
		} else if (!inside && d->first == 0 && len == length &&
		           memcmp(line, opening, len) == 0) {
			inside = true;
			d->first = l->offset;
			d->line = l->line + 1;
			rc = fm_buf_put(out, line, len - 1); /* without its LF */
		} else if (!inside) {
			rc = fm_buf_put(out, line, len);
		}
		if (rc != FM_OK)
			return rc;
	}
}

int fm_json_long_open(struct fm_json_long *d, size_t max, struct fm_json **rest)
{
	struct lines l = {.d = d, .window = FM_BUF_INIT(ELEMENT_MAX + PIECE)};
	struct fm_buf text = FM_BUF_INIT(max);
	char *opening = fm_sprintf("  \"%s\": [\n", d->key);
	int rc = opening == NULL ? FM_ERR_MEMORY : FM_OK;

	*rest = NULL;
	d->first = 0;
	d->line = 0;
	if (rc == FM_OK && (rc = skeleton(&l, d, opening, &text)) == FM_OK) {
		rc = fm_json_read(d->what, text.data == NULL ? "" : text.data, text.len, max, rest);
		if (rc == FM_ERR_FORM && d->first != 0) /* lines have other numbers then */
			rc = fm_wrap(rc, "with its %s left out", d->key);
	}
	free(opening);
	fm_buf_free(&text);
	fm_buf_free(&l.window);
	return rc;
}
