/* report_side.c: reads one candidate's bundle of one system and turns its cells into figures. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUNDLE_FILES 16384

int fm_version_index(const char *version)
{
	for (int v = 0; v < FM_VERSIONS; v++)
		if (strcmp(fm_version_name[v], version) == 0)
			return v;
	return -1;
}

void fm_side_label(const char *instance, int version, char out[FM_LABEL_MAX + 1])
{
	if (version == FM_VERSION_REFERENCE)
		snprintf(out, FM_LABEL_MAX + 1, "%.64s", instance);
	else
		snprintf(out, FM_LABEL_MAX + 1, "%.64s-%s", instance, fm_version_name[version]);
}

bool fm_evidence_emulated(const struct fm_evidence *e)
{
	const char *emulator = e->host.emulator;
	return strcmp(e->counter.scope, "emulated") == 0 ||
	       (emulator[0] != '\0' && strcmp(emulator, "none") != 0);
}

const struct fm_ev_memory *fm_side_memory(const struct fm_side *s, const struct fm_cell_fig *c)
{
	for (size_t i = 0; s->have && i < s->evidence.memory_count; i++) {
		const struct fm_ev_memory *m = &s->evidence.memory[i];
		if (m->bytes == c->bytes && strcmp(m->instance, c->instance) == 0 &&
		        strcmp(m->version, fm_version_name[c->version]) == 0)
			return m;
	}
	return NULL;
}

void fm_side_free(struct fm_side *s)
{
	if (s->have) {
		fm_evidence_free(&s->evidence);
		fm_manifest_free(&s->manifest);
		close(s->dirfd);
	}
	fm_cells_free(&s->cells);
	fm_builds_free(&s->builds);
	memset(s, 0, sizeof *s);
}

/* The dispatch a page speaks of: the accepted one, else the last. */
static void find_job(const struct fm_tree *t, struct fm_side *s)
{
	for (size_t i = 0; i < t->job_count; i++) {
		const struct fm_tree_job *j = &t->jobs[i];
		if (strcmp(j->system, s->system->plan->name) != 0 ||
		        strcmp(j->candidate, s->candidate->id) != 0)
			continue;
		if (s->job == NULL || strcmp(s->job->status, "accepted") != 0)
			s->job = j;
	}
}

static int open_bundle(struct fm_report *r, struct fm_side *s)
{
	struct fm_buf text = FM_BUF_INIT(0);
	char path[2 * FM_NAME_MAX + 16];
	int rc;

	snprintf(path, sizeof path, "bundles/%s/%s", s->system->plan->name, s->candidate->id);
	if ((rc = fm_fs_dir(r->dirfd, path, &s->dirfd)) != FM_OK)
		return rc;
	if ((rc = fm_evidence_read(s->dirfd, &s->evidence)) != FM_OK) {
		close(s->dirfd);
		return fm_wrap(rc, "%s", path);
	}
	s->have = true; /* from here fm_side_free closes */
	if ((rc = fm_fs_read(s->dirfd, FM_MANIFEST_NAME, 16u << 20, &text)) != FM_OK)
		return fm_wrap(rc, "%s", path);
	fm_sha256_hex(text.data, text.len, s->manifest_sha256);
	rc = fm_manifest_parse(text.data, text.len, BUNDLE_FILES, &s->manifest);
	fm_buf_free(&text);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/%s", path, FM_MANIFEST_NAME);
}

static const struct fm_ev_measured *find_measured(
        const struct fm_evidence *e, const struct fm_cell *c)
{
	for (size_t i = 0; i < e->measured_count; i++) {
		const struct fm_ev_measured *m = &e->measured[i];
		if (strcmp(m->instance, c->instance) == 0 && strcmp(m->version, c->version) == 0 &&
		        strcmp(m->operation, c->operation) == 0)
			return m;
	}
	return NULL;
}

static int measured_cell(
        struct fm_report *r, struct fm_side *s, const struct fm_cell *cell, struct fm_cell_fig *fig)
{
	const struct fm_ev_measured *m = s->have ? find_measured(&s->evidence, cell) : NULL;
	struct fm_samples samples;
	char *stem;
	int rc;

	if (m == NULL)
		return fm_fail(FM_ERR_SAMPLES,
		        "%s: accepted in tree.json, but not measured in the evidence", cell->text);
	if ((stem = fm_sprintf("%s__%s__%s", cell->instance, cell->version, cell->operation)) ==
	        NULL)
		return FM_ERR_MEMORY;
	rc = fm_samples_read(s->dirfd, stem, s->evidence.counter.label, &samples);
	free(stem);
	if (rc == FM_OK) {
		rc = fm_data_record(r, s, m, &samples, fig);
		fm_samples_free(&samples);
	}
	return rc == FM_OK ? rc
	                   : fm_wrap(rc, "bundles/%s/%s", s->system->plan->name, s->candidate->id);
}

static enum fm_cell_state state_of(const char *status)
{
	return strcmp(status, "accepted") == 0   ? FM_CELL_MEASURED
	       : strcmp(status, "missing") == 0  ? FM_CELL_MISSING
	       : strcmp(status, "rejected") == 0 ? FM_CELL_REJECTED
	                                         : FM_CELL_FAILED;
}

static int one_cell(struct fm_report *r, struct fm_side *s, const struct fm_tree_cell *t)
{
	size_t *counts[] = {&s->system->accepted, &s->system->failed, &s->system->missing,
	        &s->system->rejected};
	struct fm_cell cell;
	struct fm_cell_fig *fig;
	int rc;

	if ((rc = fm_cell_parse(t->cell, &cell)) != FM_OK)
		return fm_wrap(rc, "tree.json");
	if ((fig = fm_cells_add(&s->cells)) == NULL)
		return FM_ERR_MEMORY;
	fig->version = fm_version_index(cell.version);
	if (fig->version < 0)
		return fm_fail(FM_ERR_FORM, "tree.json: %s: unknown version", t->cell);
	fm_side_label(cell.instance, fig->version, fig->label);
	snprintf(fig->instance, sizeof fig->instance, "%s", cell.instance);
	snprintf(fig->key, sizeof fig->key, "%s", cell.operation);
	fig->bytes = cell.bytes;
	fig->state = state_of(t->status);
	snprintf(fig->klass, sizeof fig->klass, "%s", t->klass);
	snprintf(fig->reason, sizeof fig->reason, "%s", t->reason);
	if (t->text[0] != '\0' && (fig->text = fm_strdup(t->text)) == NULL)
		return FM_ERR_MEMORY;
	++*counts[fig->state];
	return fig->state == FM_CELL_MEASURED ? measured_cell(r, s, &cell, fig) : FM_OK;
}

struct taking {
	struct fm_report *report;
	struct fm_side *side;
};

static int take_cell(void *arg, const struct fm_tree_cell *cell)
{
	struct taking *t = arg;

	return one_cell(t->report, t->side, cell);
}

static int by_label(const void *a, const void *b)
{
	return fm_natural(
	        ((const struct fm_build_fig *)a)->label, ((const struct fm_build_fig *)b)->label);
}

int fm_side_load(struct fm_report *r, struct fm_report_system *system, const struct fm_candidate *c,
        struct fm_side *s)
{
	int rc;

	memset(s, 0, sizeof *s);
	s->system = system;
	s->candidate = c;
	find_job(&r->tree, s);
	if (s->job != NULL && strcmp(s->job->status, "accepted") == 0 &&
	        (rc = open_bundle(r, s)) != FM_OK)
		return rc;
	if (s->have && (rc = fm_data_environment(system, &s->evidence)) != FM_OK)
		return rc;
	for (size_t i = 0; s->have && i < s->evidence.build_count; i++)
		if ((rc = fm_data_build(r, s, &s->evidence.builds[i])) != FM_OK)
			return rc;
	if (s->builds.count > 1)
		qsort(s->builds.list, s->builds.count, sizeof *s->builds.list, by_label);
	struct taking t = {r, s};
	rc = fm_tree_cells(&r->tree, system->plan->name, c->id, take_cell, &t);
	fm_cells_sort(&s->cells);
	return rc;
}
