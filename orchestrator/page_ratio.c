/* page_ratio.c: every size of every library divided by pseudoXOF of the same digest length on the
 * same system, for the summary. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <string.h>

#define DASH "\xe2\x80\x93"

static void ratio_cell(
        struct fm_page *p, const struct fm_brief *b, const struct fm_brief *base, int k)
{
	const struct fm_brief_cell *c = &b->size[k];
	double ratio = c->there && c->state == FM_CELL_MEASURED ? fm_report_ratio(b, base, k) : NAN;

	if (c->there && c->state != FM_CELL_MEASURED)
		fm_page_cell(p, "%s", c->state == FM_CELL_MISSING ? "missing" : "failed");
	else
		fm_page_cell(p, "%s", isfinite(ratio) ? fm_n_times(ratio).s : DASH);
}

void fm_page_ratios(struct fm_page *p, const struct fm_report *r, int system)
{
	const char *heads[FM_SIZES + 2] = {"id", "instance"};
	struct fm_num text[FM_SIZES];
	bool begun = false;

	if (r->baseline_count == 0)
		return;
	for (int k = 0; k < FM_SIZES; k++) {
		text[k] = fm_n_size(fm_sizes[k]);
		heads[k + 2] = text[k].s;
	}
	for (size_t i = 0; i < r->brief_count; i++) {
		const struct fm_brief *b = &r->briefs[i], *base;
		char label[FM_LABEL_MAX + 1];

		if (b->system != system)
			continue;
		if (!begun) {
			fm_page(p, "## Ratio to pseudoXOF\n\nThe mean of one call divided by that "
			           "of pseudoXOF with as many output bits at the same size on this "
			           "system; above 1 it takes longer.\n\n");
			fm_page_table(p, heads, FM_SIZES + 2);
			begun = true;
		}
		base = fm_report_baseline(r, system, b->instance->digest_bits);
		fm_side_label(b->instance->name, b->version, label);
		fm_page_row(p);
		fm_page_cell(p, "%s", b->candidate->id);
		fm_page_cell_code(p, label);
		for (int k = 0; k < FM_SIZES; k++)
			ratio_cell(p, b, base, k);
		fm_page_row_end(p);
	}
	if (begun)
		fm_page(p, "\n");
}
