/* html_parts.h: what the makers of an HTML page share; for html*.c only. */
#ifndef FM_HTML_PARTS_H
#define FM_HTML_PARTS_H

#include "orchestrator/html.h"

/* A page being written; the first error sticks. */
struct html {
	struct fm_buf *out;
	int error;
};
void fm_html_say(struct html *h, const char *text); /* our own HTML */
/* The Markdown of one line between s and end: spans, links, escaped text. */
void fm_html_inline(struct html *h, const char *s, const char *end);

/* Where the closing mark of a span stands, NULL if there is none. */
const char *fm_html_closing(const char *s, const char *end, char mark);
const char *fm_html_line_end(const char *s);    /* its LF or NUL */
const char *fm_html_next_line(const char *end); /* behind it */

/* html_table.c: the table that begins at s; returns what is behind it. */
const char *fm_html_table(struct html *h, const char *s);

#endif
