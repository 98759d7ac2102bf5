/* page_dataset.c: summary and method page of one system of a published data set. */
#include "orchestrator/page_dataset.h"

#include "orchestrator/number.h"
#include "orchestrator/page_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\xe2\x80\x93"
#define WARN " \xe2\x9a\xa0 "

static const int64_t sizes[] = {32, 128, 512, 1024, 4096, 8192, 16384, 65536};
#define SIZES (sizeof sizes / sizeof *sizes)

void fm_summary_free(struct fm_summary *s)
{
	free(s->rows);
	memset(s, 0, sizeof *s);
}

static bool env_is(const struct fm_env *env, enum fm_env_key key, const char *text)
{
	const char *have = fm_env_get(env, key);
	return have != NULL && strcmp(have, text) == 0;
}

static bool same_text(const struct fm_env *a, const struct fm_env *b, enum fm_env_key key)
{
	const char *x = fm_env_get(a, key), *y = fm_env_get(b, key);
	return x == NULL || y == NULL ? x == y : strcmp(x, y) == 0;
}

static void count_state(struct fm_summary *s, const struct fm_record *r, const struct fm_env *usual)
{
	const struct fm_env *e = &r->environment;

	s->records++;
	s->turbo += env_is(e, FM_ENV_NO_TURBO, "0") || env_is(e, FM_ENV_BOOST, "1");
	s->governor += !env_is(e, FM_ENV_GOVERNOR, "performance");
	s->smt += env_is(e, FM_ENV_SMT, "on");
	s->no_cycles += isnan(r->mean_cycles);
	s->clock += !same_text(e, usual, FM_ENV_MAX_KHZ) || !same_text(e, usual, FM_ENV_MIN_KHZ);
	s->trials = r->trials_planned;
	if (r->iterations_per_trial > s->largest_calls)
		s->largest_calls = r->iterations_per_trial;
	if (s->least_calls == 0 || r->measurements < s->least_calls)
		s->least_calls = r->measurements;
}

int fm_summary_add(struct fm_summary *s, const struct fm_record *r, const struct fm_env *usual)
{
	bool baseline = strcmp(r->variant, "iccs-baseline") == 0;
	struct fm_summary_row *row;

	if (r->complete)
		count_state(s, r, usual);
	if (!baseline && (strcmp(r->variant, "reference") != 0 ||
	                         (r->input_bytes != 32 && r->input_bytes != 1024 &&
	                                 r->input_bytes != 65536)))
		return FM_OK;
	if ((row = fm_grow(&s->rows, &s->count, sizeof *row)) == NULL)
		return FM_ERR_MEMORY;
	snprintf(row->candidate, sizeof row->candidate, "%s", r->candidate);
	snprintf(row->label, sizeof row->label, "%s", r->label);
	snprintf(row->kat, sizeof row->kat, "%.30s", r->kat == NULL ? "" : r->kat);
	row->baseline = baseline;
	row->complete = r->complete;
	row->bytes = r->input_bytes;
	row->digest_bits = 8 * r->digest_bytes;
	row->measurements = r->measurements;
	row->mean_cycles = r->complete ? r->mean_cycles : NAN;
	return FM_OK;
}

/* pseudoXOF with these output bits. */
static double baseline_of(const struct fm_summary *s, int64_t bits, int64_t bytes)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct fm_summary_row *r = &s->rows[i];
		if (r->baseline && r->complete && r->bytes == bytes && r->digest_bits == bits &&
		        strncmp(r->label, "pseudoXOF", 9) == 0)
			return r->mean_cycles;
	}
	return NAN;
}

static int in_order(const void *a, const void *b)
{
	const struct fm_summary_row *x = a, *y = b;
	int d = strcmp(x->candidate, y->candidate);

	if (x->baseline != y->baseline)
		return x->baseline ? -1 : 1;
	if (d == 0)
		d = fm_natural(x->label, y->label);
	return d != 0 ? d : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static bool same_row(const struct fm_summary_row *a, const struct fm_summary_row *b)
{
	return a->baseline == b->baseline && strcmp(a->candidate, b->candidate) == 0 &&
	       strcmp(a->label, b->label) == 0;
}

static const struct fm_summary_row *cell_of(
        const struct fm_summary *s, size_t from, size_t to, int64_t bytes)
{
	for (size_t i = from; i < to; i++)
		if (s->rows[i].bytes == bytes)
			return &s->rows[i];
	return NULL;
}

static void warn(struct fm_page *p, const char *what, const char *status)
{
	fm_page(p, WARN "%s ", what);
	fm_page_plain(p, "kat", status);
}

static void helper_row(struct fm_page *p, const struct fm_summary *s, size_t from, size_t to)
{
	const struct fm_summary_row *last = cell_of(s, from, to, 65536);

	fm_page(p, "| `%s`", s->rows[from].label);
	if (strcmp(s->rows[from].kat, "PASS") != 0)
		warn(p, "self-test", s->rows[from].kat);
	fm_page(p, " |");
	for (size_t k = 0; k < SIZES; k++) {
		const struct fm_summary_row *c = cell_of(s, from, to, sizes[k]);
		fm_page(p, " %s |",
		        c == NULL      ? DASH
		        : !c->complete ? "failed"
		                       : fm_n_cycles(c->mean_cycles, FM_STYLE_PUBLISHED).s);
	}
	fm_page(p, " %s |\n", last == NULL ? DASH : fm_n_per_byte(last->mean_cycles / 65536).s);
}

static void hash_cell(struct fm_page *p, const struct fm_summary *s, const struct fm_summary_row *c)
{
	if (c == NULL || !c->complete) {
		fm_page(p, " %s |", c == NULL ? DASH : "failed");
		return;
	}
	double ratio = c->mean_cycles / baseline_of(s, c->digest_bits, c->bytes);
	fm_page(p, " %s (%s%s)", fm_n_cycles(c->mean_cycles, FM_STYLE_PUBLISHED).s,
	        isfinite(ratio) ? "" : "ratio ", fm_n_times(ratio).s);
	if (c->measurements < 100)
		fm_page(p, " (n=%lld)", (long long)c->measurements);
	fm_page(p, " |");
}

static void hash_row(struct fm_page *p, const struct fm_dataset_system *system,
        const struct fm_summary *s, size_t from, size_t to, const char *name)
{
	const struct fm_summary_row *r = &s->rows[from];
	bool pass = strcmp(r->kat, "PASS") == 0;

	fm_page(p, "| [%s](../%s/perf_%s.md) | ", r->candidate, r->candidate, system->name);
	fm_page_plain(p, "name", name);
	fm_page(p, " | `%s`", r->label);
	if (!pass)
		warn(p, "KAT", r->kat);
	fm_page(p, " |");
	hash_cell(p, s, cell_of(s, from, to, 32));
	hash_cell(p, s, cell_of(s, from, to, 1024));
	hash_cell(p, s, cell_of(s, from, to, 65536));
	fm_page(p, " %s |\n", pass ? DASH : "output not validated");
}

static const char *name_of(const struct fm_candidate_name *names, size_t count, const char *id)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i].id, id) == 0)
			return names[i].name;
	return DASH;
}

static void tables(struct fm_page *p, const struct fm_dataset_system *system,
        const struct fm_summary *s, const struct fm_candidate_name *names, size_t name_count,
        bool baseline)
{
	if (baseline) {
		fm_page(p, "## ICCS hash helpers\n\n| function |");
		for (size_t k = 0; k < SIZES; k++)
			fm_page(p, " %s |", fm_n_size((uint64_t)sizes[k]).s);
		fm_page(p, " cycles/byte at 64 KiB |\n|---|---|---|---|---|---|---|---|---|---|\n");
	} else {
		fm_page(p, "## Hash functions\n\n| id | algorithm | instance | 32 B | 1 KiB | 64 "
		           "KiB | notes |\n|---|---|---|---|---|---|---|\n");
	}
	for (size_t from = 0, to; from < s->count; from = to) {
		for (to = from + 1; to < s->count && same_row(&s->rows[from], &s->rows[to]); to++)
			;
		if (s->rows[from].baseline != baseline)
			continue;
		if (baseline)
			helper_row(p, s, from, to);
		else
			hash_row(p, system, s, from, to,
			        name_of(names, name_count, s->rows[from].candidate));
	}
	fm_page(p, "\n");
}

static void unsigned_notice(struct fm_page *p)
{
	fm_page(p, "> Published elsewhere, unsigned: computed from the records of another "
	           "project.\n\n");
}

int fm_page_dataset_summary(struct fm_page *p, const struct fm_dataset_system *s,
        struct fm_summary *sum, const struct fm_candidate_name *names, size_t name_count)
{
	const struct fm_env *env = &s->shown.environment;
	const char *arch, *guide;
	int rc;

	if ((rc = fm_page_arch(fm_env_get(env, FM_ENV_ARCHITECTURE), &arch, &guide)) != FM_OK)
		return rc;
	if (sum->count > 1)
		qsort(sum->rows, sum->count, sizeof *sum->rows, in_order);
	fm_page(p, "# Performance \xe2\x80\x94 %s, system %s\n\n[method](method_%s.md)\n\n", arch,
	        s->name, s->name);
	if (!s->shown.own)
		unsigned_notice(p);
	fm_page(p, "One core of ");
	fm_page_plain(p, "cpu_model", fm_env_get(env, FM_ENV_CPU_MODEL));
	fm_page(p, "; clock ");
	fm_page_clock(p, env);
	fm_page(p, ".\n\n- A cell is the mean number of cycles of one call and, in brackets, its "
	           "ratio to pseudoXOF with as many output bits "
	           "at the same message size on this system; `ratio " DASH
	           "` where that was not measured.\n"
	           "- `(n=k)`: fewer than 100 timed calls; " DASH
	           ": no record; failed: the record is not complete.\n\n");
	tables(p, s, sum, names, name_count, true);
	tables(p, s, sum, names, name_count, false);
	return fm_page_end(p);
}

/* "3 of 2746 records: turbo on" for every kind of deviation that occurs. */
static void deviations(struct fm_page *p, const struct fm_summary *s)
{
	const struct {
		size_t count;
		const char *what;
	} kind[] = {{s->turbo, "turbo or boost on"}, {s->governor, "governor not performance"},
	        {s->smt, "SMT on"}, {s->no_cycles, "no cycle count"},
	        {s->clock, "another clock setting"}};
	bool any = false;

	fm_page(p, "- Host state, of %zu records:", s->records);
	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
		if (kind[i].count == 0)
			continue;
		fm_page(p, "%s %zu with %s", any ? "," : "", kind[i].count, kind[i].what);
		any = true;
	}
	fm_page(p, "%s.\n",
	        any ? ""
	            : " none deviates from turbo off, governor performance, SMT off, this clock");
}

int fm_page_dataset_method(
        struct fm_page *p, const struct fm_dataset_system *s, const struct fm_summary *sum)
{
	const struct fm_env *env = &s->shown.environment;
	const char *arch, *guide;
	int rc;

	if ((rc = fm_page_arch(fm_env_get(env, FM_ENV_ARCHITECTURE), &arch, &guide)) != FM_OK)
		return rc;
	fm_page(p, "# Method \xe2\x80\x94 %s, system %s\n\n[summary](summary_%s.md)\n\n", arch,
	        s->name, s->name);
	if (!s->shown.own)
		unsigned_notice(p);
	fm_page(p, "The system: ");
	fm_page_plain(p, "cpu_model", fm_env_get(env, FM_ENV_CPU_MODEL));
	fm_page(p, ", ");
	fm_page_plain(p, "os", fm_env_get(env, FM_ENV_OS));
	fm_page(p, ", kernel ");
	fm_page_plain(p, "kernel", fm_env_get(env, FM_ENV_KERNEL));
	fm_page(p, ", ");
	fm_page_plain(p, "compiler", fm_env_get(env, FM_ENV_COMPILER));
	fm_page(p, ".\n\n## Measurement\n\n- Each process is pinned to one core; clock ");
	fm_page_clock(p, env);
	fm_page(p, ".\n- Counter: core cycles in user mode, where the record has any; wall time "
	           "beside them.\n");
	deviations(p, sum);
	fm_page(p,
	        "- Build flags: those of the guide where the column says `guide`.\n- Known answers "
	        "are checked before timing; the KAT "
	        "column of a page has the result.\n- Plan: %lld trials, each a process of its own, "
	        "at most %lld calls a trial here; the "
	        "smallest record has %lld calls in all.\n- The printed mean is all cycles (or "
	        "seconds) over all calls.\n\n"
	        "## Limitations\n\n- One machine and one build of each library; the mean alone "
	        "says nothing of the spread.\n"
	        "- Resident sizes are those of the whole process, the largest of several "
	        "processes.\n\n",
	        (long long)sum->trials, (long long)sum->largest_calls, (long long)sum->least_calls);
	return fm_page_end(p);
}
