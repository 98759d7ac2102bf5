/* html.c: turns the Markdown that page.c writes into one static, accessible HTML file with inline
 * style. */
#include "orchestrator/html_parts.h"

#include <stdio.h>
#include <string.h>

static void put(struct html *h, const char *bytes, size_t len)
{
	if (h->error == FM_OK)
		h->error = fm_buf_put(h->out, bytes, len);
}

void fm_html_say(struct html *h, const char *text)
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
		fm_html_say(h, "&lt;");
		break;
	case '>':
		fm_html_say(h, "&gt;");
		break;
	case '&':
		fm_html_say(h, "&amp;");
		break;
	case '"':
		fm_html_say(h, "&quot;");
		break;
	case '\'':
		fm_html_say(h, "&#39;");
		break;
	default:
		if (c < 0x20 && c != '\n' && c != '\t')
			fm_html_say(h, "\xef\xbf\xbd");
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
const char *fm_html_closing(const char *s, const char *end, char mark)
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
			fm_html_say(h, "\xc2\xa0");
			n++;
		}
	}
}

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
	const char *close = fm_html_closing(s + 1, end, ']'), *stop;
	size_t n;

	if (close == NULL || close + 1 >= end || close[1] != '(' ||
	        (stop = fm_html_closing(close + 2, end, ')')) == NULL)
		return s;
	n = (size_t)(stop - close) - 2;
	if (!scheme_ok(close + 2, n))
		return s;
	fm_html_say(h, "<a href=\"");
	if (n > 3 && memchr(close + 2, ':', n) == NULL && strncmp(stop - 3, ".md", 3) == 0) {
		escaped(h, close + 2, n - 3);
		fm_html_say(h, ".html");
	} else {
		escaped(h, close + 2, n);
	}
	fm_html_say(h, "\">");
	fm_html_inline(h, s + 1, close);
	fm_html_say(h, "</a>");
	return stop + 1;
}

static const char *span(struct html *h, const char *s, const char *end)
{
	const char *close, *next;

	if (*s == '`' && (close = fm_html_closing(s + 1, end, '`')) != NULL) {
		fm_html_say(h, "<code>");
		escaped(h, s + 1, (size_t)(close - s) - 1);
		fm_html_say(h, "</code>");
		return close + 1;
	}
	if (*s == '[' && (next = link_text(h, s, end)) != s)
		return next;
	if (*s == '*' && s + 1 < end && s[1] == '*') {
		for (close = s + 2; close + 1 < end && !(close[0] == '*' && close[1] == '*');
		        close++)
			;
		if (close + 1 < end) {
			fm_html_say(h, "<strong>");
			fm_html_inline(h, s + 2, close);
			fm_html_say(h, "</strong>");
			return close + 2;
		}
	}
	put_char(h, (unsigned char)*s);
	return s + 1;
}

void fm_html_inline(struct html *h, const char *s, const char *end)
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

const char *fm_html_line_end(const char *s)
{
	const char *e = strchr(s, '\n');
	return e == NULL ? s + strlen(s) : e;
}

const char *fm_html_next_line(const char *end)
{
	return *end == '\0' ? end : end + 1;
}

static const char *list(struct html *h, const char *s)
{
	fm_html_say(h, "<ul>\n");
	for (; s[0] == '-' && s[1] == ' '; s = fm_html_next_line(fm_html_line_end(s))) {
		fm_html_say(h, "<li>");
		fm_html_inline(h, s + 2, fm_html_line_end(s));
		fm_html_say(h, "</li>\n");
	}
	fm_html_say(h, "</ul>\n");
	return s;
}

static const char *fence(struct html *h, const char *s)
{
	fm_html_say(h, "<pre tabindex=\"0\"><code>");
	for (s = fm_html_next_line(fm_html_line_end(s)); *s != '\0' && strncmp(s, "```", 3) != 0;
	        s = fm_html_next_line(fm_html_line_end(s))) {
		escaped(h, s, (size_t)(fm_html_line_end(s) - s));
		fm_html_say(h, "\n");
	}
	fm_html_say(h, "</code></pre>\n");
	return fm_html_next_line(fm_html_line_end(s));
}

static const char *heading(struct html *h, const char *s)
{
	size_t level = strspn(s, "#");
	char tag[] = "<h1>", end[] = "</h1>\n";

	tag[2] = end[3] = (char)('0' + (level > 6 ? 6 : level));
	fm_html_say(h, tag);
	fm_html_inline(h, s + level + 1, fm_html_line_end(s));
	fm_html_say(h, end);
	return fm_html_next_line(fm_html_line_end(s));
}

/* One block; offset is where it stands in the page, for charts. */
static const char *block(struct html *h, const struct fm_page *p, const char *s)
{
	size_t offset = (size_t)(s - p->md.data);

	for (size_t i = 0; i < p->chart_count; i++)
		if (p->charts[i].at == offset) {
			char id[80];
			snprintf(id, sizeof id, "<figure id=\"chart-%zu\">\n<figcaption>", i + 1);
			fm_html_say(h, id);
			const char *title = s + strlen("[Chart: "),
			           *stop = fm_html_closing(title, fm_html_line_end(s), ']');
			fm_html_inline(h, title, stop == NULL ? fm_html_line_end(s) : stop);
			fm_html_say(h, "</figcaption>\n");
			put(h, p->charts[i].svg.data, p->charts[i].svg.len);
			fm_html_say(h, "</figure>\n");
			return fm_html_next_line(fm_html_line_end(s));
		}
	if (*s == '#')
		return heading(h, s);
	if (*s == '|')
		return fm_html_table(h, s);
	if (s[0] == '-' && s[1] == ' ')
		return list(h, s);
	if (strncmp(s, "```", 3) == 0)
		return fence(h, s);
	if (s[0] == '>' && s[1] == ' ') {
		fm_html_say(h, "<p class=\"warn\">");
		fm_html_inline(h, s + 2, fm_html_line_end(s));
	} else {
		fm_html_say(h, "<p>");
		fm_html_inline(h, s, fm_html_line_end(s));
	}
	fm_html_say(h, "</p>\n");
	return fm_html_next_line(fm_html_line_end(s));
}

int fm_html(const struct fm_page *p, const char *title, bool smoke, struct fm_buf *out)
{
	struct html h = {out, FM_OK};
	const char *s = p->md.data == NULL ? "" : p->md.data;

	fm_html_say(&h, fm_html_head);
	escaped(&h, title, strlen(title));
	fm_html_say(&h, "</title>\n<style>\n");
	fm_html_say(&h, fm_html_style);
	if (smoke)
		fm_html_say(&h, "@media print{body::before{content:\"not for "
		                "publication\";position:fixed;top:0;right:0;font-weight:700}}\n");
	fm_html_say(&h, "</style>\n</head>\n<body>\n<main>\n");
	while (*s != '\0')
		s = *s == '\n' ? s + 1 : block(&h, p, s);
	fm_html_say(&h, "</main>\n</body>\n</html>\n");
	return h.error;
}
