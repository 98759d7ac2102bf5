/* tree_merge.c: merges what the journal accepted into tree.json and takes a snapshot of the trust
 * folder. */
#include "orchestrator/evidence.h"
#include "orchestrator/tree.h"
#include "orchestrator/trust.h"
#include "protocol/fs.h"
#include "protocol/jsonw.h"
#include "protocol/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TREE_MAX (64u << 20)

/* What the tree says of one dispatch or cell. */
struct verdict {
	const char *status;
	char klass[24], reason[24], text[256];
};

struct merge {
	int dirfd;
	const struct fm_plan *plan;
	struct fm_journal *journal;
	struct fm_job *jobs; /* sorted by system, candidate, attempt */
	size_t count;
	struct fm_evidence evidence;      /* of the bundle the last cell came from */
	char loaded[2 * FM_NAME_MAX + 2]; /* "system/candidate" of it, "" if none */
	size_t next;                      /* its cell that comes next: both lists have one order */
};

static void set_verdict(struct verdict *v, const char *status, const char *klass,
        const char *reason, const char *text)
{
	v->status = status;
	(void)snprintf(v->klass, sizeof v->klass, "%s", klass);
	(void)snprintf(v->reason, sizeof v->reason, "%s", reason);
	(void)snprintf(v->text, sizeof v->text, "%s", text);
}

/* A system that was never dispatched or did not answer: what the journal says of the host, else
 * that nothing came. */
static void missing_verdict(struct merge *m, const char *system, bool asked, struct verdict *v)
{
	char klass[24], reason[24], text[256];

	fm_journal_host_state(m->journal, system, klass, reason, text);
	if (klass[0] == '\0')
		set_verdict(v, "missing", "transport", "dropped",
		        asked ? "no answer before the campaign ended"
		              : "not asked before the campaign ended");
	else
		set_verdict(v, "missing", klass, reason, text);
}

static void job_verdict(struct merge *m, const struct fm_job *job, struct verdict *v)
{
	switch (job->state) {
	case FM_JOB_ACCEPTED:
		set_verdict(v, "accepted", "", "", "");
		return;
	case FM_JOB_REJECTED:
		set_verdict(v, "rejected", job->klass, job->reason, job->text);
		return;
	case FM_JOB_ENDED:
		set_verdict(v, "failed", job->klass, job->reason, job->text);
		return;
	case FM_JOB_SUPERSEDED:
		set_verdict(
		        v, "missing", "measure", "superseded", "asked for again by the operator");
		return;
	default:
		missing_verdict(m, job->system, true, v);
	}
}

static void put_job(struct fm_jsonw *w, const struct fm_job *job, const struct verdict *v)
{
	fm_jsonw_object(w, NULL);
	fm_jsonw_int(w, "attempt", job->attempt);
	fm_jsonw_str(w, "candidate", job->candidate);
	fm_jsonw_text(w, "class", v->klass);
	fm_jsonw_text(w, "host_key", job->host_key);
	fm_jsonw_str(w, "issued_at", job->issued_at);
	fm_jsonw_str(w, "job_nonce", job->nonce);
	fm_jsonw_str(w, "manifest_sha256", job->manifest_sha256);
	fm_jsonw_text(w, "reason", v->reason);
	fm_jsonw_str(w, "received_at", job->received_at);
	fm_jsonw_str(w, "status", v->status);
	fm_jsonw_str(w, "system", job->system);
	fm_jsonw_text(w, "text", v->text);
	fm_jsonw_close(w);
}

/* The first dispatch of this system and candidate, or where it would stand. */
static size_t first_job(const struct merge *m, const char *system, const char *candidate)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(m->jobs[middle].system, system);

		if (order == 0)
			order = strcmp(m->jobs[middle].candidate, candidate);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_of(const struct fm_job *job, const char *system, const char *candidate)
{
	return strcmp(job->system, system) == 0 && strcmp(job->candidate, candidate) == 0;
}

/* The dispatches of one system and candidate, or one line with attempt 0 that says why there is
 * none. */
static void put_jobs_of(
        struct merge *m, struct fm_jsonw *w, const char *system, const char *candidate)
{
	size_t first = first_job(m, system, candidate), i = first;
	struct verdict v;

	for (; i < m->count && is_of(&m->jobs[i], system, candidate); i++) {
		job_verdict(m, &m->jobs[i], &v);
		put_job(w, &m->jobs[i], &v);
	}
	if (i == first) {
		struct fm_job none = {.attempt = 0};

		(void)snprintf(none.system, sizeof none.system, "%s", system);
		(void)snprintf(none.candidate, sizeof none.candidate, "%s", candidate);
		missing_verdict(m, system, false, &v);
		put_job(w, &none, &v);
	}
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Planned systems by name; the plan has them in the inventory's order. */
static int put_jobs(struct merge *m, struct fm_jsonw *w)
{
	const char **systems = fm_alloc_array(m->plan->system_count, sizeof *systems);
	size_t i, k;

	if (systems == NULL)
		return FM_ERR_MEMORY;
	for (i = 0; i < m->plan->system_count; i++)
		systems[i] = m->plan->systems[i].name;
	qsort(systems, m->plan->system_count, sizeof *systems, compare_names);
	fm_jsonw_array(w, "jobs");
	for (i = 0; i < m->plan->system_count; i++)
		for (k = 0; k < m->plan->candidates.count; k++)
			put_jobs_of(m, w, systems[i], m->plan->candidates.list[k].id);
	fm_jsonw_close(w);
	free(systems);
	return FM_OK;
}

/* Makes m->evidence that of the accepted bundle of this system and candidate, or empty if there is
 * none. */
static int load_evidence(struct merge *m, const struct fm_cell *cell)
{
	char key[sizeof m->loaded], path[FM_PATH_MAX + 1];
	struct fm_job job;
	bool found = false;
	int rc, fd = -1;

	(void)snprintf(key, sizeof key, "%s/%s", cell->system, cell->candidate);
	if (strcmp(key, m->loaded) == 0)
		return FM_OK;
	fm_evidence_free(&m->evidence);
	m->next = 0;
	(void)snprintf(m->loaded, sizeof m->loaded, "%s", key);
	if ((rc = fm_journal_accepted_job(
	             m->journal, cell->system, cell->candidate, &job, &found)) != FM_OK ||
	        !found)
		return rc;
	(void)snprintf(path, sizeof path, "bundles/%s", key);
	if ((rc = fm_fs_dir(m->dirfd, path, &fd)) == FM_OK)
		rc = fm_evidence_read(fd, &m->evidence);
	if (fd >= 0)
		(void)close(fd);
	return rc == FM_OK ? rc : fm_wrap(rc, "bundles/%s", key);
}

/* No accepted bundle: the last dispatch decides. What ended without a bundle leaves its cells
 * missing, for its reason. */
static void unbundled_verdict(struct merge *m, const struct fm_cell *cell, struct verdict *v)
{
	const struct fm_job *last = NULL;

	for (size_t i = first_job(m, cell->system, cell->candidate);
	        i < m->count && is_of(&m->jobs[i], cell->system, cell->candidate); i++)
		last = &m->jobs[i];
	if (last == NULL) {
		missing_verdict(m, cell->system, false, v);
		return;
	}
	job_verdict(m, last, v);
	if (strcmp(v->status, "rejected") != 0)
		v->status = "missing";
}

/* What the bundle says of the cell; its list was compared with the plan's when it was accepted. */
static int cell_verdict(struct merge *m, const struct fm_cell *cell, struct verdict *v)
{
	const struct fm_ev_cell *c;
	int rc = load_evidence(m, cell);

	if (rc != FM_OK)
		return rc;
	if (m->evidence.owner == NULL) {
		unbundled_verdict(m, cell, v);
		return FM_OK;
	}
	c = m->next < m->evidence.cell_count ? &m->evidence.cells[m->next++] : NULL;
	if (c == NULL || strcmp(c->instance, cell->instance) != 0 ||
	        strcmp(c->version, cell->version) != 0 ||
	        strcmp(c->operation, cell->operation) != 0)
		return fm_fail(FM_ERR_SAMPLES,
		        "bundles/%s/evidence.json: its cells are not the planned ones", m->loaded);
	if (strcmp(c->status, "measured") == 0)
		set_verdict(v, "accepted", "", "", "");
	else
		set_verdict(v, c->status, c->klass, c->reason, c->text);
	return FM_OK;
}

static int put_cells(struct merge *m, struct fm_jsonw *w)
{
	size_t i;
	int rc;

	fm_jsonw_array(w, "cells");
	for (i = 0; i < m->plan->cell_count; i++) {
		struct fm_cell cell;
		struct verdict v;

		if ((rc = fm_cell_parse(m->plan->cells[i], &cell)) != FM_OK ||
		        (rc = cell_verdict(m, &cell, &v)) != FM_OK)
			return rc;
		fm_jsonw_object(w, NULL);
		fm_jsonw_str(w, "cell", m->plan->cells[i]);
		fm_jsonw_text(w, "class", v.klass);
		fm_jsonw_text(w, "reason", v.reason);
		fm_jsonw_str(w, "status", v.status);
		fm_jsonw_text(w, "text", v.text);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
	return FM_OK;
}

/* The tree's own trust/: the home's as it is now; its version goes into tree.json. */
static int copy_trust(int dirfd, const struct fm_home *home, int64_t *version)
{
	struct fm_trust trust = {0};
	int rc, fd = -1;

	if ((rc = fm_fs_remove(dirfd, "trust")) == FM_OK &&
	        (rc = fm_fs_mkdirs(dirfd, "trust", 0755, &fd)) == FM_OK &&
	        (rc = fm_trust_copy(home, fd)) == FM_OK &&
	        (rc = fm_trust_read(fd, fm_identity_public(home->id), &trust)) == FM_OK)
		*version = trust.version;
	fm_trust_free(&trust);
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

static int put_tree(
        struct merge *m, const struct fm_home *home, int64_t trust_version, struct fm_buf *out)
{
	char previous[65], sealed_at[21];
	int64_t sequence;
	struct fm_jsonw w;
	int rc = fm_home_last_tree(home, &sequence, previous);

	if (rc != FM_OK)
		return rc;
	fm_stamp_now(sealed_at);
	fm_jsonw_start(&w, out);
	fm_jsonw_str(&w, "campaign", m->plan->campaign);
	if ((rc = put_cells(m, &w)) != FM_OK || (rc = put_jobs(m, &w)) != FM_OK)
		return rc;
	fm_jsonw_str(&w, "plan_sha256", fm_journal_plan(m->journal));
	fm_jsonw_str(&w, "previous_tree_sha256", previous);
	fm_jsonw_int(&w, "publish", m->plan->publish);
	fm_jsonw_str(&w, "schema", "tree/1");
	fm_jsonw_str(&w, "sealed_at", sealed_at);
	fm_jsonw_int(&w, "sequence", sequence + 1);
	fm_jsonw_int(&w, "trust_version", trust_version);
	return fm_jsonw_end(&w);
}

int fm_tree_merge(int dirfd, const struct fm_plan *plan, struct fm_journal *journal,
        const struct fm_home *home)
{
	struct fm_buf text = FM_BUF_INIT(TREE_MAX);
	struct merge m = {.dirfd = dirfd, .plan = plan, .journal = journal};
	int64_t trust_version = 0;
	int rc;

	/* from here to the new seal the tree counts as unsealed */
	if ((rc = fm_fs_remove(dirfd, FM_SIG_NAME)) != FM_OK ||
	        (rc = fm_fs_remove(dirfd, FM_MANIFEST_NAME)) != FM_OK ||
	        (rc = copy_trust(dirfd, home, &trust_version)) != FM_OK ||
	        (rc = fm_journal_jobs(journal, &m.jobs, &m.count)) != FM_OK ||
	        (rc = put_tree(&m, home, trust_version, &text)) != FM_OK)
		goto out;
	rc = fm_fs_write(dirfd, "tree.json", text.data, text.len, 0644);
out:
	fm_evidence_free(&m.evidence);
	free(m.jobs);
	fm_buf_free(&text);
	return rc;
}
