/* report_foreign.c: pages of a data set in our own layout, each marked as published elsewhere and
 * unsigned. */
#include "orchestrator/report_foreign.h"

#include "orchestrator/number.h"
#include "orchestrator/page_data.h"
#include "orchestrator/page_dataset.h"
#include "orchestrator/report_parts.h"
#include "orchestrator/report_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char elsewhere[] = "Published elsewhere, unsigned: computed from the records of "
                                "another project, not measured by Fleetmark.",
                  copied[] = "Unsigned: computed from a data set; the seals lie in the tree it "
                             "was taken from.";

struct foreign {
	struct fm_report r;
	struct fm_dataset *d;
	const char **systems;
	struct fm_summary *summaries; /* per system */
	size_t before;                /* files given before the pages */
	size_t at;                    /* of the system whose records are read */
	const struct fm_side *side;   /* whose records are read */
};

static void put(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text == NULL ? "" : text);
}

static double khz(const struct fm_env *e, enum fm_env_key key)
{
	const char *text = fm_env_get(e, key);
	uint64_t v;

	return text != NULL && fm_parse_u64(text, 1u << 30, &v) == FM_OK ? (double)v : -1;
}

static void fill_system(const struct fm_dataset_system *from, const struct fm_plan_system *plan,
        struct fm_report_system *s)
{
	const struct fm_env *e = &from->shown.environment;

	s->plan = plan;
	s->any = true;
	put(s->cpu_model, sizeof s->cpu_model, fm_env_get(e, FM_ENV_CPU_MODEL));
	put(s->os, sizeof s->os, fm_env_get(e, FM_ENV_OS));
	put(s->kernel, sizeof s->kernel, fm_env_get(e, FM_ENV_KERNEL));
	put(s->compiler, sizeof s->compiler, fm_env_get(e, FM_ENV_COMPILER));
	put(s->label, sizeof s->label, isfinite(from->shown.mean_cycles) ? "core_cycles" : "ns");
	put(s->scope, sizeof s->scope, "user");
	s->emulated = from->shown.emulated;
	s->memory_kib = e->value[FM_ENV_MEMORY_KIB].number;
	s->nominal_khz = (int64_t)khz(e, FM_ENV_MAX_KHZ);
	s->measured_hz = e->value[FM_ENV_CLOCK_HZ].number;
	s->virtual_machine = e->value[FM_ENV_VIRTUALIZED].number != 0;
}

static int add_candidate(struct fm_report *r, const struct fm_names *names, const char *id)
{
	struct fm_candidates *all = &r->plan.candidates;
	struct fm_candidate *c;

	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->list[i].id, id) == 0)
			return FM_OK;
	if ((c = fm_grow(&all->list, &all->count, sizeof *c)) == NULL)
		return FM_ERR_MEMORY;
	snprintf(c->id, sizeof c->id, "%s", id);
	return fm_names_of(names, id, &c->name, &c->page);
}

static int naturally(const void *a, const void *b)
{
	return fm_natural(
	        ((const struct fm_candidate *)a)->id, ((const struct fm_candidate *)b)->id);
}

/* The shape of a campaign around the data set, as far as pages need one. */
static int make_report(struct foreign *f, const struct fm_names *names)
{
	struct fm_report *r = &f->r;
	size_t n = f->d->count;
	int rc = FM_OK;

	r->plan.publish = 1;
	r->mark = elsewhere;
	r->plan.systems = fm_alloc_array(n + 1, sizeof *r->plan.systems);
	r->systems = fm_alloc_array(n + 1, sizeof *r->systems);
	f->systems = fm_alloc_array(n + 1, sizeof *f->systems);
	f->summaries = fm_alloc_array(n + 1, sizeof *f->summaries);
	if (r->plan.systems == NULL || r->systems == NULL || f->systems == NULL ||
	        f->summaries == NULL)
		return FM_ERR_MEMORY;
	r->plan.system_count = r->system_count = n;
	for (size_t i = 0; i < n && rc == FM_OK; i++) {
		const struct fm_dataset_system *s = &f->d->systems[i];
		struct fm_plan_system *p = &r->plan.systems[i];
		snprintf(p->name, sizeof p->name, "%s", s->name);
		put(p->arch, sizeof p->arch,
		        fm_env_get(&s->shown.environment, FM_ENV_ARCHITECTURE));
		f->systems[i] = p->name;
		fill_system(s, p, &r->systems[i]);
		if (s->shown.own)
			r->mark = copied;
		for (size_t k = 0; k < s->candidate_count && rc == FM_OK; k++)
			rc = add_candidate(r, names, s->candidates[k]);
	}
	if (r->plan.candidates.count > 1)
		qsort(r->plan.candidates.list, r->plan.candidates.count,
		        sizeof *r->plan.candidates.list, naturally);
	return rc;
}

static int add_record(void *arg, const struct fm_record *r, const char *text, size_t len)
{
	struct foreign *f = arg;
	struct fm_cell_fig c = {.bytes = r->input_bytes,
	        .count = isfinite(r->mean_cycles) ? FM_COUNT_CYCLES : FM_COUNT_NONE};
	int rc = FM_OK;

	(void)text;
	(void)len;
	put(c.label, sizeof c.label, r->label);
	put(c.instance, sizeof c.instance, r->instance);
	fm_record_key(r, c.key);
	for (size_t i = 0; i < r->trial_count && rc == FM_OK; i++) {
		const struct fm_attempt a = {(int64_t)i + 1, -1, r->trials[i].measurements,
		        (int64_t)llround(r->trials[i].seconds * 1e9), r->trials[i].cycles,
		        "accepted", NULL};
		rc = fm_export_process(&f->r, f->side, &c, &a);
	}
	if (rc != FM_OK)
		return rc;
	return fm_summary_add(&f->summaries[f->at], r, &f->d->systems[f->at].shown.environment);
}

static int candidate_page(
        struct foreign *f, const struct fm_candidate *c, const struct fm_side *side, bool own)
{
	const struct fm_dataset_system *s = &f->d->systems[f->at];
	struct fm_page_published p = {.system = s->name,
	        .id = c->id,
	        .name = c->name,
	        .address = c->page,
	        .env = &s->shown.environment,
	        .started = s->started,
	        .ended = s->ended,
	        .systems = f->systems,
	        .system_count = f->d->count,
	        .cells = &side->cells,
	        .builds = &side->builds,
	        .own = own,
	        .report = &f->r,
	        .side = side};
	struct fm_page page;
	char *path = fm_sprintf("%s/perf_%s.md", c->id, s->name);
	int rc = path == NULL ? FM_ERR_MEMORY : FM_OK;

	fm_page_start(&page);
	if (rc == FM_OK && (rc = fm_page_published(&p, &page)) == FM_OK)
		rc = fm_report_page(&f->r, path, &page);
	fm_page_free(&page);
	free(path);
	return rc;
}

static int one_candidate(struct foreign *f, const struct fm_candidate *c)
{
	struct fm_side *sides = fm_alloc_array(f->d->count + 1, sizeof *sides);
	int rc = sides == NULL ? FM_ERR_MEMORY : FM_OK;

	for (f->at = 0; f->at < f->d->count && rc == FM_OK; f->at++) {
		struct fm_side *s = &sides[f->at];
		size_t *counts[] = {&f->r.systems[f->at].accepted, &f->r.systems[f->at].failed};
		bool own;
		s->system = &f->r.systems[f->at];
		s->candidate = c;
		f->side = s;
		rc = fm_dataset_candidate(f->d, &f->d->systems[f->at], c->id, &s->cells, &s->builds,
		        &own, add_record, f);
		for (size_t i = 0; i < s->cells.count; i++)
			++*counts[s->cells.list[i].state != FM_CELL_MEASURED];
		if (rc == FM_OK && (rc = fm_export_side(&f->r, s)) == FM_OK)
			rc = candidate_page(f, c, s, own);
	}
	if (rc == FM_OK)
		rc = fm_page_compare(&f->r, c, sides);
	for (size_t i = 0; sides != NULL && i < f->d->count; i++)
		fm_side_free(&sides[i]);
	free(sides);
	return rc;
}

static int system_pages(struct foreign *f, size_t at)
{
	const struct fm_candidates *all = &f->r.plan.candidates;
	struct fm_candidate_name *names = fm_alloc_array(all->count + 1, sizeof *names);
	const struct fm_dataset_system *s = &f->d->systems[at];
	struct fm_page page;
	char path[FM_NAME_MAX + 40];
	int rc = names == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; rc == FM_OK && i < all->count; i++)
		names[i] = (struct fm_candidate_name){all->list[i].id, all->list[i].name};
	fm_page_start(&page);
	snprintf(path, sizeof path, "performance/summary_%s.md", s->name);
	if (rc == FM_OK && (rc = fm_page_dataset_summary(
	                            &page, s, &f->summaries[at], names, all->count)) == FM_OK)
		rc = fm_report_page(&f->r, path, &page);
	fm_page_free(&page);
	fm_page_start(&page);
	snprintf(path, sizeof path, "performance/method_%s.md", s->name);
	if (rc == FM_OK && (rc = fm_page_dataset_method(&page, s, &f->summaries[at])) == FM_OK)
		rc = fm_report_page(&f->r, path, &page);
	fm_page_free(&page);
	free(names);
	return rc;
}

static int index_page(struct foreign *f)
{
	static const char *const heads[] = {
	        "system", "processor", "records", "not complete", "pages"};
	const struct fm_report *r = &f->r;
	struct fm_page page, *p = &page;
	int rc;

	fm_page_start(p);
	fm_page(p, "# A data set in the published form\n\n");
	fm_page_warnings(p, r, NULL);
	fm_page(p, "## Systems\n\n");
	fm_page_table(p, heads, 5);
	for (size_t i = 0; i < r->system_count; i++) {
		const struct fm_report_system *s = &r->systems[i];
		fm_page_row(p);
		fm_page_cell(p, "%s", s->plan->name);
		fm_page_cell_text(p, s->cpu_model);
		fm_page_cell(p, "%zu", s->accepted + s->failed);
		fm_page_cell(p, "%zu", s->failed);
		fm_page_cell(p,
		        "[summary](performance/summary_%s.md), [method](performance/method_%s.md)",
		        s->plan->name, s->plan->name);
		fm_page_row_end(p);
	}
	fm_page(p, "\n## Candidates\n\n");
	if (!r->no_ranks)
		fm_page(p, "[All side by side, from the published tables](compare.md)\n\n");
	for (size_t k = 0; k < r->plan.candidates.count; k++) {
		const struct fm_candidate *c = &r->plan.candidates.list[k];
		fm_page(p, "- %s ", c->id);
		fm_page_text(p, c->name);
		fm_page(p, ": [side by side](%s/compare.md)", c->id);
		for (size_t i = 0; i < r->system_count; i++)
			fm_page(p, ", [%s](%s/perf_%s.md)", f->systems[i], c->id, f->systems[i]);
		fm_page(p, "\n");
	}
	fm_page(p, "\n## Data\n\n[data/cells.csv](data/cells.csv) and "
	           "[data/cells.json](data/cells.json): every record with its figures, units in "
	           "the names of the columns; [data/processes.csv](data/processes.csv): every "
	           "trial.\n\n");
	rc = fm_report_page(&f->r, "index.md", p);
	fm_page_free(p);
	return rc;
}

static int all_pages(struct foreign *f)
{
	int rc = fm_report_tables(
	        f->d->dirfd, f->systems, f->d->count, &f->r.sink, "[Index](index.md)\n\n");

	f->r.no_ranks = f->r.sink.files == f->before;
	for (size_t i = 0; i < f->r.plan.candidates.count && rc == FM_OK; i++)
		rc = one_candidate(f, &f->r.plan.candidates.list[i]);
	for (size_t i = 0; i < f->d->count && rc == FM_OK; i++)
		rc = system_pages(f, i);
	return rc == FM_OK ? index_page(f) : rc;
}

int fm_report_foreign(struct fm_dataset *d, const struct fm_names *names, struct fm_sink *sink)
{
	struct foreign f = {.d = d};
	int end, rc = make_report(&f, names);

	f.r.sink = *sink; /* comes back with what was given to it */
	if (rc == FM_OK)
		rc = fm_export_begin(&f.r);
	f.before = f.r.sink.files;
	if (rc == FM_OK)
		rc = all_pages(&f);
	end = fm_export_end(&f.r);
	rc = rc == FM_OK ? end : rc;
	*sink = f.r.sink;
	f.r.sink = (struct fm_sink){.dirfd = -1};
	for (size_t i = 0; f.summaries != NULL && i < d->count; i++)
		fm_summary_free(&f.summaries[i]);
	free(f.summaries);
	free(f.systems);
	fm_report_close(&f.r);
	return rc;
}
