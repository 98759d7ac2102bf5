/* verify_bundle.c: one bundle of a tree: key, seal, its place in the tree, and what the plan asked
 * for. */
#include "orchestrator/accept.h"
#include "orchestrator/verify_parts.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct bundle {
	struct fm_verify *v;
	const struct fm_tree_job *job;
	char folder[2 * FM_NAME_MAX + 20];
	int fd;
	struct fm_manifest files;
	const struct lines *all; /* what the tree's manifest has below the folder */
};

/* Lines of one folder, kept while its bundle is looked at. */
struct lines {
	struct fm_manifest_entry *at; /* texts are owned */
	size_t count;
	const struct fm_tree_job *job;
	bool *looked_at; /* for each dispatch of tree.json */
	int rc;
};

/* V9: the planned key of the system, in its window when the plan was made, not revoked. */
static const struct fm_public *planned_key(const struct bundle *b)
{
	struct fm_verify *v = b->v;
	const struct fm_plan_system *s = fm_plan_system(&v->plan, b->job->system);
	const struct fm_trust_key *k = fm_trust_find(&v->trust, b->job->system, v->plan.issued_at);

	if (s == NULL) /* noted with the dispatch */
		return NULL;
	if (fm_trust_revoked(&v->trust, &s->key) ||
	        (v->has_newer && fm_trust_revoked(&v->newer, &s->key))) {
		fm_verify_find(
		        v, FM_ERR_REVOKED, b->folder, "the key of %s is revoked", b->job->system);
		return NULL;
	}
	if (k == NULL || !fm_public_equal(&k->key, &s->key)) {
		fm_verify_find(v, FM_ERR_SIGNATURE, b->folder,
		        "the planned key of %s was not enrolled at %s", b->job->system,
		        v->plan.issued_at);
		return NULL;
	}
	/* A key that was stolen at a known time ends there: what came later may be the thief's. */
	if (!fm_trust_covers(v->has_newer ? &v->newer : &v->trust, b->job->system, &s->key,
	            v->plan.issued_at, b->job->received_at)) {
		fm_verify_find(v, FM_ERR_REVOKED, b->folder,
		        "the key of %s did not count any more at %s", b->job->system,
		        b->job->received_at);
		return NULL;
	}
	return &s->key;
}

static bool of_seal(const char *name)
{
	return strcmp(name, FM_MANIFEST_NAME) == 0 || strcmp(name, FM_SIG_NAME) == 0;
}

/* V4 for the bundle by itself: its manifest lists exactly the files that the tree's lists below it,
 * with the same digests, so nothing has to be hashed twice. Both lists are sorted. */
static void check_inner(const struct bundle *b)
{
	const struct lines *all = b->all;
	const struct fm_manifest *inner = &b->files;
	size_t len = strlen(b->folder) + 1, k = 0;

	for (size_t i = 0; i < all->count || k < inner->count;) {
		const char *name = i < all->count ? all->at[i].path + len : NULL;
		int order = name == NULL        ? 1
		            : k == inner->count ? -1
		                                : strcmp(name, inner->entries[k].path);

		if (name != NULL && of_seal(name)) {
			i++;
			continue;
		}
		if (order < 0)
			fm_verify_find(b->v, FM_ERR_FORM, all->at[i].path,
			        "is not listed in the bundle's " FM_MANIFEST_NAME);
		else if (order > 0)
			fm_verify_find(b->v, FM_ERR_FORM, b->folder,
			        "%s is listed in its " FM_MANIFEST_NAME " but not in the tree's",
			        inner->entries[k].path);
		else if (strcmp(all->at[i].hex, inner->entries[k].hex) != 0)
			fm_verify_find(b->v, FM_ERR_DIGEST, all->at[i].path,
			        "differs from its line in the bundle's " FM_MANIFEST_NAME);
		i += order <= 0;
		k += order >= 0;
	}
}

/* The limit of a bundle as a whole; that of one file was checked with the tree. */
static void check_size(const struct bundle *b)
{
	uint64_t bytes = 0, limit = fm_seal_limits(FM_SEAL_BUNDLE)->all_bytes;
	struct stat st;

	for (size_t i = 0; i < b->files.count; i++)
		if (fstatat(b->fd, b->files.entries[i].path, &st, AT_SYMLINK_NOFOLLOW) == 0)
			bytes += (uint64_t)st.st_size;
	b->v->counts->bytes += bytes;
	if (bytes > limit)
		fm_verify_find(b->v, FM_ERR_SIZE, b->folder, "%llu bytes, allowed are %llu",
		        (unsigned long long)bytes, (unsigned long long)limit);
}

struct statuses {
	const struct bundle *b;
	const struct fm_evidence *e;
	size_t next; /* of the evidence's cells */
};

static int check_status(void *arg, const struct fm_tree_cell *cell)
{
	struct statuses *s = arg;
	const struct fm_ev_cell *told;
	bool measured;

	if (s->next == s->e->cell_count)
		return FM_OK;
	told = &s->e->cells[s->next++];
	measured = strcmp(told->status, "measured") == 0;
	if (strcmp(cell->status, measured ? "accepted" : told->status) != 0)
		fm_verify_find(s->b->v, FM_ERR_SAMPLES, "tree.json",
		        "%s is '%s', its bundle says '%s'", cell->cell, cell->status, told->status);
	else if (strcmp(cell->klass, told->klass) != 0 || strcmp(cell->reason, told->reason) != 0)
		fm_verify_find(s->b->v, FM_ERR_SAMPLES, "tree.json",
		        "%s: %s/%s, its bundle says %s/%s", cell->cell, cell->klass, cell->reason,
		        told->klass, told->reason);
	return FM_OK;
}

/* V13, the tree's side: what the bundle calls measured is accepted there, everything else has the
 * same status, class and reason. The evidence has exactly the planned cells, so has the tree. */
static void check_statuses(const struct bundle *b, const struct fm_evidence *e)
{
	struct statuses s = {b, e, 0};
	int rc = fm_tree_cells(&b->v->tree, b->job->system, b->job->candidate, check_status, &s);

	if (rc != FM_OK)
		fm_verify_error(b->v, rc, "tree.json");
}

static void accept_finding(void *arg, int code, const char *where, const char *text)
{
	const struct bundle *b = arg;
	char path[FM_PATH_MAX + 80];

	(void)snprintf(path, sizeof path, "%s/%s", b->folder, where);
	if (fm_error_status(code) != 4 && code != FM_ERR_MEMORY)
		code = FM_ERR_FORM;
	fm_verify_find(b->v, code, path, "%s", text);
}

/* V11 to V15. */
static void check_content(struct bundle *b)
{
	struct fm_expect want = {.plan = &b->v->plan,
	        .plan_sha256 = b->v->plan_sha256,
	        .system = b->job->system,
	        .candidate = b->job->candidate,
	        .job_nonce = b->job->job_nonce,
	        .attempt = b->job->attempt};
	struct fm_evidence evidence;

	if (fm_accept_check(b->fd, &want, accept_finding, b, &evidence) == FM_OK) {
		check_statuses(b, &evidence);
		fm_evidence_free(&evidence);
	}
}

static void check_bundle(struct fm_verify *v, const struct lines *lines)
{
	const struct fm_tree_job *job = lines->job;
	struct bundle b = {.v = v, .job = job, .fd = -1, .all = lines};
	const struct fm_public *key;
	char hex[65];
	int rc;

	(void)snprintf(b.folder, sizeof b.folder, "bundles/%s/%s", job->system, job->candidate);
	if ((key = planned_key(&b)) == NULL)
		return;
	if ((rc = fm_fs_dir(v->dirfd, b.folder, &b.fd)) != FM_OK ||
	        (rc = fm_seal_check_manifest(b.fd, FM_SEAL_BUNDLE, key, hex, &b.files)) != FM_OK) {
		fm_verify_error(v, rc, b.folder);
		goto out;
	}
	if (strcmp(hex, job->manifest_sha256) != 0)
		fm_verify_find(
		        v, FM_ERR_DIGEST, b.folder, "its manifest is not the one tree.json names");
	check_inner(&b);
	check_size(&b);
	check_content(&b);
	v->counts->bundles++;
out:
	fm_manifest_free(&b.files);
	if (b.fd >= 0)
		(void)close(b.fd);
}

static void lines_clear(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free((char *)l->at[i].hex);
		free((char *)l->at[i].path);
	}
	free(l->at);
	l->at = NULL;
	l->count = 0;
}

/* The bundle whose lines are all here. */
static void look_at(struct fm_verify *v, struct lines *l)
{
	if (l->job != NULL && l->rc == FM_OK && !l->looked_at[l->job - v->tree.jobs]) {
		l->looked_at[l->job - v->tree.jobs] = true;
		check_bundle(v, l);
	}
	lines_clear(l);
	l->job = NULL;
}

/* A line below bundles/: belongs to the bundle of the line before, or that one is complete. */
static void gather(struct fm_verify *v, const struct fm_manifest_entry *e, void *arg)
{
	struct lines *l = arg;
	const struct fm_tree_job *job;
	struct fm_manifest_entry *copy;

	if (strncmp(e->path, "bundles/", 8) != 0)
		return;
	if ((job = fm_verify_job_of(&v->tree, e->path + 8)) != l->job)
		look_at(v, l);
	l->job = job;
	if (job == NULL || l->rc != FM_OK)
		return;
	if ((copy = fm_grow(&l->at, &l->count, sizeof *copy)) == NULL ||
	        (copy->hex = fm_strdup(e->hex)) == NULL ||
	        (copy->path = fm_strdup(e->path)) == NULL)
		l->rc = FM_ERR_MEMORY;
}

void fm_verify_bundles(struct fm_verify *v)
{
	struct lines l = {.looked_at = fm_alloc_array(v->tree.job_count + 1, sizeof *l.looked_at)};

	if (l.looked_at == NULL)
		l.rc = FM_ERR_MEMORY;
	else
		fm_verify_lines(v, gather, &l);
	look_at(v, &l);
	for (size_t i = 0; l.rc == FM_OK && i < v->tree.job_count; i++) {
		l.job = &v->tree.jobs[i]; /* no line of it is there */
		if (strcmp(l.job->status, "accepted") == 0)
			look_at(v, &l);
	}
	if (l.rc != FM_OK)
		fm_verify_error(v, l.rc, "tree");
	free(l.looked_at);
}
