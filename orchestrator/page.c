/* page.c: building blocks of Markdown pages, with foreign text kept text. */
#include "orchestrator/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fm_page_start(struct fm_page *p)
{
	memset(p, 0, sizeof *p);
	p->md = FM_BUF_INIT(FM_PAGE_MAX);
}

void fm_page_free(struct fm_page *p)
{
	fm_buf_free(&p->md);
	for (size_t i = 0; i < p->chart_count; i++)
		fm_buf_free(&p->charts[i].svg);
	free(p->charts);
	p->charts = NULL;
	p->chart_count = 0;
}

int fm_page_end(struct fm_page *p)
{
	return p->error;
}

static void put(struct fm_page *p, const char *bytes, size_t len)
{
	if (p->error == FM_OK)
		p->error = fm_buf_put(&p->md, bytes, len);
}

static void FM_PRINTF(2, 0) vput(struct fm_page *p, const char *format, va_list args)
{
	va_list again;
	char small[512], *big;
	int n;

	va_copy(again, args);
	n = vsnprintf(small, sizeof small, format, args);
	if (n >= 0 && (size_t)n < sizeof small) {
		put(p, small, (size_t)n);
	} else if (n >= 0 && (big = fm_alloc((size_t)n + 1)) != NULL) {
		vsnprintf(big, (size_t)n + 1, format, again);
		put(p, big, (size_t)n);
		free(big);
	} else if (p->error == FM_OK) {
		p->error = FM_ERR_MEMORY;
	}
	va_end(again);
}

void fm_page(struct fm_page *p, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vput(p, format, args);
	va_end(args);
}

void fm_page_text(struct fm_page *p, const char *text)
{
	static const char special[] = "\\`*[]<>|&~";
	char clean[4100];

	fm_escape(text, strlen(text), clean, sizeof clean);
	for (const char *s = clean; *s != '\0';) {
		size_t n = strcspn(s, special);
		put(p, s, n);
		s += n;
		if (*s != '\0') {
			put(p, "\\", 1);
			put(p, s++, 1);
		}
	}
}

void fm_page_code(struct fm_page *p, const char *text)
{
	bool fits = *text != '\0';

	for (const unsigned char *s = (const unsigned char *)text; *s != '\0' && fits; s++)
		fits = *s >= 0x20 && *s < 0x7f && *s != '`' && *s != '|' && *s != '\\';
	if (fits)
		fm_page(p, "`%s`", text);
	else
		fm_page_text(p, text);
}

void fm_page_plain(struct fm_page *p, const char *what, const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s != '\0'; s++)
		if ((*s < 0x20 || *s == 0x7f) && p->error == FM_OK)
			p->error = fm_fail(
			        FM_ERR_FORM, "%s: has a control character (0x%02x)", what, *s);
	put(p, text, strlen(text));
}

void fm_page_link(struct fm_page *p, const char *before, const char *title, const char *address)
{
	static const char allowed[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	        "-._~:/?#@!$&+,;=%";

	if (address == NULL || *address == '\0')
		return;
	fm_page(p, "%s", before);
	if ((strncmp(address, "https://", 8) == 0 || strncmp(address, "http://", 7) == 0) &&
	        address[strspn(address, allowed)] == '\0')
		fm_page(p, "[%s](%s)", title, address);
	else
		fm_page_text(p, address);
}

void fm_page_table(struct fm_page *p, const char *const *heads, size_t count)
{
	put(p, "|", 1);
	for (size_t i = 0; i < count; i++)
		fm_page(p, " %s |", heads[i]);
	put(p, "\n|", 2);
	for (size_t i = 0; i < count; i++)
		put(p, "---|", 4);
	put(p, "\n", 1);
}

void fm_page_row(struct fm_page *p)
{
	put(p, "|", 1);
}

void fm_page_cell(struct fm_page *p, const char *format, ...)
{
	size_t before;
	va_list args;

	put(p, " ", 1);
	before = p->md.len;
	va_start(args, format);
	vput(p, format, args);
	va_end(args);
	put(p, " |", p->md.len == before ? 0 : 2);
	if (p->md.len == before)
		put(p, "|", 1);
}

void fm_page_cell_code(struct fm_page *p, const char *text)
{
	put(p, " ", 1);
	fm_page_code(p, text);
	put(p, " |", 2);
}

void fm_page_cell_text(struct fm_page *p, const char *text)
{
	put(p, " ", 1);
	if (*text != '\0') {
		fm_page_text(p, text);
		put(p, " ", 1);
	}
	put(p, "|", 1);
}

void fm_page_row_end(struct fm_page *p)
{
	put(p, "\n", 1);
}

void fm_page_chart(struct fm_page *p, const char *file, const char *title, struct fm_buf *svg)
{
	struct fm_page_chart *chart = NULL;

	if (p->error == FM_OK &&
	        (chart = fm_grow(&p->charts, &p->chart_count, sizeof *chart)) == NULL)
		p->error = FM_ERR_MEMORY;
	if (chart == NULL)
		return;
	chart->at = p->md.len;
	chart->svg = *svg;
	*svg = FM_BUF_INIT(svg->max);
	fm_page(p, "[Chart: %s](%s#chart-%zu)\n\n", title, file, p->chart_count);
}
