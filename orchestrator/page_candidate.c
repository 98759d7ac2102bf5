/* page_candidate.c: <candidate>/perf_<system>.md of a tree: the published sections, each row
 * followed by what those pages leave out. */
#include "orchestrator/number.h"
#include "orchestrator/page_data.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\xe2\x80\x93"

static void write_head(struct fm_page *p, const struct fm_report *r, const struct fm_side *s)
{
	const char *system = s->system->plan->name, *id = s->candidate->id, *arch = "", *guide = "";
	int rc = fm_page_arch(s->system->plan->arch, &arch, &guide);

	if (rc != FM_OK)
		p->error = rc;
	fm_page(p, "# %s ", id);
	fm_page_text(p, s->candidate->name);
	fm_page(p, " \xe2\x80\x94 performance on %s (system %s)\n\n", arch, system);
	fm_page(p,
	        "[Summary %s](../summary_%s.md) \xe2\x80\xba `%s` \xc2\xb7 "
	        "[method](../method_%s.md) \xc2\xb7 "
	        "[side by side](compare.md) \xc2\xb7 [all candidates](../compare.md)",
	        system, system, id, system);
	fm_page_link(p, " \xc2\xb7 ", "submission", s->candidate->page);
	fm_page(p, "\n\n");
	fm_page_warnings(p, r, s->system);
	fm_page(p,
	        "Independent measurement following the structure of the NICCS %s self-assessment "
	        "guide, "
	        "\xc2\xa7"
	        "3.5 (1)\xe2\x80\x93(7). Not a submitter self-assessment.\n\n",
	        guide);
}

static bool any_measured(const struct fm_side *s)
{
	for (size_t i = 0; i < s->cells.count; i++)
		if (s->cells.list[i].state == FM_CELL_MEASURED)
			return true;
	return false;
}

static void write_basic(
        struct fm_page *p, const struct fm_side *s, const char **labels, size_t count)
{
	bool seen[FM_VERSIONS] = {false}, first = true, measured = any_measured(s);

	for (size_t i = 0; i < s->cells.count; i++)
		seen[s->cells.list[i].version] |=
		        !measured || s->cells.list[i].state == FM_CELL_MEASURED;
	fm_page(p, "## 1. Basic information\n\n- Category: cryptographic hash algorithm; function: "
	           "hash\n- Algorithm: ");
	fm_page_text(p, s->candidate->name);
	fm_page(p, "\n- Implementation versions %s:", measured ? "measured" : "planned");
	for (int v = 0; v < FM_VERSIONS; v++)
		if (seen[v]) {
			fm_page(p, "%s %s", first ? "" : ",", fm_version_name[v]);
			first = false;
		}
	fm_page(p, "%s\n- Parameter sets:", measured ? "" : "; none was measured");
	for (size_t i = 0; i < count; i++)
		fm_page(p, "%s `%s`", i > 0 ? "," : "", labels[i]);
	fm_page(p, "\n- Source: `%.16s\xe2\x80\xa6` (digest of its file list), %s\n\n",
	        s->candidate->source_sha256,
	        strcmp(s->candidate->origin, "archive") == 0
	                ? "the official package"
	                : "written from the specification for this campaign");
}

/* Why a library is not there. */
static void write_build_reasons(
        struct fm_page *p, const struct fm_side *s, const char **labels, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct fm_build_fig *b = fm_builds_find(&s->builds, labels[i]);
		if (b == NULL || b->reason == NULL || b->reason[0] == '\0')
			continue;
		fm_page(p, "- `%s`: ", labels[i]);
		fm_page_text(p, b->reason);
		fm_page(p, "\n");
		any = true;
	}
	if (any)
		fm_page(p, "\n");
}

static void write_kat(struct fm_page *p, const struct fm_side *s, const char **labels, size_t count)
{
	char kat[40];
	static const char *const heads[] = {
	        "instance", "build flags", "KAT", "vectors that agreed", "not run", "KAT digest"};

	fm_page(p, "## 3. Functional testing (KAT)\n\n");
	if (!s->have && s->builds.count == 0) {
		fm_page(p, "Nothing is known: no bundle was accepted.\n\n");
		return;
	}
	fm_page(p,
	        "Each library was checked on this system against "
	        "the published KAT digests "
	        "and vectors that the sealed plan lists (`plan/kat.sha256`, part `%s/`) before "
	        "timing; only libraries "
	        "that pass are timed.\n\n",
	        s->candidate->id);
	fm_page_table(p, heads, 6);
	for (size_t i = 0; i < count; i++) {
		const struct fm_build_fig *b = fm_builds_find(&s->builds, labels[i]);
		fm_page_row(p);
		fm_page_cell_code(p, labels[i]);
		fm_page_cell_text(p, b == NULL ? DASH : b->flags);
		if (b != NULL)
			fm_page_kat(b, kat, sizeof kat);
		fm_page_cell(p, "%s", b == NULL ? DASH : kat);
		fm_page_cell(p, "%s", b == NULL || b->vectors == 0 ? DASH : fm_n_int(b->vectors).s);
		fm_page_cell_text(p, b == NULL || b->not_run == NULL ? DASH : b->not_run);
		if (b == NULL || b->kat_digest == NULL)
			fm_page_cell(p, DASH);
		else
			fm_page_cell(p, "`%.16s\xe2\x80\xa6`", b->kat_digest);
		fm_page_row_end(p);
	}
	fm_page(p, "\n");
	write_build_reasons(p, s, labels, count);
}

static void failed_row(struct fm_page *p, const struct fm_cell_fig *c, size_t columns)
{
	static const char *const word[] = {"", "failed", "missing", "rejected"};

	fm_page_row(p);
	fm_page_cell_code(p, c->label);
	fm_page_cell(p, "%lld B", (long long)c->bytes);
	fm_page_cell(p, "%s: %s", word[c->state], c->klass[0] == '\0' ? "unknown" : c->klass);
	for (size_t i = 3; i < columns; i++)
		fm_page_cell(p, "%s", "");
	fm_page_row_end(p);
}

void fm_page_spread(struct fm_page *p, const struct fm_estimate *e)
{
	if (e->n < 2)
		fm_page_cell(p, DASH);
	else
		fm_page_cell(p, "%s \xe2\x80\xa6 %s", fm_n_signed_percent(e->min / e->median - 1).s,
		        fm_n_signed_percent(e->max / e->median - 1).s);
}

static void performance_row(struct fm_page *p, const struct fm_cell_fig *c)
{
	const struct fm_estimate *e = fm_cell_shown(c);
	bool cycles = e == &c->counted;
	char *flags = fm_cell_flags(c);

	fm_page_row(p);
	fm_page_cell_code(p, c->label);
	fm_page_cell(p, "%lld B", (long long)c->bytes);
	fm_page_cell(p, "%s", fm_n_cycles(c->mean_cycles, FM_STYLE_OWN).s);
	fm_page_cell(p, "%s", fm_n_per_byte(c->mean_cycles / (double)c->bytes).s);
	fm_page_cell(p, "%s", fm_n_time(c->mean_seconds, FM_STYLE_OWN).s);
	fm_page_cell(p, "%s", fm_n_mbs(c->mbs).s);
	fm_page_cell(p, "%s", fm_page_n(c).s);
	const char *bold = c->flags.outliers > 0 ? "**" : "";
	fm_page_cell(p, "%s%s%s", bold,
	        cycles ? fm_n_cycles(e->median, FM_STYLE_OWN).s
	               : fm_n_time(e->median, FM_STYLE_OWN).s,
	        bold);
	fm_page_cell(p, "%s", c->no_interval ? DASH : fm_n_half(e->half / e->mean).s);
	fm_page_spread(p, e);
	fm_page_cell(p, "%d", c->cpu);
	fm_page_cell_text(p, flags == NULL ? "" : flags);
	fm_page_row_end(p);
	if (flags == NULL)
		p->error = FM_ERR_MEMORY;
	free(flags);
}

static void write_ticks(struct fm_page *p, const struct fm_side *s)
{
	static const char *const heads[] = {
	        "instance", "message", "mean ticks", "median ticks", "95 %", "spread"};
	bool begun = false;

	for (size_t i = 0; i < s->cells.count; i++) {
		const struct fm_cell_fig *c = &s->cells.list[i];
		if (c->state != FM_CELL_MEASURED || c->count != FM_COUNT_TICKS)
			continue;
		if (!begun) {
			fm_page(p,
			        "### Ticks of a constant clock (%.4g MHz)\n\nThese are not cycles "
			        "of the core: the clock "
			        "ticks at its own rate whatever the core does. They join with "
			        "ticks of this clock only.\n\n",
			        c->hz / 1e6);
			fm_page_table(p, heads, 6);
			begun = true;
		}
		fm_page_row(p);
		fm_page_cell_code(p, c->label);
		fm_page_cell(p, "%lld B", (long long)c->bytes);
		fm_page_cell(p, "%s", fm_n_cycles(c->mean_ticks, FM_STYLE_OWN).s);
		fm_page_cell(p, "%s", fm_n_cycles(c->counted.median, FM_STYLE_OWN).s);
		fm_page_cell(p, "%s",
		        c->no_interval ? DASH : fm_n_half(c->counted.half / c->counted.mean).s);
		fm_page_spread(p, &c->counted);
		fm_page_row_end(p);
	}
	if (begun)
		fm_page(p, "\n");
}

static void write_rejected(struct fm_page *p, const struct fm_side *s)
{
	static const char *const heads[] = {"instance", "message", "process", "state", "reason",
	        "time per call", "replaced by process"};
	bool begun = false, any = false;

	fm_page(p, "### Trials that do not count\n\n");
	for (size_t i = 0; i < s->cells.count; i++)
		any = any || s->cells.list[i].rejected_count > 0;
	if (any)
		fm_page(p, "A process that the machine disturbed is run again. `superseded`: "
		           "measured, then another one took its place, for the reason given "
		           "(see the flags above) and never for its time; `invalid`: no "
		           "measurement. The time printed here counts in no figure.\n\n");
	for (size_t i = 0; i < s->cells.count; i++)
		for (size_t k = 0; k < s->cells.list[i].rejected_count; k++) {
			const struct fm_cell_fig *c = &s->cells.list[i];
			const struct fm_rejected *x = &c->rejected[k];
			if (!begun)
				fm_page_table(p, heads, 7);
			begun = true;
			fm_page_row(p);
			fm_page_cell_code(p, c->label);
			fm_page_cell(p, "%lld B", (long long)c->bytes);
			fm_page_cell(p, "%lld", (long long)x->process);
			fm_page_cell(p, "%s", fm_state_name[x->state]);
			fm_page_cell(p, "%s", fm_reason_name[x->reason]);
			fm_page_cell(p, "%s",
			        x->calls > 0 ? fm_n_time((double)x->ns / 1e9 / (double)x->calls,
			                               FM_STYLE_OWN)
			                               .s
			                     : DASH);
			fm_page_cell(
			        p, "%s", x->replaced_by > 0 ? fm_n_int(x->replaced_by).s : DASH);
			fm_page_row_end(p);
		}
	fm_page(p, begun ? "\n" : "None: every trial of a measured cell counts.\n\n");
}

static void write_failures(struct fm_page *p, const struct fm_side *s)
{
	const char *last = "";

	for (size_t i = 0; i < s->cells.count; i++) {
		const struct fm_cell_fig *c = &s->cells.list[i];
		if (c->state == FM_CELL_MEASURED || c->text == NULL || strcmp(c->text, last) == 0)
			continue;
		fm_page(p, "- `%s`: %s (%s): ", c->label, c->klass, c->reason);
		fm_page_text(p, c->text);
		fm_page(p, "\n");
		last = c->text;
	}
	if (*last != '\0')
		fm_page(p, "\n");
}

int fm_page_performance(struct fm_page *p, const struct fm_report *r, const struct fm_side *s)
{
	bool cycles = false;
	const char *heads[] = {"instance", "message", "mean cycles", "cycles/byte", "mean time",
	        "MB/s", "n", "median time", "95 %", "spread", "CPU", "flags"};
	char file[2 * FM_NAME_MAX];
	int rc;

	for (size_t i = 0; i < s->cells.count; i++)
		cycles = cycles || s->cells.list[i].count == FM_COUNT_CYCLES;
	if (cycles)
		heads[7] = "median cycles";
	fm_page(p, "## 4. Performance\n\n");
	if (any_measured(s))
		fm_page(p,
		        "%s Figures are over processes of one build, called in a "
		        "shared library.%s\n\n",
		        cycles ? "Counts are core cycles in user mode; median, interval and spread "
		                 "are "
		                 "those of the cycles."
		               : "This system gave no core cycles, so the cycle columns are empty "
		                 "and "
		                 "median, interval and spread are "
		                 "those of the time.",
		        r->smoke ? " The profile `smoke` makes too few processes for intervals."
		                 : "");
	fm_page_table(p, heads, 12);
	for (size_t i = 0; i < s->cells.count; i++)
		if (s->cells.list[i].state == FM_CELL_MEASURED)
			performance_row(p, &s->cells.list[i]);
		else
			failed_row(p, &s->cells.list[i], 12);
	fm_page(p, "\n");
	fm_page_flags(p, &s->cells);
	write_failures(p, s);
	snprintf(file, sizeof file, "perf_%s.html", s->system->plan->name);
	if ((rc = fm_chart_candidate(p, s, file)) != FM_OK ||
	        (rc = fm_chart_flagged(
	                 p, &s->cells, file, "Processes of flagged cells, a mark each")) != FM_OK)
		return rc;
	write_ticks(p, s);
	fm_page_derived(p, s);
	fm_page_model(p, s);
	/* the records of others keep only a number of retries */
	if (r->mark == NULL && s->have)
		write_rejected(p, s);
	return FM_OK;
}

int fm_page_candidate(struct fm_report *r, const struct fm_side *s)
{
	const char **labels = NULL;
	struct fm_page page;
	size_t count;
	char *path;
	int rc;

	fm_page_start(&page);
	if ((rc = fm_labels(&s->cells, &s->builds, &labels, &count)) != FM_OK)
		goto out;
	write_head(&page, r, s);
	write_basic(&page, s, labels, count);
	fm_page_environment(&page, s);
	write_kat(&page, s, labels, count);
	fm_page_properties(&page, s, labels, count);
	if ((rc = fm_page_performance(&page, r, s)) != FM_OK ||
	        (rc = fm_page_resources(&page, s)) != FM_OK ||
	        (rc = fm_page_evidence(&page, r, s, labels, count)) != FM_OK)
		goto out;
	rc = FM_ERR_MEMORY;
	if ((path = fm_sprintf("%s/perf_%s.md", s->candidate->id, s->system->plan->name)) != NULL) {
		rc = fm_report_page(r, path, &page);
		free(path);
	}
out:
	free(labels);
	fm_page_free(&page);
	return rc;
}
