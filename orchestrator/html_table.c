/* html_table.c: tables of a page: heads with scope, columns of figures to the right, long cells
 * broken.
 */
#include "orchestrator/html_parts.h"

#include <string.h>

/* The end of the cell that begins at s: a bar that is neither escaped nor in code. */
static const char *cell_end(const char *s, const char *end)
{
	bool code = false;

	for (; s < end && (*s != '|' || code); s++) {
		if (*s == '\\' && !code && s + 1 < end)
			s++;
		else if (*s == '`')
			code = !code;
	}
	return s;
}

/* Is it a column of figures? Judged by the cell: a digit, sign or dash first. */
static bool is_number(const char *s, const char *end)
{
	while (s < end && *s == '*')
		s++;
	if (s >= end)
		return false;
	return (*s >= '0' && *s <= '9') || strncmp(s, "\xe2\x88\x92", 3) == 0 || *s == '+' ||
	       strncmp(s, "\xc2\xb1", 2) == 0 ||
	       (strncmp(s, "\xe2\x80\x93", 3) == 0 && end - s == 3);
}

/* Characters that a reader sees of a cell: addresses of links are not among them. */
static size_t visible(const char *s, const char *end)
{
	size_t n = 0;

	for (; s < end; s++) {
		const char *stop = s[0] == ']' && s + 1 < end && s[1] == '('
		                           ? fm_html_closing(s, end, ')')
		                           : NULL;
		if (stop != NULL)
			s = stop;
		else
			n += ((unsigned char)*s & 0xc0) != 0x80 && *s != '\\';
	}
	return n;
}

#define MOST_COLUMNS 64
#define LONG_CELL    46 /* characters from which a cell may be broken */

static void table_row(
        struct html *h, const char *s, const char *end, bool head, const bool *numeric)
{
	fm_html_say(h, "<tr>");
	s++;
	for (size_t column = 0; s < end; column++) {
		const char *stop = cell_end(s, end), *from = s, *to = stop;
		bool n = column < MOST_COLUMNS && numeric[column];
		while (from < to && *from == ' ')
			from++;
		while (to > from && to[-1] == ' ')
			to--;
		fm_html_say(h, head ? n ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">"
		               : column == 0                   ? "<th scope=\"row\">"
		               : n                             ? "<td class=\"n\">"
		               : visible(from, to) > LONG_CELL ? "<td class=\"wrap\">"
		                                               : "<td>");
		fm_html_inline(h, from, to);
		fm_html_say(h, head || column == 0 ? "</th>" : "</td>");
		s = stop + 1;
	}
	fm_html_say(h, "</tr>\n");
}

/* A column is one of figures when most of its cells begin like one. */
static void judge_columns(const char *s, bool *numeric)
{
	size_t yes[MOST_COLUMNS] = {0}, no[MOST_COLUMNS] = {0};

	while (*s == '|') {
		const char *end = fm_html_line_end(s), *cell = s + 1;
		for (size_t column = 0; cell < end && column < MOST_COLUMNS; column++) {
			const char *stop = cell_end(cell, end), *from = cell;
			while (from < stop && *from == ' ')
				from++;
			const char *to = stop;
			while (to > from && to[-1] == ' ')
				to--;
			if (from < to)
				++*(is_number(from, to) ? &yes[column] : &no[column]);
			cell = stop + 1;
		}
		s = fm_html_next_line(end);
	}
	for (size_t i = 0; i < MOST_COLUMNS; i++)
		numeric[i] = i > 0 && yes[i] > 2 * no[i];
}

static size_t columns_of(const char *s, const char *end)
{
	size_t n = 0;

	for (s++; s < end; s = cell_end(s, end) + 1)
		n++;
	return n;
}

const char *fm_html_table(struct html *h, const char *s)
{
	const char *end = fm_html_line_end(s),
	           *body = fm_html_next_line(fm_html_line_end(fm_html_next_line(end)));
	bool numeric[MOST_COLUMNS];

	judge_columns(body, numeric);
	fm_html_say(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\">");
	fm_html_say(h, columns_of(s, end) == 2 ? "<table class=\"pair\">\n<thead>\n"
	                                       : "<table>\n<thead>\n");
	table_row(h, s, end, true, numeric);
	fm_html_say(h, "</thead>\n<tbody>\n");
	for (s = body; *s == '|'; s = fm_html_next_line(end)) {
		end = fm_html_line_end(s);
		table_row(h, s, end, false, numeric);
	}
	fm_html_say(h, "</tbody>\n</table></div>\n");
	return s;
}
