/* html.h: turns the Markdown that page.c writes into one HTML file: no script, nothing loaded. */
#ifndef FM_HTML_H
#define FM_HTML_H

#include "orchestrator/page.h"

/* title may be any text; links to other .md pages become .html. smoke prints "not for publication"
 * on every printed page. */
FM_CHECK int fm_html(const struct fm_page *p, const char *title, bool smoke, struct fm_buf *out);

/* Begins every page, up to its title; the style sheet. For html.c. */
extern const char fm_html_head[], fm_html_style[];

/* text with <, >, &, " and ' escaped, control characters as U+FFFD. */
FM_CHECK int fm_html_text(struct fm_buf *out, const char *text, size_t len);

#endif
