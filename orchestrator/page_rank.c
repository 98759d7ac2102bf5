/* page_rank.c: compare.md in the tree's root: all candidates at 64 KiB, ranks per digest length and
 * version, and what is not ranked. */
#include "orchestrator/chart.h"
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH       "\xe2\x80\x93"
#define SIZE       65536
#define MOST_LINES 40 /* of one picture of places */

/* One instance and version over all systems at 64 KiB. */
struct line {
	const struct fm_brief **cell; /* per system, NULL if absent */
	const struct fm_candidate *candidate;
	const struct fm_instance *instance;
	int version;
	size_t *rank;  /* per system, 0: not ranked */
	double middle; /* median on the base, if it is ranked there */
};
struct lines {
	struct line *list;
	size_t count;
	bool cycles; /* ranked by cycles, else by time */
};

static void free_lines(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->list[i].cell);
		free(l->list[i].rank);
	}
	free(l->list);
}

static int by_digest(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	int d;

	if (x->version != y->version)
		return x->version - y->version;
	if (x->instance->digest_bits != y->instance->digest_bits)
		return x->instance->digest_bits - y->instance->digest_bits;
	if ((d = strcmp(x->candidate->id, y->candidate->id)) != 0)
		return d;
	return fm_natural(x->instance->name, y->instance->name);
}

static int gather(const struct fm_report *r, struct lines *l)
{
	for (size_t i = 0; i < r->brief_count; i++) {
		const struct fm_brief *b = &r->briefs[i];
		struct line *found = NULL;
		if (!b->size[FM_BRIEF_LARGE].there)
			continue;
		/* briefs of one candidate stand together: look back over the lines of this
		 * candidate only */
		for (size_t k = l->count;
		        k > 0 && found == NULL && l->list[k - 1].candidate == b->candidate; k--)
			if (l->list[k - 1].instance == b->instance &&
			        l->list[k - 1].version == b->version)
				found = &l->list[k - 1];
		if (found == NULL) {
			if ((found = fm_grow(&l->list, &l->count, sizeof *found)) == NULL)
				return FM_ERR_MEMORY;
			found->candidate = b->candidate;
			found->instance = b->instance;
			found->version = b->version;
			found->cell = fm_alloc_array(r->system_count, sizeof *found->cell);
			found->rank = fm_alloc_array(r->system_count, sizeof *found->rank);
			if (found->cell == NULL || found->rank == NULL)
				return FM_ERR_MEMORY;
		}
		found->cell[b->system] = b;
	}
	if (l->count > 1)
		qsort(l->list, l->count, sizeof *l->list, by_digest);
	return FM_OK;
}

static double low(const struct lines *l, const struct fm_brief *b)
{
	return l->cycles ? b->low : b->low_seconds;
}

static double high(const struct lines *l, const struct fm_brief *b)
{
	return l->cycles ? b->high : b->high_seconds;
}

static double middle(const struct lines *l, const struct fm_brief *b)
{
	return l->cycles ? b->median : b->median_seconds;
}

static bool same_group(const struct line *a, const struct line *b)
{
	return a->version == b->version && a->instance->digest_bits == b->instance->digest_bits;
}

static const struct fm_brief_cell *large(const struct fm_brief *b)
{
	return &b->size[FM_BRIEF_LARGE];
}

static bool counts(const struct fm_brief *b)
{
	return b != NULL && large(b)->state == FM_CELL_MEASURED && large(b)->why == NULL;
}

/* 1 + number of cells of the group whose interval lies wholly below. */
static void rank_group(struct lines *l, size_t from, size_t to, size_t systems)
{
	for (size_t s = 0; s < systems; s++)
		for (size_t i = from; i < to; i++) {
			const struct fm_brief *b = l->list[i].cell[s];
			if (!counts(b))
				continue;
			l->list[i].rank[s] = 1;
			if (s == 0)
				l->list[i].middle = middle(l, b);
			for (size_t k = from; k < to; k++)
				if (k != i && counts(l->list[k].cell[s]) &&
				        high(l, l->list[k].cell[s]) < low(l, b))
					l->list[i].rank[s]++;
		}
}

/* Cycles rank only if every system whose cells may be ranked counts them. */
static bool by_cycles(const struct fm_report *r)
{
	bool any = false;

	for (size_t i = 0; i < r->brief_count; i++) {
		const struct fm_brief *b = &r->briefs[i];
		if (!large(b)->there || !counts(b))
			continue;
		if (large(b)->count != FM_COUNT_CYCLES)
			return false;
		any = true;
	}
	return any;
}

static void value_cell(struct fm_page *p, const struct lines *l, const struct fm_brief *b)
{
	if (b == NULL)
		fm_page_cell(p, DASH);
	else if (large(b)->state != FM_CELL_MEASURED)
		fm_page_cell(p, "%s: %s", large(b)->state == FM_CELL_MISSING ? "missing" : "failed",
		        large(b)->klass);
	else if (large(b)->emulated)
		fm_page_cell(p, "%s", fm_n_decimals(b->median_seconds * 1e9 / SIZE, 2).s);
	else if (l->cycles)
		fm_page_cell(p, "%s", fm_n_per_byte(middle(l, b) / SIZE).s);
	else
		fm_page_cell(p, "%s", fm_n_decimals(middle(l, b) * 1e9 / SIZE, 2).s);
}

static void rank_cell(struct fm_page *p, const struct line *x, size_t system)
{
	size_t here = x->rank[system], base = x->rank[0];

	if (here == 0)
		fm_page_cell(p, DASH);
	else if (system == 0 || base == 0)
		fm_page_cell(p, "%zu", here);
	else if (here == base)
		fm_page_cell(p, "%zu (=)", here);
	else
		fm_page_cell(p, "%zu (%s %zu)", here, here < base ? "\xe2\x96\xb2" : "\xe2\x96\xbc",
		        here < base ? base - here : here - base);
}

static void group_head(
        struct fm_page *p, const struct fm_report *r, const struct lines *l, const struct line *x)
{
	fm_page(p, "### Digest %d bits, %s\n\n| candidate | instance |", x->instance->digest_bits,
	        fm_version_name[x->version]);
	for (size_t s = 0; s < r->system_count; s++)
		fm_page(p, " %s %s | rank |", r->systems[s].plan->name,
		        r->systems[s].emulated ? "ns/B, emulated"
		        : l->cycles            ? "c/B"
		                               : "ns/B");
	fm_page(p, " KAT |\n|---|---|");
	for (size_t s = 0; s < r->system_count; s++)
		fm_page(p, "---|---|");
	fm_page(p, "---|\n");
}

/* Lines of one rank by what is printed, which is why they stand there. */
static int by_rank(const void *a, const void *b)
{
	const struct line *x = a, *y = b;
	size_t i = x->rank[0] == 0 ? SIZE_MAX : x->rank[0],
	       k = y->rank[0] == 0 ? SIZE_MAX : y->rank[0];

	if (i != k)
		return i < k ? -1 : 1;
	if (i != SIZE_MAX && x->middle != y->middle)
		return x->middle < y->middle ? -1 : 1;
	return by_digest(a, b);
}

static int write_groups(struct fm_page *p, const struct fm_report *r, struct lines *l)
{
	const char **texts = fm_alloc_array(r->system_count + 1, sizeof *texts);

	if (texts == NULL)
		return FM_ERR_MEMORY;
	for (size_t from = 0, to; from < l->count; from = to) {
		for (to = from + 1; to < l->count && same_group(&l->list[from], &l->list[to]); to++)
			;
		rank_group(l, from, to, r->system_count);
		qsort(l->list + from, to - from, sizeof *l->list, by_rank);
		group_head(p, r, l, &l->list[from]);
		for (size_t i = from; i < to; i++) {
			const struct line *x = &l->list[i];
			fm_page(p, "| [%s](%s/compare.md) |", x->candidate->id, x->candidate->id);
			fm_page_cell_code(p, x->instance->name);
			for (size_t s = 0; s < r->system_count; s++) {
				value_cell(p, l, x->cell[s]);
				rank_cell(p, x, s);
				texts[s] = x->cell[s] == NULL ? "" : x->cell[s]->kat;
			}
			fm_page(p, " ");
			fm_page_kat_systems(p, r, texts);
			fm_page(p, " |");
			fm_page_row_end(p);
		}
		fm_page(p, "\n");
	}
	free(texts);
	return FM_OK;
}

static void write_unranked(struct fm_page *p, const struct fm_report *r, const struct lines *l)
{
	static const char *const heads[] = {"system", "candidate", "instance", "version", "why"};
	bool begun = false, said = false;

	fm_page(p, "## Not ranked\n\n");
	for (size_t s = 0; s < r->system_count; s++) {
		const struct fm_report_system *system = &r->systems[s];
		if (system->emulated) {
			fm_page(p, "All cells of %s: emulated.\n\n", system->plan->name);
			said = true;
			continue;
		}
		for (size_t i = 0; i < l->count; i++) {
			const struct fm_brief *b = l->list[i].cell[s];
			if (b == NULL || counts(b))
				continue;
			if (!begun)
				fm_page_table(p, heads, 5);
			begun = true;
			fm_page_row(p);
			fm_page_cell(p, "%s", system->plan->name);
			fm_page_cell(p, "%s", b->candidate->id);
			fm_page_cell_code(p, b->instance->name);
			fm_page_cell(p, "%s", fm_version_name[b->version]);
			fm_page_cell(p, "%s%s%s", large(b)->why == NULL ? "" : large(b)->why,
			        large(b)->klass[0] != '\0' ? ": " : "", large(b)->klass);
			fm_page_row_end(p);
		}
		if (begun)
			fm_page(p, "\n");
		said = said || begun;
		begun = false;
	}
	if (!said)
		fm_page(p, "Every measured cell of these tables is ranked.\n\n");
}

int fm_page_compare_all(struct fm_report *r)
{
	struct lines l = {NULL, 0, by_cycles(r)};
	struct fm_page page;
	int rc;

	fm_page_start(&page);
	fm_page(&page, "# All candidates at 64 KiB, systems side by side\n\n[Index](index.md)");
	for (size_t i = 0; i < r->system_count; i++)
		fm_page(&page, " \xc2\xb7 [summary %s](summary_%s.md)", r->systems[i].plan->name,
		        r->systems[i].plan->name);
	fm_page(&page, "\n\n");
	fm_page_warnings(&page, r, NULL);
	if ((rc = gather(r, &l)) != FM_OK)
		goto out;
	fm_page(&page, "## Environment\n\n");
	if ((rc = fm_page_environments(&page, r, "")) != FM_OK)
		goto out;
	fm_page(&page,
	        "## Rank by %s\n\nMedian over processes of one build at 64 KiB. Rank: 1 + number of instances "
	        "of the group whose interval lies "
	        "wholly below this one's (95 %% interval of the median; smallest to largest "
	        "process below six), so overlapping "
	        "ones share a rank.%s",
	        l.cycles ? "cycles per byte" : "time per byte",
	        l.cycles ? "" : " Time, because not every ranked system has core cycles.");
	if (r->system_count > 1)
		fm_page(&page, " In brackets: change against %s.", r->systems[0].plan->name);
	fm_page(&page, "\n\n");
	if ((rc = write_groups(&page, r, &l)) != FM_OK || (rc = fm_chart_bars(&page, r)) != FM_OK)
		goto out;
	write_unranked(&page, r, &l);
	rc = fm_report_page(r, "compare.md", &page);
out:
	free_lines(&l);
	fm_page_free(&page);
	return rc;
}
