/* page_model.c: two tables under the figures of a candidate: cost against message size, and cycles
 * derived from wall time where the clock allows it. */
#include "orchestrator/kind.h"
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <string.h>

#define DASH  "\xe2\x80\x93"
#define SIZES 64

/* The model of all measured sizes of one label; seconds where there are no core cycles. */
static bool model_of(
        const struct fm_side *s, const char *label, bool cycles, struct fm_size_model *m)
{
	double bytes[SIZES], cost[SIZES], variance[SIZES];
	size_t n = 0;

	for (size_t i = 0; i < s->cells.count && n < SIZES; i++) {
		const struct fm_cell_fig *c = &s->cells.list[i];
		const struct fm_estimate *e = cycles ? &c->counted : &c->seconds;

		if (strcmp(c->label, label) != 0 || c->state != FM_CELL_MEASURED || e->n < 2)
			continue;
		bytes[n] = (double)c->bytes;
		cost[n] = e->mean;
		variance[n++] = e->variance / (double)e->n;
	}
	return fm_size_model(bytes, cost, variance, n, m) == FM_OK;
}

void fm_page_model(struct fm_page *p, const struct fm_side *s)
{
	static const char *const heads[] = {
	        "instance", "per-call cost", "per byte", "worst residual", "note"};
	const char *last = "";
	bool begun = false;

	for (size_t i = 0; i < s->cells.count; i++) {
		const struct fm_cell_fig *c = &s->cells.list[i];
		bool cycles = c->count == FM_COUNT_CYCLES;
		struct fm_size_model m;

		if (c->state != FM_CELL_MEASURED || strcmp(c->label, last) == 0)
			continue;
		last = c->label;
		if (c->no_interval || !model_of(s, c->label, cycles, &m))
			continue;
		if (!begun) {
			fm_page(p,
			        "### Cost against message size\n\nA call costs its per-call cost "
			        "and so much for every byte, by least squares over the sizes; a "
			        "small size is ruled by the first, a large one by the second.\n\n");
			fm_page_table(p, heads, 5);
		}
		begun = true;
		fm_page_row(p);
		fm_page_cell_code(p, c->label);
		if (cycles) {
			fm_page_cell(p, "%s cycles", fm_n_cycles(m.fixed, FM_STYLE_OWN).s);
			fm_page_cell(p, "%s cycles", fm_n_decimals(m.slope, 2).s);
		} else {
			fm_page_cell(p, "%s ns", fm_n_decimals(m.fixed * 1e9, 1).s);
			fm_page_cell(p, "%s ns", fm_n_decimals(m.slope * 1e9, 3).s);
		}
		fm_page_cell(p, "%s", fm_n_half(m.worst).s);
		fm_page_cell(p, "%s", m.poor ? "size_model" : DASH);
		fm_page_row_end(p);
	}
	if (begun)
		fm_page(p, "\n");
}

void fm_page_derived(struct fm_page *p, const struct fm_side *s)
{
	static const char *const heads[] = {
	        "instance", "message", "derived cycles", "95 %, with the clock's"};
	struct fm_derived d;
	bool begun = false;

	if (!s->have) /* records of others say nothing of it */
		return;
	fm_derived_clock(s->evidence.clocks, s->evidence.clock_count, &d);
	for (size_t i = 0; i < s->cells.count; i++) {
		const struct fm_cell_fig *c = &s->cells.list[i];

		if (c->state != FM_CELL_MEASURED || c->count == FM_COUNT_CYCLES || c->emulated)
			continue;
		if (!begun) {
			fm_page(p, "### Derived cycles\n\n");
			if (isnan(d.hz)) {
				fm_page(p, "None: ");
				fm_page_text(p, d.why);
				fm_page(p, ".\n\n");
				return;
			}
			fm_page(p,
			        "Wall time x the core clock as it was counted (%s GHz), not a "
			        "count of cycles. They join with derived cycles only.\n\n",
			        fm_n_ghz(d.hz / 1e3).s);
			fm_page_table(p, heads, 4);
			begun = true;
		}
		fm_page_row(p);
		fm_page_cell_code(p, c->label);
		fm_page_cell(p, "%lld B", (long long)c->bytes);
		fm_page_cell(p, "~%s", fm_n_cycles(c->seconds.mean * d.hz, FM_STYLE_OWN).s);
		fm_page_cell(p, "%s",
		        c->no_interval
		                ? DASH
		                : fm_n_half(fm_derived_half(&d, c->seconds.half / c->seconds.mean))
		                          .s);
		fm_page_row_end(p);
	}
	if (begun)
		fm_page(p, "\n");
}
