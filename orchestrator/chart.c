/* chart.c: which pictures a page of a tree gets, and from which figures. */
#include "orchestrator/chart.h"
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BARS_SIZE 65536
#define GROUPS    40 /* of one picture of bars */

/* Median per byte of a cell with its interval (smallest to largest process where there is none). */
static void add_point(struct fm_series *s, const struct fm_cell_fig *c, bool cycles)
{
	const struct fm_estimate *e = cycles ? &c->counted : &c->seconds;
	double scale = (cycles ? 1 : 1e9) / (double)c->bytes;
	struct fm_chart_point *p;

	if (s->count == FM_CHART_POINTS || c->bytes < 1 || e->n == 0 || !(e->min > 0))
		return;
	p = &s->point[s->count++];
	p->x = (double)c->bytes;
	p->y = e->median * scale;
	p->low = (isfinite(e->median_low) ? e->median_low : e->min) * scale;
	p->high = (isfinite(e->median_high) ? e->median_high : e->max) * scale;
	p->flagged = c->flags.outliers > 0 || c->disturbed || c->flags.bimodal;
}

int fm_chart_candidate(struct fm_page *p, const struct fm_side *side, const char *file)
{
	struct fm_series *series = fm_alloc_array(side->cells.count + 1, sizeof *series);
	struct fm_buf svg = FM_BUF_INIT(FM_CHART_MAX);
	bool cycles = side->cells.count > 0;
	size_t count = 0;
	char title[256];
	int rc = FM_ERR_MEMORY;

	if (series == NULL)
		return rc;
	for (size_t i = 0; i < side->cells.count; i++)
		if (side->cells.list[i].state == FM_CELL_MEASURED &&
		        side->cells.list[i].count != FM_COUNT_CYCLES)
			cycles = false;
	for (size_t i = 0; i < side->cells.count;
	        i++) { /* sorted: cells of a label stand together */
		const struct fm_cell_fig *c = &side->cells.list[i];
		if (c->state != FM_CELL_MEASURED)
			continue;
		if (count == 0 || strcmp(series[count - 1].name, c->label) != 0) {
			snprintf(series[count].name, sizeof series[count].name, "%s", c->label);
			series[count].look = (int)count;
			count++;
		}
		add_point(&series[count - 1], c, cycles);
	}
	snprintf(title, sizeof title, "%s on %s%s: %s against message size", side->candidate->id,
	        side->system->plan->name, side->system->emulated ? " (emulated)" : "",
	        cycles ? "cycles per byte" : "time per byte");
	rc = fm_chart_curves(&svg, p->chart_count + 1, title,
	        cycles ? "cycles/byte, median" : "ns/byte, median", series, count);
	if (rc == FM_OK && svg.len > 0)
		fm_page_chart(p, file, title, &svg);
	fm_buf_free(&svg);
	free(series);
	return rc;
}

/* One line per system that is not emulated; none for a single one. */
int fm_chart_compare(struct fm_page *p, const struct fm_report *r, const struct fm_side *sides,
        const char *label)
{
	struct fm_series *series = fm_alloc_array(r->system_count + 1, sizeof *series);
	struct fm_buf svg = FM_BUF_INIT(FM_CHART_MAX);
	bool cycles = true;
	size_t drawn = 0;
	char title[256];
	int rc = FM_ERR_MEMORY;

	if (series == NULL)
		return rc;
	for (size_t i = 0; i < r->system_count; i++)
		for (size_t k = 0; k < sides[i].cells.count; k++) {
			const struct fm_cell_fig *c = &sides[i].cells.list[k];
			if (c->state == FM_CELL_MEASURED && !c->emulated &&
			        strcmp(c->label, label) == 0)
				cycles = cycles && c->count == FM_COUNT_CYCLES;
		}
	for (size_t i = 0; i < r->system_count; i++) {
		snprintf(series[i].name, sizeof series[i].name, "%s", r->systems[i].plan->name);
		series[i].look = (int)i;
		for (size_t k = 0; k < sides[i].cells.count; k++) {
			const struct fm_cell_fig *c = &sides[i].cells.list[k];
			if (c->state == FM_CELL_MEASURED && !c->emulated &&
			        strcmp(c->label, label) == 0)
				add_point(&series[i], c, cycles);
		}
		drawn += series[i].count > 0;
	}
	snprintf(title, sizeof title, "%s: %s against message size", label,
	        cycles ? "cycles per byte" : "time per byte");
	rc = FM_OK;
	if (drawn > 1)
		rc = fm_chart_curves(&svg, p->chart_count + 1, title,
		        cycles ? "cycles/byte, median" : "ns/byte, median", series,
		        r->system_count);
	if (rc == FM_OK && svg.len > 0)
		fm_page_chart(p, "compare.html", title, &svg);
	fm_buf_free(&svg);
	free(series);
	return rc;
}

/* Bars of one digest length. */
struct bars {
	const struct fm_report *r;
	const struct fm_brief **cell; /* of this length, reference, 64 KiB, not emulated */
	size_t count;
	bool cycles;
};

static double value_of(const struct fm_brief *b, bool cycles)
{
	return (cycles ? b->median : b->median_seconds * 1e9) / BARS_SIZE;
}

static int order(const struct fm_brief *x, const struct fm_brief *y, bool cycles)
{
	double v = value_of(x, cycles), w = value_of(y, cycles);
	int d;

	if (v != w)
		return v < w ? -1 : 1;
	if ((d = strcmp(x->candidate->id, y->candidate->id)) != 0)
		return d;
	if ((d = fm_natural(x->instance->name, y->instance->name)) != 0)
		return d;
	return x->system - y->system;
}

static int by_cycles(const void *a, const void *b)
{
	return order(*(const struct fm_brief *const *)a, *(const struct fm_brief *const *)b, true);
}

static int by_time(const void *a, const void *b)
{
	return order(*(const struct fm_brief *const *)a, *(const struct fm_brief *const *)b, false);
}

static void fill_bar(struct fm_bar *bar, const struct fm_brief *b, bool cycles)
{
	const char *mark = b->size[FM_BRIEF_LARGE].mark;

	snprintf(bar->group, sizeof bar->group, "%.20s %.64s", b->candidate->id, b->instance->name);
	bar->look = b->system;
	bar->value = value_of(b, cycles);
	bar->low = (cycles ? b->low : b->low_seconds * 1e9) / BARS_SIZE;
	bar->high = (cycles ? b->high : b->high_seconds * 1e9) / BARS_SIZE;
	snprintf(bar->text, sizeof bar->text, "%.20s%s%.20s",
	        fm_n_decimals(bar->value, cycles ? 1 : 2).s, mark[0] != '\0' ? " " : "", mark);
}

/* Pictures of at most GROUPS instances each; the order is that of the first system that has the
 * cell. */
static int draw(struct fm_page *p, struct bars *x, int digest_bits)
{
	const struct fm_report *r = x->r;
	const char **systems = fm_alloc_array(r->system_count + 1, sizeof *systems);
	struct fm_bar *bars = fm_alloc_array(x->count + 1, sizeof *bars);
	struct fm_buf svg = FM_BUF_INIT(FM_CHART_MAX);
	int rc = systems == NULL || bars == NULL ? FM_ERR_MEMORY : FM_OK;
	size_t n = 0, groups = 0;
	char title[128];

	for (size_t i = 0; rc == FM_OK && i < r->system_count; i++)
		systems[i] = r->systems[i].plan->name;
	snprintf(title, sizeof title, "Digest of %d bits: %s at 64 KiB", digest_bits,
	        x->cycles ? "cycles per byte" : "time per byte");
	for (size_t i = 0; rc == FM_OK && i < x->count; i++) {
		const struct fm_brief *b = x->cell[i];
		bool first =
		        true; /* of all systems that have the instance, so each bar comes once */
		for (size_t k = 0; k < x->count; k++)
			first = first && (x->cell[k]->instance != b->instance ||
			                         x->cell[k]->system >= b->system);
		if (!first)
			continue;
		for (size_t k = 0; k < x->count; k++)
			if (x->cell[k]->instance == b->instance)
				fill_bar(&bars[n++], x->cell[k], x->cycles);
		if (++groups % GROUPS != 0 && i + 1 < x->count)
			continue;
		rc = fm_chart_draw_bars(&svg, p->chart_count + 1, title,
		        x->cycles ? "cycles/byte, median" : "ns/byte, median", bars, n, systems,
		        r->system_count);
		if (rc == FM_OK)
			fm_page_chart(p, "compare.html", title, &svg);
		n = 0;
	}
	if (rc == FM_OK && n > 0) {
		rc = fm_chart_draw_bars(&svg, p->chart_count + 1, title,
		        x->cycles ? "cycles/byte, median" : "ns/byte, median", bars, n, systems,
		        r->system_count);
		if (rc == FM_OK)
			fm_page_chart(p, "compare.html", title, &svg);
	}
	fm_buf_free(&svg);
	free(systems);
	free(bars);
	return rc;
}

static bool takes(const struct fm_brief *b)
{
	const struct fm_brief_cell *c = &b->size[FM_BRIEF_LARGE];

	return c->there && c->state == FM_CELL_MEASURED && !c->emulated &&
	       b->version == FM_VERSION_REFERENCE;
}

int fm_chart_bars(struct fm_page *p, const struct fm_report *r)
{
	struct bars x = {r, fm_alloc_array(r->brief_count + 1, sizeof *x.cell), 0, true};
	int bits = 0, rc = x.cell == NULL ? FM_ERR_MEMORY : FM_OK;

	while (rc == FM_OK) { /* digest lengths in rising order */
		int next = 0;
		for (size_t i = 0; i < r->brief_count; i++)
			if (takes(&r->briefs[i]) && r->briefs[i].instance->digest_bits > bits &&
			        (next == 0 || r->briefs[i].instance->digest_bits < next))
				next = r->briefs[i].instance->digest_bits;
		if ((bits = next) == 0)
			break;
		x.count = 0;
		x.cycles = true;
		for (size_t i = 0; i < r->brief_count; i++)
			if (takes(&r->briefs[i]) && r->briefs[i].instance->digest_bits == bits) {
				x.cell[x.count++] = &r->briefs[i];
				x.cycles = x.cycles && r->briefs[i].size[FM_BRIEF_LARGE].count ==
				                               FM_COUNT_CYCLES;
			}
		qsort(x.cell, x.count, sizeof *x.cell, x.cycles ? by_cycles : by_time);
		if (x.count > 1) /* a bar alone says nothing */
			rc = draw(p, &x, bits);
	}
	free(x.cell);
	return rc;
}
