/* chart_flagged.c: the single processes of a page's flagged cells, as table and as pictures. */
#include "orchestrator/chart.h"
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRIPS          12 /* of one picture */
#define NAME_CHARACTERS 56 /* that fit above a strip */

static struct fm_num value_text(const struct fm_cell_fig *c, double v)
{
	return fm_cell_shown(c) == &c->counted ? fm_n_cycles(v, FM_STYLE_OWN)
	                                       : fm_n_time(v, FM_STYLE_OWN);
}

/* Flags that do not fit are left out at the end: the page's table has them all. */
static void shorten(char *name)
{
	size_t characters = 0, last = 0;

	for (size_t i = 0; name[i] != '\0'; i++) {
		characters += ((unsigned char)name[i] & 0xc0) != 0x80;
		if (characters <= NAME_CHARACTERS - 3 && name[i] == ';')
			last = i;
	}
	if (characters > NAME_CHARACTERS && last > 0)
		memcpy(name + last, "; ...", 6);
}

static int fill(struct fm_strip *s, const struct fm_cell_fig *c)
{
	const struct fm_estimate *e = fm_cell_shown(c);
	char *flags = fm_cell_flags(c);

	if (flags == NULL)
		return FM_ERR_MEMORY;
	snprintf(s->name, sizeof s->name, "%.80s, %lld B: %.60s", c->label, (long long)c->bytes,
	        flags);
	free(flags);
	shorten(s->name);
	s->value = c->processes;
	s->count = e->n;
	s->median = e->median;
	snprintf(s->least, sizeof s->least, "%.31s", value_text(c, e->min).s);
	snprintf(s->middle, sizeof s->middle, "%.31s", value_text(c, e->median).s);
	snprintf(s->most, sizeof s->most, "%.31s", value_text(c, e->max).s);
	return FM_OK;
}

static void write_row(struct fm_page *p, const struct fm_cell_fig *c)
{
	size_t n = fm_cell_shown(c)->n;

	fm_page_row(p);
	fm_page_cell_code(p, c->label);
	fm_page_cell(p, "%lld B", (long long)c->bytes);
	fm_page(p, " ");
	for (size_t i = 0; i < n; i++)
		fm_page(p, "%s%s", i > 0 ? ", " : "", value_text(c, c->processes[i]).s);
	fm_page(p, " |");
	fm_page_row_end(p);
}

static int draw(struct fm_page *p, const struct fm_strip *strips, size_t count, const char *file,
        const char *title)
{
	struct fm_buf svg = FM_BUF_INIT(FM_CHART_MAX);
	int rc = fm_chart_strips(
	        &svg, p->chart_count + 1, title, "mean of a call, per process", strips, count);

	if (rc == FM_OK)
		fm_page_chart(p, file, title, &svg);
	fm_buf_free(&svg);
	return rc;
}

int fm_chart_flagged(
        struct fm_page *p, const struct fm_cells *cells, const char *file, const char *title)
{
	static const char *const heads[] = {
	        "instance", "message", "means of the processes, in the order they ran"};
	struct fm_strip *strips = fm_alloc_array(STRIPS, sizeof *strips);
	size_t count = 0;
	bool begun = false;
	int rc = strips == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; i < cells->count && rc == FM_OK; i++) {
		if (cells->list[i].processes == NULL)
			continue;
		if (!begun) {
			fm_page(p, "### Flagged cells\n\n");
			fm_page_table(p, heads, 3);
		}
		begun = true;
		write_row(p, &cells->list[i]);
	}
	if (begun)
		fm_page(p, "\n");
	for (size_t i = 0; i < cells->count && rc == FM_OK; i++) {
		if (cells->list[i].processes == NULL)
			continue;
		rc = fill(&strips[count++], &cells->list[i]);
		if (rc == FM_OK && count == STRIPS) {
			rc = draw(p, strips, count, file, title);
			count = 0;
		}
	}
	if (rc == FM_OK && count > 0)
		rc = draw(p, strips, count, file, title);
	free(strips);
	return rc;
}
