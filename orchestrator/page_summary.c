/* page_summary.c: summary_<system>.md and method_<system>.md of a tree. */
#include "orchestrator/number.h"
#include "orchestrator/page_data.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\xe2\x80\x93"
#define WARN "\xe2\x9a\xa0"

static const char *arch_name(const char *arch)
{
	return strcmp(arch, "aarch64") == 0 ? "AArch64" : "x86-64";
}

static int index_of(const struct fm_report *r, const struct fm_report_system *s)
{
	return (int)(s - r->systems);
}

static void write_counts(struct fm_page *p, const struct fm_report_system *s)
{
	fm_page(p, "- Cells: %zu accepted, %zu failed, %zu missing, %zu rejected.\n", s->accepted,
	        s->failed, s->missing, s->rejected);
}

static void write_system(struct fm_page *p, const struct fm_report_system *s)
{
	if (!s->any) {
		fm_page(p, "No bundle of this system was accepted.\n\n");
		return;
	}
	fm_page_text(p, s->cpu_model);
	fm_page(p, ", CPU %lld; clock nominal %s, measured %s", (long long)s->cpu,
	        fm_n_clock((double)s->nominal_khz).s, fm_n_clock((double)s->measured_hz / 1e3).s);
	fm_page(p, "; counts: %s by %s, scope %s", s->label, s->source, s->scope);
	if (s->hz > 0)
		fm_page(p, " (%.4g MHz)", (double)s->hz / 1e6);
	fm_page(p, ".\n\n");
}

/* One value of a summary table: cycles, or the time where there are none. */
static void value(struct fm_page *p, const struct fm_brief_cell *c)
{
	if (isfinite(c->mean_cycles))
		fm_page(p, "%s", fm_n_cycles(c->mean_cycles, FM_STYLE_OWN).s);
	else
		fm_page(p, "%s", fm_n_time(c->mean_seconds, FM_STYLE_OWN).s);
}

/* `<cycles> (<ratio>)`, with the number of calls where it is below 100. */
static void hash_cell(
        struct fm_page *p, const struct fm_brief *b, const struct fm_brief *base, int k)
{
	const struct fm_brief_cell *c = &b->size[k];
	double ratio;

	if (!c->there) {
		fm_page_cell(p, DASH);
		return;
	}
	if (c->state != FM_CELL_MEASURED) {
		fm_page_cell(
		        p, "%s: %s", c->state == FM_CELL_MISSING ? "missing" : "failed", c->klass);
		return;
	}
	fm_page(p, " ");
	value(p, c);
	ratio = fm_report_ratio(b, base, k);
	fm_page(p, isfinite(ratio) ? " (%s)" : " (ratio %s)", fm_n_times(ratio).s);
	if (c->measurements < 100)
		fm_page(p, " (n=%u)", (unsigned)c->measurements);
	if (c->mark[0] != '\0')
		fm_page(p, " " WARN " %s", c->mark);
	fm_page(p, " |");
}

static void baseline_row(struct fm_page *p, const struct fm_brief *b, bool cycles)
{
	const struct fm_brief_cell *large = &b->size[FM_BRIEF_LARGE];

	fm_page_row(p);
	fm_page_cell_code(p, b->instance->name);
	for (int k = 0; k < FM_SIZES; k++) {
		const struct fm_brief_cell *c = &b->size[k];
		fm_page(p, " ");
		if (c->there && c->state == FM_CELL_MEASURED)
			value(p, c);
		else
			fm_page(p, "%s", c->there ? "failed" : DASH);
		if (c->mark[0] != '\0')
			fm_page(p, " " WARN " %s", c->mark);
		fm_page(p, " |");
	}
	if (!large->there || large->state != FM_CELL_MEASURED)
		fm_page_cell(p, DASH);
	else if (cycles)
		fm_page_cell(p, "%s", fm_n_per_byte(large->mean_cycles / 65536).s);
	else
		fm_page_cell(p, "%s", fm_n_decimals(large->mean_seconds * 1e9 / 65536, 2).s);
	fm_page_row_end(p);
}

static void write_baseline(
        struct fm_page *p, const struct fm_report *r, const struct fm_report_system *s)
{
	const char *heads[FM_SIZES + 2] = {"instance"};
	bool cycles = strcmp(s->label, "core_cycles") == 0;
	struct fm_num text[FM_SIZES];

	fm_page(p, "## ICCS hash helpers\n\n");
	for (int i = 0; i < FM_SIZES; i++) {
		text[i] = fm_n_size(fm_sizes[i]);
		heads[i + 1] = text[i].s;
	}
	heads[FM_SIZES + 1] = cycles ? "cycles/byte at 64 KiB" : "ns/byte at 64 KiB";
	fm_page_table(p, heads, FM_SIZES + 2);
	for (size_t i = 0; i < r->baseline_count; i++)
		if (r->baselines[i].system == index_of(r, s))
			baseline_row(p, &r->baselines[i], cycles);
	fm_page(p, "\n");
}

/* Rows of one version; reference in the first table, the further builds in one of their own. */
static void write_hashes(struct fm_page *p, const struct fm_report *r,
        const struct fm_report_system *s, bool further)
{
	static const char *const heads[] = {
	        "id", "algorithm", "instance", "32 B", "1 KiB", "64 KiB", "notes"};
	static const int sizes[] = {0, 3, FM_BRIEF_LARGE};

	fm_page_table(p, heads, 7);
	for (size_t i = 0; i < r->brief_count; i++) {
		const struct fm_brief *b = &r->briefs[i], *base;
		const char *why = b->size[FM_BRIEF_LARGE].why;
		char label[FM_LABEL_MAX + 1];
		if (b->system != index_of(r, s) || (b->version != FM_VERSION_REFERENCE) != further)
			continue;
		base = fm_report_baseline(r, b->system, b->instance->digest_bits);
		fm_side_label(b->instance->name, b->version, label);
		fm_page(p, "| [%s](%s/perf_%s.md) | ", b->candidate->id, b->candidate->id,
		        s->plan->name);
		fm_page_text(p, b->candidate->name);
		fm_page(p, " | `%s` |", label);
		for (int k = 0; k < 3; k++)
			hash_cell(p, b, base, sizes[k]);
		fm_page_cell(p, "%s%s%s", b->kat[0] == '\0' && why == NULL ? DASH : b->kat,
		        b->kat[0] != '\0' && why != NULL ? "; " : "", why == NULL ? "" : why);
		fm_page_row_end(p);
	}
	fm_page(p, "\n");
}

int fm_page_summary(struct fm_report *r, struct fm_report_system *s)
{
	struct fm_page page;
	char path[FM_NAME_MAX + 32];
	bool further = false;
	int rc;

	fm_page_start(&page);
	fm_page(&page, "# Performance \xe2\x80\x94 %s, system %s\n\n", arch_name(s->plan->arch),
	        s->plan->name);
	fm_page(&page,
	        "[Index](index.md) \xc2\xb7 [method](method_%s.md) \xc2\xb7 [all candidates side "
	        "by side](compare.md)\n\n",
	        s->plan->name);
	fm_page_warnings(&page, r, s);
	write_system(&page, s);
	fm_page(&page,
	        "- A cell is the mean %s of one call and, in brackets, its ratio to pseudoXOF with "
	        "as many output bits at the "
	        "same size on this system; %s where there is none.\n- `(n=k)`: fewer than 100 "
	        "timed calls. " WARN ": the cell carries a flag, its page says which.\n",
	        strcmp(s->label, "core_cycles") == 0 ? "number of core cycles" : "time",
	        "`ratio " DASH "`");
	write_counts(&page, s);
	fm_page(&page, "\n");
	if (r->baseline_count > 0)
		write_baseline(&page, r, s);
	fm_page(&page, "## Hash functions\n\n");
	write_hashes(&page, r, s, false);
	for (size_t i = 0; i < r->brief_count; i++)
		further = further || (r->briefs[i].version != FM_VERSION_REFERENCE &&
		                             r->briefs[i].system == index_of(r, s));
	if (further) {
		fm_page(&page, "## Further builds\n\n");
		write_hashes(&page, r, s, true);
	}
	fm_page_ratios(&page, r, index_of(r, s));
	snprintf(path, sizeof path, "summary_%s.md", s->plan->name);
	rc = fm_report_page(r, path, &page);
	fm_page_free(&page);
	return rc;
}

static void write_measurement(
        struct fm_page *p, const struct fm_report *r, const struct fm_report_system *s)
{
	fm_page(p,
	        "## Measurement\n\n- Profile `%s`, known answers `%s`; every timing is made by a "
	        "fresh process that loads one "
	        "library, repeats its digest check and exits.\n",
	        r->plan.profile, r->plan.kat);
	if (s->any) {
		fm_page(p, "- Core: CPU %lld of ", (long long)s->cpu);
		fm_page_text(p, s->cpu_model);
		fm_page(p,
		        "; clock nominal %s, measured %s to %s.\n- Counter: %s by %s, "
		        "scope %s",
		        fm_n_clock((double)s->nominal_khz).s,
		        fm_n_clock((double)s->measured_low / 1e3).s,
		        fm_n_clock((double)s->measured_high / 1e3).s, s->label, s->source,
		        s->scope);
		fm_page(p,
		        "; wall time of the same windows beside it.\n- Isolation of measured code: "
		        "%s, seccomp %lld, Landlock "
		        "%lld.\n",
		        s->isolation, (long long)s->seccomp, (long long)s->landlock);
	}
	fm_page(p, "- Printed mean: all timed time (or cycles) over all timed calls of the "
	           "accepted processes. Medians, intervals "
	           "and flags are over the means of the processes; nothing is removed because of "
	           "its value.\n"
	           "- Gate: a library is timed if every known answer that was run agrees and at "
	           "least one was; without any "
	           "reference it is timed and marked `not validated`.\n\n");
}

static void write_flags(
        struct fm_page *p, const struct fm_report *r, const struct fm_report_system *s)
{
	static const char *const heads[] = {"version", "flags", "remark"};

	fm_page(p, "## Build flags\n\n");
	fm_page_table(p, heads, 3);
	for (size_t i = 0; i < r->plan.flags.count; i++) {
		const struct fm_flags_line *f = &r->plan.flags.list[i];
		if (strcmp(f->arch, s->plan->arch) != 0)
			continue;
		fm_page_row(p);
		fm_page_cell(p, "%s", fm_version_name[f->version]);
		fm_page_cell_code(p, f->flags);
		fm_page_cell_text(p, f->mark[0] == '\0' ? DASH : f->mark);
		fm_page_row_end(p);
	}
	fm_page(p, "\nAdded to every build: ");
	fm_page_code(p, r->plan.flags.additions);
	fm_page(p, ". Tried once where the guide's flags do not build or pass: ");
	fm_page_code(p, r->plan.flags.fallback);
	fm_page(p, ".\n\n");
}

int fm_page_method(struct fm_report *r, struct fm_report_system *s)
{
	struct fm_page page;
	char path[FM_NAME_MAX + 32];
	int rc;

	fm_page_start(&page);
	fm_page(&page, "# Method \xe2\x80\x94 %s, system %s\n\n", arch_name(s->plan->arch),
	        s->plan->name);
	fm_page(&page,
	        "[Index](index.md) \xc2\xb7 [summary](summary_%s.md) \xc2\xb7 [all "
	        "candidates](compare.md)\n\n",
	        s->plan->name);
	fm_page_warnings(&page, r, s);
	if (s->plan->about[0] != '\0') {
		fm_page(&page, "In the inventory: ");
		fm_page_text(&page, s->plan->about);
		fm_page(&page, "\n\n");
	}
	write_measurement(&page, r, s);
	write_flags(&page, r, s);
	fm_page(&page, "## Limitations\n\n- One core of one machine, one build of each library in "
	               "one order of linking: intervals are over "
	               "processes of one build.\n- Libraries are shared objects called through a "
	               "pointer; a program linked statically can "
	               "be a little faster.\n- All calls of a cell hash the "
	               "same message: work that depends on its bytes can be learnt by a branch "
	               "predictor, and is not seen as such.\n- Figures of two systems meet only on "
	               "the comparison "
	               "pages, whose headings name both.\n"
	               "- What the pages prove is that these samples came from the enrolled hosts "
	               "and were not changed since; not that "
	               "a host told the truth.\n\n");
	snprintf(path, sizeof path, "method_%s.md", s->plan->name);
	rc = fm_report_page(r, path, &page);
	fm_page_free(&page);
	return rc;
}
