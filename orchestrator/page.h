/* page.h: building blocks of Markdown pages. Errors stick: the first one is returned by
 * fm_page_end, later calls do nothing.
 *
 * Everything that came from a host or a file goes through fm_page_text, fm_page_code or
 * fm_page_plain; format strings are ours. */
#ifndef FM_PAGE_H
#define FM_PAGE_H

#include "protocol/buf.h"

#define FM_PAGE_MAX (64u << 20) /* bytes of one page */

struct fm_page {
	struct fm_buf md;
	int error;
	struct fm_page_chart { /* a picture of the HTML page; in Markdown there is a link at its
		                  place */
		size_t at;     /* offset of that line in md */
		struct fm_buf svg;
	} * charts;
	size_t chart_count;
};
void fm_page_start(struct fm_page *p);
void fm_page_free(struct fm_page *p);
FM_CHECK int fm_page_end(struct fm_page *p); /* the first error */

void fm_page(struct fm_page *p, const char *format, ...) FM_PRINTF(2, 3); /* our own Markdown */
/* Foreign text as text: control bytes as \xNN, Markdown's own characters behind a backslash. */
void fm_page_text(struct fm_page *p, const char *text);
/* Foreign text between back-ticks; what cannot stand there goes through fm_page_text. */
void fm_page_code(struct fm_page *p, const char *text);
/* Foreign text as it is (published layout); a control character in it is FM_ERR_FORM naming what.
 */
void fm_page_plain(struct fm_page *p, const char *what, const char *text);

/* before, then [title](address) if the address is a plain http(s) one, else its text; nothing for
 * NULL or "". */
void fm_page_link(struct fm_page *p, const char *before, const char *title, const char *address);

/* Tables: head and rule; then per row begin, cells, end. An empty cell prints as the published
 * pages have it. */
void fm_page_table(struct fm_page *p, const char *const *heads, size_t count);
void fm_page_row(struct fm_page *p);
void fm_page_cell(struct fm_page *p, const char *format, ...) FM_PRINTF(2, 3);
void fm_page_cell_code(struct fm_page *p, const char *text);
void fm_page_cell_text(struct fm_page *p, const char *text);
void fm_page_row_end(struct fm_page *p);

/* Moves svg into the page; in Markdown it becomes a link to file.html (its own HTML page) named by
 * title. */
void fm_page_chart(struct fm_page *p, const char *file, const char *title, struct fm_buf *svg);

#endif
