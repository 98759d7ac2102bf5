/* html.c: turns the Markdown that page.c writes into one static, accessible HTML file with inline
 * style. */
#include "orchestrator/html.h"

#include <stdio.h>
#include <string.h>

struct html {
	struct fm_buf *out;
	int error;
};

static void put(struct html *h, const char *bytes, size_t len)
{
	if (h->error == FM_OK)
		h->error = fm_buf_put(h->out, bytes, len);
}

static void say(struct html *h, const char *text)
{
	put(h, text, strlen(text));
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c != '<' && c != '>' && c != '&' && c != '"' && c != '\'';
}

static void put_char(struct html *h, unsigned char c)
{
	switch (c) {
	case '<':
		say(h, "&lt;");
		break;
	case '>':
		say(h, "&gt;");
		break;
	case '&':
		say(h, "&amp;");
		break;
	case '"':
		say(h, "&quot;");
		break;
	case '\'':
		say(h, "&#39;");
		break;
	default:
		if (c < 0x20 && c != '\n' && c != '\t')
			say(h, "\xef\xbf\xbd");
		else
			put(h, (const char *)&c, 1);
	}
}

int fm_html_text(struct fm_buf *out, const char *text, size_t len)
{
	struct html h = {out, FM_OK};

	for (size_t i = 0, n; i < len; i += n) {
		for (n = 0; i + n < len && is_plain((unsigned char)text[i + n]); n++)
			;
		if (n > 0)
			put(&h, text + i, n);
		else
			put_char(&h, (unsigned char)text[i + n++]);
	}
	return h.error;
}

static void escaped(struct html *h, const char *text, size_t len)
{
	if (h->error == FM_OK)
		h->error = fm_html_text(h->out, text, len);
}

/* Where the closing mark of a span stands, NULL if there is none. Back-slashes protect outside of
 * code. */
static const char *closing(const char *s, const char *end, char mark)
{
	for (; s < end; s++) {
		if (*s == '\\' && mark != '`')
			s++;
		else if (*s == mark)
			return s;
	}
	return NULL;
}

/* Text outside of code: no line is broken before a percent sign. */
static void words(struct html *h, const char *s, size_t len)
{
	for (size_t i = 0, n; i < len; i += n) {
		for (n = 0;
		        i + n < len && !(s[i + n] == ' ' && i + n + 1 < len && s[i + n + 1] == '%');
		        n++)
			;
		escaped(h, s + i, n);
		if (i + n < len) {
			say(h, "\xc2\xa0");
			n++;
		}
	}
}

static void inline_text(struct html *h, const char *s, const char *end);

static bool scheme_ok(const char *s, size_t n)
{
	const char *colon = memchr(s, ':', n);

	return colon == NULL || (n > 7 && strncmp(s, "http://", 7) == 0) ||
	       (n > 8 && strncmp(s, "https://", 8) == 0);
}

/* [text](address); pages refer to each other as .md, which becomes .html. Returns what is behind
 * it, s if it is no link. */
static const char *link_text(struct html *h, const char *s, const char *end)
{
	const char *close = closing(s + 1, end, ']'), *stop;
	size_t n;

	if (close == NULL || close + 1 >= end || close[1] != '(' ||
	        (stop = closing(close + 2, end, ')')) == NULL)
		return s;
	n = (size_t)(stop - close) - 2;
	if (!scheme_ok(close + 2, n))
		return s;
	say(h, "<a href=\"");
	if (n > 3 && memchr(close + 2, ':', n) == NULL && strncmp(stop - 3, ".md", 3) == 0) {
		escaped(h, close + 2, n - 3);
		say(h, ".html");
	} else {
		escaped(h, close + 2, n);
	}
	say(h, "\">");
	inline_text(h, s + 1, close);
	say(h, "</a>");
	return stop + 1;
}

static const char *span(struct html *h, const char *s, const char *end)
{
	const char *close, *next;

	if (*s == '`' && (close = closing(s + 1, end, '`')) != NULL) {
		say(h, "<code>");
		escaped(h, s + 1, (size_t)(close - s) - 1);
		say(h, "</code>");
		return close + 1;
	}
	if (*s == '[' && (next = link_text(h, s, end)) != s)
		return next;
	if (*s == '*' && s + 1 < end && s[1] == '*') {
		for (close = s + 2; close + 1 < end && !(close[0] == '*' && close[1] == '*');
		        close++)
			;
		if (close + 1 < end) {
			say(h, "<strong>");
			inline_text(h, s + 2, close);
			say(h, "</strong>");
			return close + 2;
		}
	}
	put_char(h, (unsigned char)*s);
	return s + 1;
}

static void inline_text(struct html *h, const char *s, const char *end)
{
	while (s < end) {
		const char *from = s;
		while (s < end && *s != '\\' && *s != '`' && *s != '[' && *s != '*')
			s++;
		words(h, from, (size_t)(s - from));
		if (s == end)
			return;
		if (*s == '\\' && s + 1 < end) {
			put_char(h, (unsigned char)s[1]);
			s += 2;
		} else {
			s = span(h, s, end);
		}
	}
}

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
		const char *stop =
		        s[0] == ']' && s + 1 < end && s[1] == '(' ? closing(s, end, ')') : NULL;
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
	say(h, "<tr>");
	s++;
	for (size_t column = 0; s < end; column++) {
		const char *stop = cell_end(s, end), *from = s, *to = stop;
		bool n = column < MOST_COLUMNS && numeric[column];
		while (from < to && *from == ' ')
			from++;
		while (to > from && to[-1] == ' ')
			to--;
		say(h, head           ? n ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">"
		        : column == 0 ? "<th scope=\"row\">"
		        : n           ? "<td class=\"n\">"
		        : visible(from, to) > LONG_CELL ? "<td class=\"wrap\">"
		                                        : "<td>");
		inline_text(h, from, to);
		say(h, head || column == 0 ? "</th>" : "</td>");
		s = stop + 1;
	}
	say(h, "</tr>\n");
}

static const char *line_end(const char *s)
{
	const char *e = strchr(s, '\n');
	return e == NULL ? s + strlen(s) : e;
}

static const char *next_line(const char *end)
{
	return *end == '\0' ? end : end + 1;
}

/* A column is one of figures when most of its cells begin like one. */
static void judge_columns(const char *s, bool *numeric)
{
	size_t yes[MOST_COLUMNS] = {0}, no[MOST_COLUMNS] = {0};

	while (*s == '|') {
		const char *end = line_end(s), *cell = s + 1;
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
		s = next_line(end);
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

static const char *table(struct html *h, const char *s)
{
	const char *end = line_end(s), *body = next_line(line_end(next_line(end)));
	bool numeric[MOST_COLUMNS];

	judge_columns(body, numeric);
	say(h, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"table\">");
	say(h, columns_of(s, end) == 2 ? "<table class=\"pair\">\n<thead>\n"
	                               : "<table>\n<thead>\n");
	table_row(h, s, end, true, numeric);
	say(h, "</thead>\n<tbody>\n");
	for (s = body; *s == '|'; s = next_line(end)) {
		end = line_end(s);
		table_row(h, s, end, false, numeric);
	}
	say(h, "</tbody>\n</table></div>\n");
	return s;
}

static const char *list(struct html *h, const char *s)
{
	say(h, "<ul>\n");
	for (; s[0] == '-' && s[1] == ' '; s = next_line(line_end(s))) {
		say(h, "<li>");
		inline_text(h, s + 2, line_end(s));
		say(h, "</li>\n");
	}
	say(h, "</ul>\n");
	return s;
}

static const char *fence(struct html *h, const char *s)
{
	say(h, "<pre tabindex=\"0\"><code>");
	for (s = next_line(line_end(s)); *s != '\0' && strncmp(s, "```", 3) != 0;
	        s = next_line(line_end(s))) {
		escaped(h, s, (size_t)(line_end(s) - s));
		say(h, "\n");
	}
	say(h, "</code></pre>\n");
	return next_line(line_end(s));
}

static const char *heading(struct html *h, const char *s)
{
	size_t level = strspn(s, "#");
	char tag[] = "<h1>", end[] = "</h1>\n";

	tag[2] = end[3] = (char)('0' + (level > 6 ? 6 : level));
	say(h, tag);
	inline_text(h, s + level + 1, line_end(s));
	say(h, end);
	return next_line(line_end(s));
}

/* One block; offset is where it stands in the page, for charts. */
static const char *block(struct html *h, const struct fm_page *p, const char *s)
{
	size_t offset = (size_t)(s - p->md.data);

	for (size_t i = 0; i < p->chart_count; i++)
		if (p->charts[i].at == offset) {
			char id[80];
			snprintf(id, sizeof id, "<figure id=\"chart-%zu\">\n<figcaption>", i + 1);
			say(h, id);
			const char *title = s + strlen("[Chart: "),
			           *stop = closing(title, line_end(s), ']');
			inline_text(h, title, stop == NULL ? line_end(s) : stop);
			say(h, "</figcaption>\n");
			put(h, p->charts[i].svg.data, p->charts[i].svg.len);
			say(h, "</figure>\n");
			return next_line(line_end(s));
		}
	if (*s == '#')
		return heading(h, s);
	if (*s == '|')
		return table(h, s);
	if (s[0] == '-' && s[1] == ' ')
		return list(h, s);
	if (strncmp(s, "```", 3) == 0)
		return fence(h, s);
	if (s[0] == '>' && s[1] == ' ') {
		say(h, "<p class=\"warn\">");
		inline_text(h, s + 2, line_end(s));
	} else {
		say(h, "<p>");
		inline_text(h, s, line_end(s));
	}
	say(h, "</p>\n");
	return next_line(line_end(s));
}

int fm_html(const struct fm_page *p, const char *title, bool smoke, struct fm_buf *out)
{
	struct html h = {out, FM_OK};
	const char *s = p->md.data == NULL ? "" : p->md.data;

	say(&h, fm_html_head);
	escaped(&h, title, strlen(title));
	say(&h, "</title>\n<style>\n");
	say(&h, fm_html_style);
	if (smoke)
		say(&h, "@media print{body::before{content:\"not for "
		        "publication\";position:fixed;top:0;right:0;font-weight:700}}\n");
	say(&h, "</style>\n</head>\n<body>\n<main>\n");
	while (*s != '\0')
		s = *s == '\n' ? s + 1 : block(&h, p, s);
	say(&h, "</main>\n</body>\n</html>\n");
	return h.error;
}
