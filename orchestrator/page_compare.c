/* page_compare.c: <candidate>/compare.md: the systems side by side, per instance and version, with
 * intervals of the ratios. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\xe2\x80\x93"

static void agree(struct fm_page *p, const char *what, bool known, bool same)
{
	fm_page(p, "| %s | %s |\n", what, !known ? DASH : same ? "same" : "**DIFFERENT**");
}

/* Rows that must agree: sources, agent, plan, profile, known answers. */
static void write_agreement(
        struct fm_page *p, const struct fm_report *r, const struct fm_side *sides)
{
	bool source = true, agent = true, kat = true, known = false;
	const struct fm_side *first = NULL;

	for (size_t i = 0; i < r->system_count; i++) {
		const struct fm_side *s = &sides[i];
		if (!s->have)
			continue;
		if (first == NULL) {
			first = s;
			continue;
		}
		known = true;
		source = source &&
		         strcmp(s->evidence.source_sha256, first->evidence.source_sha256) == 0;
		agent = agent && strcmp(s->evidence.agent.source_sha256,
		                         first->evidence.agent.source_sha256) == 0;
		for (size_t k = 0; k < s->builds.count; k++) {
			const struct fm_build_fig *a = &s->builds.list[k],
			                          *b = fm_builds_find(&first->builds, a->label);
			if (b != NULL && a->kat_digest != NULL && b->kat_digest != NULL)
				kat = kat && strcmp(a->kat_digest, b->kat_digest) == 0;
		}
	}
	fm_page(p, "| must agree | found |\n|---|---|\n");
	agree(p, "source digest", known, source);
	agree(p, "digest of the known answers", known, kat);
	agree(p, "agent source", known, agent);
	agree(p, "plan", true, true);
	agree(p, "profile", true, true);
	fm_page(p, "\n");
}

/* Which quantity the tables of a label have: cycles only where every measured system counts core
 * cycles. */
static bool all_cycles(const struct fm_report *r, const struct fm_side *sides, const char *label)
{
	bool any = false;

	for (size_t i = 0; i < r->system_count; i++)
		for (size_t k = 0; k < sides[i].cells.count; k++) {
			const struct fm_cell_fig *c = &sides[i].cells.list[k];
			if (c->state != FM_CELL_MEASURED || strcmp(c->label, label) != 0)
				continue;
			if (c->count != FM_COUNT_CYCLES)
				return false;
			any = true;
		}
	return any;
}

static void value_cell(struct fm_page *p, const struct fm_cell_fig *c, bool cycles)
{
	static const char *const word[] = {"", "failed", "missing", "rejected"};

	if (c == NULL)
		fm_page_cell(p, DASH);
	else if (c->state != FM_CELL_MEASURED)
		fm_page_cell(p, "%s: %s", word[c->state], c->klass);
	else if (cycles)
		fm_page_cell(p, "%s", fm_n_per_byte(c->mean_cycles / (double)c->bytes).s);
	else
		fm_page_cell(p, "%s", fm_n_decimals(c->mean_seconds * 1e9 / (double)c->bytes, 2).s);
}

/* Ratio of two cells with its interval, and of the medians. */
static void ratio_cells(
        struct fm_page *p, const struct fm_cell_fig *a, const struct fm_cell_fig *b, bool cycles)
{
	if (a == NULL || b == NULL || a->state != FM_CELL_MEASURED ||
	        b->state != FM_CELL_MEASURED) {
		fm_page_cell(p, DASH);
		fm_page_cell(p, DASH);
		return;
	}
	if (a->emulated || b->emulated) {
		fm_page_cell(p, "not comparable: emulated");
		fm_page_cell(p, DASH);
		return;
	}
	const struct fm_estimate *x = cycles ? &a->counted : &a->seconds,
	                         *y = cycles ? &b->counted : &b->seconds;
	struct fm_ratio q = fm_fieller(x->mean, x->variance / (double)x->n, x->n, y->mean,
	        y->variance / (double)y->n, y->n);
	bool none = a->no_interval || b->no_interval;
	fm_page_cell(p, "%s", fm_n_ratio(q.r, none ? NAN : q.low, none ? NAN : q.high).s);
	fm_page_cell(p, "%s", fm_n_decimals(x->median / y->median, 3).s);
}

static void flags_cell(
        struct fm_page *p, const struct fm_report *r, const struct fm_cell_fig *const *cells)
{
	const char *gap = "";

	fm_page(p, " ");
	for (size_t i = 0; i < r->system_count; i++) {
		char *flags;
		if (cells[i] == NULL || cells[i]->state != FM_CELL_MEASURED)
			continue;
		if ((flags = fm_cell_flags(cells[i])) == NULL)
			p->error = FM_ERR_MEMORY;
		else if (strcmp(flags, DASH) != 0) {
			fm_page(p, "%s%s: ", gap, r->systems[i].plan->name);
			fm_page_text(p, flags);
			gap = "; ";
		}
		free(flags);
	}
	fm_page(p, "%s |", *gap == '\0' ? DASH : "");
}

static void write_block(struct fm_page *p, const struct fm_report *r,
        const struct fm_cell_fig *const *cells, bool cycles)
{
	for (size_t i = 0; i < r->system_count; i++)
		value_cell(p, cells[i], cycles);
	for (size_t i = 1; i < r->system_count; i++)
		ratio_cells(p, cells[i], cells[0], cycles);
}

static void head_block(struct fm_page *p, const struct fm_report *r, const char *unit)
{
	for (size_t i = 0; i < r->system_count; i++)
		fm_page(p, " %s %s%s |", r->systems[i].plan->name, unit,
		        r->systems[i].emulated ? ", emulated" : "");
	for (size_t i = 1; i < r->system_count; i++)
		fm_page(p, " %s / %s (95 %%) | of medians |", r->systems[i].plan->name,
		        r->systems[0].plan->name);
}

/* Below the heading of a library: how many of the known-answer files agreed. */
static int write_kat(struct fm_page *p, const struct fm_report *r, const struct fm_side *sides,
        const char *label)
{
	char(*kat)[40] = fm_alloc_array(r->system_count + 1, sizeof *kat);
	const char **texts = fm_alloc_array(r->system_count + 1, sizeof *texts);
	int rc = FM_ERR_MEMORY;

	if (kat == NULL || texts == NULL)
		goto out;
	for (size_t i = 0; i < r->system_count; i++) {
		const struct fm_build_fig *b = fm_builds_find(&sides[i].builds, label);
		if (b != NULL)
			fm_page_kat(b, kat[i], sizeof kat[i]);
		texts[i] = kat[i];
	}
	fm_page(p, "Known answers: ");
	fm_page_kat_systems(p, r, texts);
	fm_page(p, ".\n\n");
	rc = FM_OK;
out:
	free(kat);
	free(texts);
	return rc;
}

static int write_label(struct fm_page *p, const struct fm_report *r, const struct fm_side *sides,
        const char *label)
{
	const struct fm_cell_fig **cells = fm_alloc_array(r->system_count + 1, sizeof *cells);
	bool cycles = all_cycles(r, sides, label), more = true;
	size_t columns = 2 + (r->system_count * 3 - 2) * (cycles ? 2 : 1);
	int64_t bytes = 0;
	int rc = FM_ERR_MEMORY;

	if (cells == NULL)
		return FM_ERR_MEMORY;
	fm_page(p, "### `%s`\n\n", label);
	if ((rc = write_kat(p, r, sides, label)) != FM_OK)
		goto out;
	fm_page(p, "| message |");
	if (cycles)
		head_block(p, r, "c/B");
	head_block(p, r, "ns/B");
	fm_page(p, " flags |\n|");
	for (size_t i = 0; i < columns; i++)
		fm_page(p, "---|");
	fm_page(p, "\n");
	while (more) { /* sizes in rising order, over all systems */
		int64_t next = INT64_MAX;
		for (size_t i = 0; i < r->system_count; i++)
			for (size_t k = 0; k < sides[i].cells.count; k++) {
				const struct fm_cell_fig *c = &sides[i].cells.list[k];
				if (strcmp(c->label, label) == 0 && c->bytes > bytes &&
				        c->bytes < next)
					next = c->bytes;
			}
		if ((more = next < INT64_MAX)) {
			bytes = next;
			for (size_t i = 0; i < r->system_count; i++)
				cells[i] = fm_cells_find(&sides[i].cells, label, bytes);
			fm_page_row(p);
			fm_page_cell(p, "%lld B", (long long)bytes);
			if (cycles)
				write_block(p, r, cells, true);
			write_block(p, r, cells, false);
			flags_cell(p, r, cells);
			fm_page_row_end(p);
		}
	}
	fm_page(p, "\n");
out:
	free(cells);
	return rc;
}

static void write_reasons(struct fm_page *p, const struct fm_report *r)
{
	const struct fm_report_system *without = NULL, *with = NULL;

	for (size_t i = 0; i < r->system_count; i++) {
		const struct fm_report_system *s = &r->systems[i];
		if (s->any &&
		        (strcmp(s->label, "core_cycles") != 0 || strcmp(s->scope, "user") != 0))
			without = without == NULL ? s : without;
		else if (s->any)
			with = with == NULL ? s : with;
		if (s->any && s->emulated)
			fm_page(p,
			        "> EMULATED: times not comparable. %s is emulated: its figures are "
			        "printed, never divided by "
			        "another system's and never ranked.\n\n",
			        s->plan->name);
	}
	if (without != NULL && with != NULL)
		fm_page(p,
		        "Cycles per byte are not comparable: core_cycles (%s) / %s (%s); the "
		        "tables compare time per byte alone.\n\n",
		        with->plan->name, without->label, without->plan->name);
	else if (without != NULL)
		fm_page(p,
		        "No core cycles here: %s has %s. The tables have time per byte alone.\n\n",
		        without->plan->name,
		        strcmp(without->label, "ref_ticks") == 0 ? "ticks of a constant clock"
		                                                 : "no count but the time");
}

/* Labels of all systems in natural order. */
static int all_labels(
        const struct fm_report *r, const struct fm_side *sides, const char ***out, size_t *count)
{
	struct fm_cells all = {NULL, 0};
	struct fm_builds none = {NULL, 0};
	int rc;

	for (size_t i = 0; i < r->system_count; i++)
		all.count += sides[i].cells.count;
	if ((all.list = fm_alloc_array(all.count + 1, sizeof *all.list)) == NULL)
		return FM_ERR_MEMORY;
	all.count = 0;
	for (size_t i = 0; i < r->system_count; i++)
		for (size_t k = 0; k < sides[i].cells.count; k++)
			memcpy(all.list[all.count++].label, sides[i].cells.list[k].label,
			        FM_LABEL_MAX + 1);
	rc = fm_labels(&all, &none, out, count);
	for (size_t i = 0; rc == FM_OK && i < *count;
	        i++) /* labels must outlive the list: those of the sides */
		for (size_t k = 0; k < r->system_count; k++)
			for (size_t n = 0; n < sides[k].cells.count; n++)
				if (strcmp(sides[k].cells.list[n].label, (*out)[i]) == 0)
					(*out)[i] = sides[k].cells.list[n].label;
	free(all.list);
	return rc;
}

int fm_page_compare(struct fm_report *r, const struct fm_candidate *c, const struct fm_side *sides)
{
	const char **labels = NULL;
	struct fm_page page;
	size_t count;
	char *path;
	int rc;

	fm_page_start(&page);
	fm_page(&page, "# %s ", c->id);
	fm_page_text(&page, c->name);
	fm_page(&page, " \xe2\x80\x94 systems side by side\n\n[Index](../index.md)%s",
	        r->no_ranks ? "" : " \xc2\xb7 [all candidates](../compare.md)");
	for (size_t i = 0; i < r->system_count; i++)
		fm_page(&page, " \xc2\xb7 [%s](perf_%s.md)", r->systems[i].plan->name,
		        r->systems[i].plan->name);
	fm_page(&page, "\n\n");
	fm_page_warnings(&page, r, NULL);
	if (r->system_count > 1)
		fm_page(&page,
		        "Base of the ratios: %s. A ratio below 1 means less time (or fewer cycles) "
		        "than on "
		        "the base; the interval is "
		        "Fieller's over process means, over processes of one build on each side.\n\n",
		        r->systems[0].plan->name);
	fm_page(&page, "## Environment\n\n");
	if (r->mark != NULL)
		fm_page(&page, "Whether sources, agent and known answers were the same on all "
		               "systems is not known: the data set has no digests of them.\n\n");
	else if (r->system_count > 1)
		write_agreement(&page, r, sides);
	if ((rc = fm_page_environments(&page, r, "../")) != FM_OK ||
	        (rc = all_labels(r, sides, &labels, &count)) != FM_OK)
		goto out;
	fm_page(&page, "## Sizes\n\n");
	write_reasons(&page, r);
	for (size_t i = 0; i < count && rc == FM_OK; i++) {
		rc = write_label(&page, r, sides, labels[i]);
		if (rc == FM_OK)
			rc = fm_chart_compare(&page, r, sides, labels[i]);
	}
	if (rc != FM_OK)
		goto out;
	rc = FM_ERR_MEMORY;
	if ((path = fm_sprintf("%s/compare.md", c->id)) != NULL) {
		rc = fm_report_page(r, path, &page);
		free(path);
	}
out:
	free(labels);
	fm_page_free(&page);
	return rc;
}
