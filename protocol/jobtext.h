/* jobtext.h: job text, the flat form of everything the agent and the worker read (FORMATS.md
 * section 5). Fixed order, so a reader takes key after key and any other key is an error with its
 * line. */
#ifndef FM_JOBTEXT_H
#define FM_JOBTEXT_H

#include "protocol/buf.h"

#define FM_TEXT_MAX  (4u << 20) /* bytes of one text */
#define FM_VALUE_MAX 1000       /* bytes of one value */

/* Reader. Keeps pointers into its own copy; valid until fm_text_free. */
struct fm_text {
	char *copy, *next;       /* next unread line */
	const char *key, *value; /* the line taken last */
	const char *kind;
	unsigned line; /* number of the line taken last; the first line is 1 */
};

/* Checks the first line ("fleetmark-<kind> 1"), every line's grammar and the last line ("end"), all
 * before anything is taken. FM_ERR_FORM "<kind> line N: ...", FM_ERR_SIZE. On success positioned
 * before the first key. */
FM_CHECK int fm_text_open(struct fm_text *t, const char *kind, const char *bytes, size_t len);
void fm_text_free(struct fm_text *t);

/* The next line must have this key; *value points to its value. Else FM_ERR_FORM: line, what was
 * read, what was expected. */
FM_CHECK int fm_text_take(struct fm_text *t, const char *key, const char **value);
FM_CHECK int fm_text_take_u64(struct fm_text *t, const char *key, uint64_t max, uint64_t *value);
FM_CHECK int fm_text_take_i64(struct fm_text *t, const char *key, int64_t *value);
FM_CHECK int fm_text_take_hex(struct fm_text *t, const char *key, char hex[65]);
FM_CHECK int fm_text_take_name(struct fm_text *t, const char *key, char name[65]); /* name rule */

/* True, and taken, if the next line has this key: for lists and optional keys. */
bool fm_text_maybe(struct fm_text *t, const char *key, const char **value);

/* All keys were taken. */
FM_CHECK int fm_text_close(struct fm_text *t);

/* Writer: begin, put..., end. Values are checked like the reader does (FM_ERR_FORM). */
FM_CHECK int fm_text_begin(struct fm_buf *b, const char *kind);
FM_CHECK int fm_text_put(struct fm_buf *b, const char *key, const char *format, ...)
        FM_PRINTF(3, 4);
FM_CHECK int fm_text_end(struct fm_buf *b);

#endif
