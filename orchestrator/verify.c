/* verify.c: everything a stranger can check of a tree, offline: seals, trust, plan, tree.json,
 * every bundle. */
#include "orchestrator/accept.h"
#include "orchestrator/tree.h"
#include "orchestrator/trust.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCES_MAX (64u << 20)

struct verify {
	int dirfd;
	const struct fm_public *anchor;
	fm_verify_report *report;
	void *arg;
	struct fm_verify_counts *counts;
	int first;                /* code of the first finding */
	struct fm_manifest files; /* the tree's manifest */
	struct fm_trust trust, newer;
	bool has_newer;
	struct fm_plan plan;
	char plan_sha256[65];
	struct fm_buf sources; /* plan/SOURCES.sha256 */
	struct fm_tree tree;
};

static void find(struct verify *v, int code, const char *where, const char *format, ...)
        FM_PRINTF(4, 5);
static void find(struct verify *v, int code, const char *where, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (v->first == FM_OK)
		v->first = fm_fail(code, "%s: %s", where, text);
	if (v->report != NULL)
		v->report(v->arg, code, where, text);
}

/* What is wrong with foreign bytes is a matter of verification, whatever the program called it
 * below. */
static int as_verify(int code)
{
	return fm_error_status(code) == 4 || code == FM_ERR_MEMORY || code == FM_ERR_INTERRUPTED
	               ? code
	               : FM_ERR_FORM;
}

static void find_error(struct verify *v, int code, const char *where)
{
	char text[1024];

	(void)snprintf(text, sizeof text, "%s", fm_error_text());
	find(v, as_verify(code), where, "%s", text);
}

static void manifest_finding(void *arg, const char *path, const char *what)
{
	find(arg, strcmp(what, "digest") == 0 ? FM_ERR_DIGEST : FM_ERR_FORM, path, "%s",
	        strcmp(what, "digest") == 0    ? "differs from its line in MANIFEST.sha256"
	        : strcmp(what, "missing") == 0 ? "is listed in MANIFEST.sha256 but not there"
	        : strcmp(what, "extra") == 0   ? "is not listed in MANIFEST.sha256"
	                                       : what);
}

/* V1 to V4 for the tree itself: signature, grammar, types, every digest, nothing else there. */
static int check_seal(struct verify *v)
{
	char hex[65];
	int rc = fm_seal_check_manifest(v->dirfd, FM_SEAL_TREE, v->anchor, hex, &v->files);

	if (rc != FM_OK) {
		find_error(v, rc, "tree");
		return rc;
	}
	if (v->counts != NULL) {
		memcpy(v->counts->sha256, hex, sizeof hex);
		v->counts->files = v->files.count;
	}
	rc = fm_manifest_check(v->dirfd, FM_SEAL_TREE, &v->files, manifest_finding, v);
	if (rc != FM_OK && v->first == FM_OK)
		find_error(v, rc, "tree");
	return FM_OK; /* findings are noted; the rest can still be looked at */
}

/* A sealed folder inside the tree lists exactly the files the tree lists below it, with the same
 * digests: so its own digests hold too, and nothing has to be hashed twice. */
static void check_inner(struct verify *v, const char *folder, const struct fm_manifest *inner)
{
	size_t len = strlen(folder);
	char path[FM_PATH_MAX + 80];

	for (size_t i = 0; i < v->files.count; i++) {
		const char *name = v->files.entries[i].path;

		if (strncmp(name, folder, len) != 0 || name[len] != '/')
			continue;
		if (strcmp(name + len + 1, FM_MANIFEST_NAME) == 0 ||
		        strcmp(name + len + 1, FM_SIG_NAME) == 0)
			continue;
		if (fm_manifest_find(inner, name + len + 1) == NULL)
			find(v, FM_ERR_FORM, name, "is not listed in %s/" FM_MANIFEST_NAME, folder);
	}
	for (size_t i = 0; i < inner->count; i++) {
		const struct fm_manifest_entry *e;

		(void)snprintf(path, sizeof path, "%s/%s", folder, inner->entries[i].path);
		e = fm_manifest_find(&v->files, path);
		if (e == NULL)
			find(v, FM_ERR_FORM, path,
			        "is listed in %s/" FM_MANIFEST_NAME " but not in the tree's",
			        folder);
		else if (strcmp(e->hex, inner->entries[i].hex) != 0)
			find(v, FM_ERR_DIGEST, path,
			        "differs from its line in %s/" FM_MANIFEST_NAME, folder);
	}
}

/* V1, V5: the list of keys, its seal and the enrolment statements. */
static int check_trust(struct verify *v)
{
	int fd = -1, rc;

	if ((rc = fm_fs_dir(v->dirfd, "trust", &fd)) == FM_OK)
		rc = fm_trust_read(fd, v->anchor, &v->trust);
	if (rc != FM_OK)
		find_error(v, rc, "trust");
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

static int check_plan(struct verify *v)
{
	int fd = -1, rc;

	if ((rc = fm_fs_dir(v->dirfd, "plan", &fd)) == FM_OK &&
	        (rc = fm_seal_check(fd, FM_SEAL_PLAN, v->anchor, v->plan_sha256, NULL)) == FM_OK &&
	        (rc = fm_plan_read(fd, &v->plan)) == FM_OK)
		rc = fm_fs_read(fd, "SOURCES.sha256", SOURCES_MAX, &v->sources);
	if (rc != FM_OK)
		find_error(v, rc, "plan");
	if (fd >= 0)
		(void)close(fd);
	return rc;
}

static bool status_word(const char *s)
{
	return strcmp(s, "accepted") == 0 || strcmp(s, "failed") == 0 ||
	       strcmp(s, "missing") == 0 || strcmp(s, "rejected") == 0;
}

static void count_cell(struct verify *v, const char *status)
{
	if (v->counts == NULL)
		return;
	v->counts->cells_accepted += strcmp(status, "accepted") == 0;
	v->counts->cells_failed += strcmp(status, "failed") == 0;
	v->counts->cells_missing += strcmp(status, "missing") == 0;
	v->counts->cells_rejected += strcmp(status, "rejected") == 0;
}

/* V7: tree.json belongs to this plan and names its cells, each once, in order. */
static void check_tree_cells(struct verify *v)
{
	const struct fm_tree *t = &v->tree;

	if (strcmp(t->campaign, v->plan.campaign) != 0)
		find(v, FM_ERR_IDENTITY, "tree.json", "campaign '%s', the plan's is '%s'",
		        t->campaign, v->plan.campaign);
	if (strcmp(t->plan_sha256, v->plan_sha256) != 0)
		find(v, FM_ERR_REPLAY, "tree.json",
		        "plan_sha256 is not the digest of plan/" FM_MANIFEST_NAME);
	if (t->publish != v->plan.publish)
		find(v, FM_ERR_IDENTITY, "tree.json", "publish is %lld, the plan says %d",
		        (long long)t->publish, v->plan.publish);
	if (t->trust_version != v->trust.version)
		find(v, FM_ERR_IDENTITY, "tree.json", "trust_version is %lld, trust.json says %lld",
		        (long long)t->trust_version, (long long)v->trust.version);
	for (size_t i = 0; i < t->cell_count; i++) {
		if (i >= v->plan.cell_count || strcmp(t->cells[i].cell, v->plan.cells[i]) != 0) {
			find(v, FM_ERR_FORM, "tree.json", "cell %zu is '%s', planned is '%s'", i,
			        t->cells[i].cell,
			        i < v->plan.cell_count ? v->plan.cells[i] : "none");
			return;
		}
		if (!status_word(t->cells[i].status))
			find(v, FM_ERR_FORM, "tree.json", "%s: unknown status '%s'",
			        t->cells[i].cell, t->cells[i].status);
		count_cell(v, t->cells[i].status);
	}
	if (t->cell_count != v->plan.cell_count)
		find(v, FM_ERR_FORM, "tree.json", "%zu cells, planned are %zu", t->cell_count,
		        v->plan.cell_count);
}

/* V9: the planned key of the system, in its window when the plan was made, not revoked. */
static const struct fm_public *planned_key(struct verify *v, const char *system, const char *where)
{
	const struct fm_plan_system *s = fm_plan_system(&v->plan, system);
	const struct fm_trust_key *k = fm_trust_find(&v->trust, system, v->plan.issued_at);

	if (s == NULL) {
		find(v, FM_ERR_IDENTITY, where, "system %s is not in the plan", system);
		return NULL;
	}
	if (fm_trust_revoked(&v->trust, &s->key) ||
	        (v->has_newer && fm_trust_revoked(&v->newer, &s->key))) {
		find(v, FM_ERR_REVOKED, where, "the key of %s is revoked", system);
		return NULL;
	}
	if (k == NULL || !fm_public_equal(&k->key, &s->key)) {
		find(v, FM_ERR_SIGNATURE, where, "the planned key of %s was not enrolled at %s",
		        system, v->plan.issued_at);
		return NULL;
	}
	return &s->key;
}

/* V10: order of the times the controller wrote down. Stamps of one form compare as text. */
static void check_times(struct verify *v, const struct fm_tree_job *job, const char *where)
{
	if (strcmp(v->plan.issued_at, job->issued_at) > 0 ||
	        strcmp(job->issued_at, job->received_at) > 0 ||
	        strcmp(job->received_at, v->tree.sealed_at) > 0)
		find(v, FM_ERR_IDENTITY, where,
		        "times out of order: plan %s, issued %s, received %s, sealed %s",
		        v->plan.issued_at, job->issued_at, job->received_at, v->tree.sealed_at);
	if (strcmp(job->received_at, v->plan.expires_at) > 0)
		find(v, FM_ERR_EXPIRED, where, "received %s, the plan expired %s", job->received_at,
		        v->plan.expires_at);
}

/* V13, the tree's side: what the bundle calls measured is accepted there, everything else has the
 * same status. */
static void check_statuses(
        struct verify *v, const struct fm_tree_job *job, const struct fm_evidence *e)
{
	char prefix[2 * FM_NAME_MAX + 4];
	size_t n = 0,
	       len = (size_t)snprintf(prefix, sizeof prefix, "%s/%s/", job->system, job->candidate);

	for (size_t i = 0; i < v->tree.cell_count && n < e->cell_count; i++) {
		const struct fm_tree_cell *cell = &v->tree.cells[i];
		const char *want;

		if (strncmp(cell->cell, prefix, len) != 0)
			continue;
		want = strcmp(e->cells[n].status, "measured") == 0 ? "accepted"
		                                                   : e->cells[n].status;
		if (strcmp(cell->status, want) != 0)
			find(v, FM_ERR_SAMPLES, "tree.json", "%s is '%s', its bundle says '%s'",
			        cell->cell, cell->status, e->cells[n].status);
		n++;
	}
}

struct bundle_context {
	struct verify *v;
	const char *folder;
};

static void accept_finding(void *arg, int code, const char *where, const char *text)
{
	struct bundle_context *b = arg;
	char path[FM_PATH_MAX + 80];

	(void)snprintf(path, sizeof path, "%s/%s", b->folder, where);
	find(b->v, as_verify(code), path, "%s", text);
}

static void check_bundle(struct verify *v, const struct fm_tree_job *job)
{
	char folder[2 * FM_NAME_MAX + 20], hex[65];
	struct bundle_context context = {v, folder};
	struct fm_expect want = {&v->plan, v->plan_sha256,
	        v->sources.len > 0 ? v->sources.data : "", job->system, job->candidate,
	        job->job_nonce, job->attempt};
	struct fm_manifest inner = {0};
	struct fm_evidence evidence;
	const struct fm_public *key;
	int fd = -1, rc;

	(void)snprintf(folder, sizeof folder, "bundles/%s/%s", job->system, job->candidate);
	check_times(v, job, folder);
	if ((key = planned_key(v, job->system, folder)) == NULL)
		return;
	if ((rc = fm_fs_dir(v->dirfd, folder, &fd)) != FM_OK ||
	        (rc = fm_seal_check_manifest(fd, FM_SEAL_BUNDLE, key, hex, &inner)) != FM_OK) {
		find_error(v, rc, folder);
		goto out;
	}
	if (strcmp(hex, job->manifest_sha256) != 0)
		find(v, FM_ERR_DIGEST, folder, "its manifest is not the one tree.json names");
	check_inner(v, folder, &inner);
	if (fm_accept_check(fd, &want, accept_finding, &context, &evidence) == FM_OK) {
		check_statuses(v, job, &evidence);
		fm_evidence_free(&evidence);
	}
	if (v->counts != NULL)
		v->counts->bundles++;
out:
	fm_manifest_free(&inner);
	if (fd >= 0)
		(void)close(fd);
}

/* V8: every planned pair has its dispatches in order, at most one accepted, no nonce twice. */
static void check_jobs(struct verify *v)
{
	const struct fm_tree *t = &v->tree;
	size_t pairs = 0;

	for (size_t i = 0; i < t->job_count; i++) {
		const struct fm_tree_job *job = &t->jobs[i], *before = i > 0 ? job - 1 : NULL;
		bool same = before != NULL && strcmp(before->system, job->system) == 0 &&
		            strcmp(before->candidate, job->candidate) == 0;

		if (!status_word(job->status))
			find(v, FM_ERR_FORM, "tree.json", "job %zu: unknown status '%s'", i,
			        job->status);
		if (fm_plan_system(&v->plan, job->system) == NULL ||
		        fm_plan_candidate(&v->plan, job->candidate) == NULL)
			find(v, FM_ERR_IDENTITY, "tree.json", "job %zu: %s, %s is not planned", i,
			        job->system, job->candidate);
		pairs += !same;
		if (same && (job->attempt <= before->attempt ||
		                    (strcmp(job->status, "accepted") == 0 &&
		                            strcmp(before->status, "accepted") == 0)))
			find(v, FM_ERR_REPLAY, "tree.json",
			        "job %zu: second accepted dispatch or attempt out of order", i);
		for (size_t k = 0; k < i && job->job_nonce[0] != '\0'; k++)
			if (strcmp(t->jobs[k].job_nonce, job->job_nonce) == 0)
				find(v, FM_ERR_REPLAY, "tree.json",
				        "job nonce of %s, %s was used before", job->system,
				        job->candidate);
	}
	if (pairs != v->plan.system_count * v->plan.candidates.count)
		find(v, FM_ERR_FORM, "tree.json",
		        "%zu pairs of system and candidate, planned are %zu", pairs,
		        v->plan.system_count * v->plan.candidates.count);
}

static const struct fm_tree_job *accepted_job(const struct fm_tree *t, const char *folder)
{
	char name[2 * FM_NAME_MAX + 20];

	for (size_t i = 0; i < t->job_count; i++) {
		(void)snprintf(name, sizeof name, "bundles/%s/%s/", t->jobs[i].system,
		        t->jobs[i].candidate);
		if (strcmp(t->jobs[i].status, "accepted") == 0 &&
		        strncmp(folder, name, strlen(name)) == 0)
			return &t->jobs[i];
	}
	return NULL;
}

/* V8: what lies in bundles/ belongs to an accepted dispatch; what no bundle answers for cannot be
 * accepted. */
static void check_folders(struct verify *v)
{
	const struct fm_tree_job *last = NULL;
	char name[2 * FM_NAME_MAX + 20];

	for (size_t i = 0; i < v->files.count; i++) {
		const char *path = v->files.entries[i].path;

		if (strncmp(path, "bundles/", 8) != 0)
			continue;
		if (last != NULL) {
			(void)snprintf(
			        name, sizeof name, "bundles/%s/%s/", last->system, last->candidate);
			if (strncmp(path, name, strlen(name)) == 0)
				continue;
		}
		if ((last = accepted_job(&v->tree, path)) == NULL)
			find(v, FM_ERR_FORM, path, "belongs to no accepted dispatch of tree.json");
	}
	for (size_t i = 0; i < v->tree.cell_count; i++) {
		(void)snprintf(name, sizeof name, "bundles/%s", v->tree.cells[i].cell);
		if (strcmp(v->tree.cells[i].status, "accepted") == 0 &&
		        accepted_job(&v->tree, name) == NULL)
			find(v, FM_ERR_FORM, "tree.json", "%s is accepted without a bundle",
			        v->tree.cells[i].cell);
	}
}

static void check_content(struct verify *v)
{
	check_tree_cells(v);
	check_jobs(v);
	check_folders(v);
	for (size_t i = 0; i < v->tree.job_count; i++)
		if (strcmp(v->tree.jobs[i].status, "accepted") == 0)
			check_bundle(v, &v->tree.jobs[i]);
}

int fm_tree_verify(int dirfd, const struct fm_public *anchor, int newer_trust,
        fm_verify_report *report, void *arg, struct fm_verify_counts *counts)
{
	struct verify v = {.dirfd = dirfd,
	        .anchor = anchor,
	        .report = report,
	        .arg = arg,
	        .counts = counts,
	        .sources = FM_BUF_INIT(SOURCES_MAX)};
	int rc;

	if (counts != NULL)
		memset(counts, 0, sizeof *counts);
	if (newer_trust >= 0) {
		if ((rc = fm_trust_read(newer_trust, anchor, &v.newer)) != FM_OK)
			find_error(&v, rc, "newer trust folder");
		v.has_newer = rc == FM_OK;
	}
	if (check_seal(&v) == FM_OK && check_trust(&v) == FM_OK && check_plan(&v) == FM_OK) {
		if ((rc = fm_tree_read(dirfd, &v.tree)) != FM_OK)
			find_error(&v, rc, "tree.json");
		else
			check_content(&v);
		if (counts != NULL) {
			counts->publish = v.plan.publish;
			(void)snprintf(
			        counts->campaign, sizeof counts->campaign, "%s", v.plan.campaign);
		}
	}
	fm_tree_free(&v.tree);
	fm_plan_free(&v.plan);
	fm_trust_free(&v.trust);
	fm_trust_free(&v.newer);
	fm_manifest_free(&v.files);
	fm_buf_free(&v.sources);
	return v.first;
}
