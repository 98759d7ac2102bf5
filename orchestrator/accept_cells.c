/* accept_cells.c: the lists of one evidence.json against the plan and against each other: cells,
 * builds, known answers, measured cells, memory. */
#include "orchestrator/accept_parts.h"
#include "orchestrator/range.h"
#include <stdio.h>
#include <string.h>

/* Where the walk over the cells stands in the other lists, and what belongs to the unit (instance
 * and version) it is in. */
struct walk {
	size_t build, kat, measured, memory;
	const struct fm_ev_build *b; /* NULL before the first unit */
	const struct fm_ev_kat *k;   /* NULL without a good build */
	char where[320];             /* of the cell, for findings */
};

static bool same_unit(const char *i, const char *v, const char *instance, const char *version)
{
	return strcmp(i, instance) == 0 && strcmp(v, version) == 0;
}

/* log is <folder>/<instance>__<version>.log */
static bool log_ok(const char *log, const char *folder, const char *instance, const char *version)
{
	char want[2 * FM_NAME_MAX + 20];

	(void)snprintf(want, sizeof want, "%s/%s__%s.log", folder, instance, version);
	return strcmp(log, want) == 0;
}

/* The next build belongs to the unit that begins here, and the next known answers if it is good. */
static bool enter_unit(struct fm_accept *c, struct walk *w, const struct fm_ev_cell *cell)
{
	const struct fm_evidence *e = c->e;
	const struct fm_ev_build *b = &e->builds[w->build];
	const struct fm_ev_kat *k = &e->kat[w->kat];
	bool ok;

	if (w->b != NULL && same_unit(w->b->instance, w->b->version, cell->instance, cell->version))
		return true;
	if (w->build == e->build_count ||
	        !same_unit(b->instance, b->version, cell->instance, cell->version) ||
	        !log_ok(b->log, "build", b->instance, b->version)) {
		fm_accept_find(c, FM_ERR_FORM, w->where,
		        "builds[%zu] is not the one of this cell, with its log", w->build);
		return false;
	}
	ok = strcmp(b->status, "ok") == 0;
	if (ok != (b->library_sha256[0] != '\0')) {
		fm_accept_find(c, FM_ERR_FORM, w->where,
		        "builds[%zu]: a good build has a library, every other has none", w->build);
		return false;
	}
	w->b = b;
	w->build++;
	w->k = NULL;
	if (!ok)
		return true;
	if (w->kat == e->kat_count ||
	        !same_unit(k->instance, k->version, cell->instance, cell->version) ||
	        !log_ok(k->log, "kat", k->instance, k->version)) {
		fm_accept_find(c, FM_ERR_KAT_LINES, w->where,
		        "kat[%zu] is not the one of this build, with its log", w->kat);
		return false;
	}
	w->k = k;
	w->kat++;
	return true;
}

/* What was timed is the very library that was built and had passed. */
static bool check_measured(struct fm_accept *c, struct walk *w, const struct fm_ev_cell *cell)
{
	const struct fm_ev_measured *m = &c->e->measured[w->measured];
	char operation[40];

	if (w->measured == c->e->measured_count ||
	        !same_unit(m->instance, m->version, cell->instance, cell->version) ||
	        strcmp(m->operation, cell->operation) != 0) {
		fm_accept_find(c, FM_ERR_SAMPLES, w->where,
		        "measured, but measure.cells[%zu] is not its entry", w->measured);
		return false;
	}
	w->measured++;
	(void)snprintf(operation, sizeof operation, "hash_%lld", (long long)m->bytes);
	if (strcmp(operation, m->operation) != 0)
		fm_accept_find(c, FM_ERR_SAMPLES, w->where, "bytes is %lld", (long long)m->bytes);
	if (w->k == NULL ||
	        (strcmp(w->k->status, "PASS") != 0 && strcmp(w->k->status, "NOKAT") != 0))
		fm_accept_find(c, FM_ERR_KAT_LINES, w->where,
		        "timed although the known answers say %s",
		        w->k == NULL ? "nothing" : w->k->status);
	if (strcmp(w->b->library_sha256, m->library_sha256) != 0)
		fm_accept_find(c, FM_ERR_KAT_LINES, w->where,
		        "timed another library than the one that was built and checked");
	return true;
}

/* A memory block is of this measured cell; not every cell needs one. */
static void pass_memory(struct fm_accept *c, struct walk *w, const struct fm_ev_cell *cell)
{
	const struct fm_ev_memory *m = &c->e->memory[w->memory];
	char operation[40];

	if (w->memory == c->e->memory_count ||
	        !same_unit(m->instance, m->version, cell->instance, cell->version))
		return;
	(void)snprintf(operation, sizeof operation, "hash_%lld", (long long)m->bytes);
	w->memory += strcmp(operation, cell->operation) == 0;
}

/* False: the lists do not fit together, so the walk cannot go on. */
static bool check_cell(struct fm_accept *c, struct walk *w, const struct fm_ev_cell *cell)
{
	bool measured = strcmp(cell->status, "measured") == 0;

	(void)snprintf(w->where, sizeof w->where, "evidence.json: %s/%s/%s", cell->instance,
	        cell->version, cell->operation);
	if (measured ? cell->klass[0] != '\0' || cell->reason[0] != '\0'
	             : !fm_reason_ok(cell->klass, cell->reason))
		fm_accept_find(c, FM_ERR_FORM, w->where,
		        "a measured cell has no class and reason, every other has one word each");
	if (!enter_unit(c, w, cell))
		return false;
	if (!measured)
		return true;
	pass_memory(c, w, cell);
	return check_measured(c, w, cell);
}

/* What no cell asked for. */
static void check_rest(struct fm_accept *c, const struct walk *w)
{
	const struct fm_evidence *e = c->e;

	if (w->build != e->build_count)
		fm_accept_find(c, FM_ERR_FORM, "evidence.json", "builds[%zu] is of no planned cell",
		        w->build);
	if (w->kat != e->kat_count)
		fm_accept_find(c, FM_ERR_KAT_LINES, "evidence.json", "kat[%zu] is of no good build",
		        w->kat);
	if (w->measured != e->measured_count)
		fm_accept_find(c, FM_ERR_SAMPLES, "evidence.json",
		        "measure.cells[%zu] is of no measured cell", w->measured);
	if (w->memory != e->memory_count)
		fm_accept_find(c, FM_ERR_SAMPLES, "evidence.json",
		        "measure.memory[%zu] is of no measured cell", w->memory);
}

void fm_accept_cells(struct fm_accept *c)
{
	char prefix[2 * FM_NAME_MAX + 4], name[300];
	const struct fm_plan *plan = c->want->plan;
	struct walk w = {0};
	struct fm_range r;
	size_t len, n = 0;

	len = (size_t)snprintf(
	        prefix, sizeof prefix, "%s/%s/", c->want->system, c->want->candidate);
	r = fm_range_find(plan->cells, plan->cell_count, sizeof *plan->cells, 0, prefix);
	for (size_t i = r.first; i < r.end; i++, n++) {
		const struct fm_ev_cell *cell;

		if (n == c->e->cell_count) {
			fm_accept_find(c, FM_ERR_SAMPLES, "evidence.json",
			        "planned cell %s is missing", plan->cells[i]);
			return;
		}
		cell = &c->e->cells[n];
		(void)snprintf(name, sizeof name, "%s/%s/%s", cell->instance, cell->version,
		        cell->operation);
		if (strcmp(name, plan->cells[i] + len) != 0) {
			fm_accept_find(c, FM_ERR_SAMPLES, "evidence.json",
			        "cell %s where %s was planned", name, plan->cells[i] + len);
			return;
		}
		if (!check_cell(c, &w, cell))
			return;
	}
	if (n != c->e->cell_count)
		fm_accept_find(c, FM_ERR_SAMPLES, "evidence.json", "%zu cells, planned were %zu",
		        c->e->cell_count, n);
	else
		check_rest(c, &w);
}
