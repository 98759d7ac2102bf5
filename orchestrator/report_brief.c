/* report_brief.c: what is kept of a candidate's cells for the pages of all candidates: a row per
 * library and system. */
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same text once. */
static const char *word(struct fm_report *r, const char *text)
{
	char **slot;

	for (size_t i = 0; i < r->word_count; i++)
		if (strcmp(r->words[i], text) == 0)
			return r->words[i];
	if ((slot = fm_grow(&r->words, &r->word_count, sizeof *slot)) == NULL)
		return NULL;
	if ((*slot = fm_strdup(text)) == NULL)
		r->word_count--;
	return *slot;
}

static int size_index(int64_t bytes)
{
	for (int k = 0; k < FM_SIZES; k++)
		if (bytes == (int64_t)fm_sizes[k])
			return k;
	return -1;
}

/* The first word of what a page's flags say; many marks are in the cell's own row only. */
static const char *mark_of(const struct fm_cell_fig *c)
{
	return c->disturbed            ? "disturbed"
	       : c->flags.outliers > 0 ? "outlier"
	       : c->flags.bimodal      ? "bimodal"
	       : c->partial            ? "partial"
	       : c->flags.drift        ? "drift"
	       : c->flags.far > 0      ? "far"
	       : c->flags.gap          ? "mean \xe2\x89\xa0 median"
	                               : "";
}

static int keep_cell(struct fm_report *r, const struct fm_cell_fig *c, struct fm_brief_cell *b)
{
	b->there = true;
	b->emulated = c->emulated;
	b->state = c->state;
	b->count = c->count;
	b->measurements =
	        c->measurements < (int64_t)UINT32_MAX ? (uint32_t)c->measurements : UINT32_MAX;
	b->mean_cycles = c->mean_cycles;
	b->mean_seconds = c->mean_seconds;
	(void)fm_cell_ranked(c, &b->why);
	b->mark = mark_of(c);
	return (b->klass = word(r, c->klass)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static void keep_large(const struct fm_cell_fig *c, struct fm_brief *b)
{
	const struct fm_estimate *e = fm_cell_shown(c), *s = &c->seconds;

	b->median = e->median;
	b->low = isfinite(e->median_low) ? e->median_low : e->min;
	b->high = isfinite(e->median_high) ? e->median_high : e->max;
	b->median_seconds = s->median;
	b->low_seconds = isfinite(s->median_low) ? s->median_low : s->min;
	b->high_seconds = isfinite(s->median_high) ? s->median_high : s->max;
}

static int begin(struct fm_report *r, const struct fm_side *s, int system,
        const struct fm_cell_fig *c, struct fm_brief **out)
{
	bool baseline = strcmp(s->candidate->id, "iccs") == 0;
	const struct fm_build_fig *build = fm_builds_find(&s->builds, c->label);
	struct fm_brief *b = baseline ? fm_grow(&r->baselines, &r->baseline_count, sizeof *b)
	                              : fm_grow(&r->briefs, &r->brief_count, sizeof *b);
	char kat[40] = "";

	if (b == NULL)
		return FM_ERR_MEMORY;
	b->candidate = s->candidate;
	b->instance = fm_candidate_instance(s->candidate, c->instance);
	if (b->instance == NULL)
		return fm_fail(FM_ERR_FORM,
		        "tree.json: %s: an instance that plan.json does not have", c->instance);
	b->version = c->version;
	b->system = system;
	for (int k = 0; k < FM_SIZES; k++)
		b->size[k].klass = b->size[k].mark = "";
	if (build != NULL)
		fm_page_kat(build, kat, sizeof kat);
	*out = b;
	return (b->kat = word(r, kat)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

int fm_report_keep(struct fm_report *r, const struct fm_side *s, int system)
{
	struct fm_brief *b = NULL;
	int rc = FM_OK, k;

	for (size_t i = 0; i < s->cells.count && rc == FM_OK; i++) { /* sorted by label */
		const struct fm_cell_fig *c = &s->cells.list[i];
		if (i == 0 || strcmp(c->label, c[-1].label) != 0)
			rc = begin(r, s, system, c, &b);
		if (rc != FM_OK || (k = size_index(c->bytes)) < 0)
			continue;
		rc = keep_cell(r, c, &b->size[k]);
		if (k == FM_BRIEF_LARGE)
			keep_large(c, b);
	}
	return rc;
}

const struct fm_brief *fm_report_baseline(const struct fm_report *r, int system, int bits)
{
	char name[32];

	snprintf(name, sizeof name, "pseudoXOF-%d", bits);
	for (size_t i = 0; i < r->baseline_count; i++) {
		const struct fm_brief *b = &r->baselines[i];
		if (b->system == system && b->version == FM_VERSION_REFERENCE &&
		        strcmp(b->instance->name, name) == 0)
			return b;
	}
	return NULL;
}

double fm_report_ratio(const struct fm_brief *b, const struct fm_brief *base, int k)
{
	const struct fm_brief_cell *x = &b->size[k], *y = base == NULL ? NULL : &base->size[k];

	if (y == NULL || !y->there || y->state != FM_CELL_MEASURED || x->emulated || y->emulated)
		return NAN;
	if (isfinite(x->mean_cycles) && isfinite(y->mean_cycles))
		return x->mean_cycles / y->mean_cycles;
	return isfinite(x->mean_cycles) == isfinite(y->mean_cycles)
	               ? x->mean_seconds / y->mean_seconds
	               : NAN;
}
