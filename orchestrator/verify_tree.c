/* verify_tree.c: tree.json against the plan: cells, dispatches, and the folders in bundles/. */
#include "orchestrator/evidence.h"
#include "orchestrator/verify_parts.h"
#include "protocol/path.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHERE "tree.json"

/* V7: made for this plan. */
static void check_head(struct fm_verify *v)
{
	const struct fm_tree *t = &v->tree;

	if (strcmp(t->campaign, v->plan.campaign) != 0)
		fm_verify_find(v, FM_ERR_IDENTITY, WHERE, "campaign '%s', the plan's is '%s'",
		        t->campaign, v->plan.campaign);
	if (strcmp(t->plan_sha256, v->plan_sha256) != 0)
		fm_verify_find(v, FM_ERR_REPLAY, WHERE,
		        "plan_sha256 is not the digest of plan/MANIFEST.sha256");
	if (t->publish != v->plan.publish)
		fm_verify_find(v, FM_ERR_IDENTITY, WHERE, "publish is %lld, the plan says %d",
		        (long long)t->publish, v->plan.publish);
	if (t->trust_version != v->trust.version)
		fm_verify_find(v, FM_ERR_IDENTITY, WHERE,
		        "trust_version is %lld, trust.json says %lld", (long long)t->trust_version,
		        (long long)v->trust.version);
	if (t->sequence < 1 || (t->sequence == 1) != (t->previous_tree_sha256[0] == '\0'))
		fm_verify_find(v, FM_ERR_FORM, WHERE,
		        "sequence %lld: the first tree of a chain has 1 and no previous one, every "
		        "other has both",
		        (long long)t->sequence);
}

/* Accepted things have no reason, all others have class and reason. */
static bool reason_ok(const char *status, const char *klass, const char *reason, const char *text)
{
	if (strcmp(status, "accepted") == 0)
		return klass[0] == '\0' && reason[0] == '\0' && text[0] == '\0';
	return fm_reason_ok(klass, reason);
}

static void count_cell(struct fm_verify_counts *c, const char *status)
{
	c->cells_accepted += strcmp(status, "accepted") == 0;
	c->cells_failed += strcmp(status, "failed") == 0;
	c->cells_missing += strcmp(status, "missing") == 0;
	c->cells_rejected += strcmp(status, "rejected") == 0;
}

/* The cells of tree.json beside those of the plan, system and candidate by system and candidate. */
struct beside {
	struct fm_verify *v;
	size_t next, end; /* of the plan's cells */
	bool differs;
};

static void cell_differs(struct beside *b, const char *cell)
{
	const struct fm_plan *p = &b->v->plan;

	if (!b->differs)
		fm_verify_find(b->v, FM_ERR_FORM, WHERE, "cell %zu is '%s', planned is '%s'",
		        b->next, cell, b->next < p->cell_count ? p->cells[b->next] : "none");
	b->differs = true;
}

static void cell_left_out(struct beside *b)
{
	if (!b->differs)
		fm_verify_find(b->v, FM_ERR_FORM, WHERE, "cell %zu, %s, is planned but not there",
		        b->next, b->v->plan.cells[b->next]);
	b->differs = true;
}

static int compare_cell(void *arg, const struct fm_tree_cell *c)
{
	struct beside *b = arg;

	if (b->differs)
		return FM_OK;
	if (b->next == b->end || strcmp(c->cell, b->v->plan.cells[b->next]) != 0) {
		cell_differs(b, c->cell);
		return FM_OK;
	}
	if (!reason_ok(c->status, c->klass, c->reason, c->text))
		fm_verify_find(b->v, FM_ERR_FORM, WHERE,
		        "%s: status %s with class '%s', reason '%s'", c->cell, c->status, c->klass,
		        c->reason);
	count_cell(b->v->counts, c->status);
	b->next++;
	return FM_OK;
}

/* Calls each with the cells of one part; what goes wrong is a finding. */
static void cells_of(
        struct fm_verify *v, const struct fm_tree_part *p, fm_tree_each *each, void *arg)
{
	int rc = fm_tree_part_cells(&v->tree, p, each, arg);

	if (rc != FM_OK)
		fm_verify_error(v, rc, WHERE);
}

/* V7: the planned cells, each once, in the plan's order. */
static bool check_cells(struct fm_verify *v)
{
	const struct fm_tree *t = &v->tree;
	const struct fm_plan *plan = &v->plan;
	struct beside b = {.v = v};

	for (size_t i = 0; i < t->part_count && !b.differs; i++) {
		const struct fm_tree_part *p = &t->parts[i];
		size_t len = strlen(p->prefix);

		for (b.end = b.next; b.end < plan->cell_count &&
		                     strncmp(plan->cells[b.end], p->prefix, len) == 0;)
			b.end++;
		cells_of(v, p, compare_cell, &b);
		if (b.next < b.end)
			cell_left_out(&b);
	}
	if (b.next < plan->cell_count)
		cell_left_out(&b);
	return !b.differs;
}

/* V10: order of the times the controller wrote down. Stamps of one form compare as text. */
static void check_times(struct fm_verify *v, const struct fm_tree_job *job)
{
	bool received = job->received_at[0] != '\0';

	if (job->attempt == 0)
		return;
	if (strcmp(v->plan.issued_at, job->issued_at) > 0 ||
	        strcmp(job->issued_at, received ? job->received_at : job->issued_at) > 0 ||
	        strcmp(received ? job->received_at : job->issued_at, v->tree.sealed_at) > 0)
		fm_verify_find(v, FM_ERR_IDENTITY, WHERE,
		        "%s, %s: times out of order: plan %s, issued %s, received %s, sealed %s",
		        job->system, job->candidate, v->plan.issued_at, job->issued_at,
		        job->received_at, v->tree.sealed_at);
	if (strcmp(job->status, "accepted") == 0 &&
	        strcmp(job->received_at, v->plan.expires_at) > 0)
		fm_verify_find(v, FM_ERR_EXPIRED, WHERE, "%s, %s: received %s, the plan expired %s",
		        job->system, job->candidate, job->received_at, v->plan.expires_at);
}

/* One dispatch by itself: planned, and with what its state needs. */
static void check_job(struct fm_verify *v, const struct fm_tree_job *job)
{
	bool issued = job->attempt > 0, accepted = strcmp(job->status, "accepted") == 0;

	if (fm_plan_system(&v->plan, job->system) == NULL ||
	        fm_plan_candidate(&v->plan, job->candidate) == NULL)
		fm_verify_find(v, FM_ERR_IDENTITY, WHERE, "%s, %s is not planned", job->system,
		        job->candidate);
	if (job->attempt < 0 || job->attempt > 99 || issued != (job->job_nonce[0] != '\0') ||
	        issued != (job->issued_at[0] != '\0') || (!issued && job->received_at[0] != '\0') ||
	        (job->received_at[0] != '\0') != (job->manifest_sha256[0] != '\0') ||
	        (accepted && job->received_at[0] == '\0') ||
	        !reason_ok(job->status, job->klass, job->reason, job->text))
		fm_verify_find(v, FM_ERR_FORM, WHERE,
		        "%s, %s, attempt %lld: nonce, times, digest, status and reason do not "
		        "belong together",
		        job->system, job->candidate, (long long)job->attempt);
	check_times(v, job);
}

static int compare_pairs(const struct fm_tree_job *a, const struct fm_tree_job *b)
{
	int order = strcmp(a->system, b->system);

	return order != 0 ? order : strcmp(a->candidate, b->candidate);
}

static int by_nonce(const void *a, const void *b)
{
	const struct fm_tree_job *const *x = a, *const *y = b;

	return strcmp((*x)->job_nonce, (*y)->job_nonce);
}

/* V8: no job nonce stands twice. */
static void check_nonces(struct fm_verify *v)
{
	const struct fm_tree *t = &v->tree;
	const struct fm_tree_job **sorted = fm_alloc_array(t->job_count + 1, sizeof *sorted);

	if (sorted == NULL) {
		fm_verify_error(v, FM_ERR_MEMORY, WHERE);
		return;
	}
	for (size_t i = 0; i < t->job_count; i++)
		sorted[i] = &t->jobs[i];
	qsort(sorted, t->job_count, sizeof *sorted, by_nonce);
	for (size_t i = 1; i < t->job_count; i++)
		if (sorted[i]->job_nonce[0] != '\0' && by_nonce(&sorted[i - 1], &sorted[i]) == 0)
			fm_verify_find(v, FM_ERR_REPLAY, WHERE,
			        "the job nonce of %s, %s is also that of %s, %s", sorted[i]->system,
			        sorted[i]->candidate, sorted[i - 1]->system,
			        sorted[i - 1]->candidate);
	free(sorted);
}

/* V8: sorted by system, candidate, attempt; every planned pair is there, at most one accepted. */
static bool check_jobs(struct fm_verify *v)
{
	const struct fm_tree *t = &v->tree;
	size_t pairs = 0, planned = v->plan.system_count * v->plan.candidates.count;
	bool accepted = false;

	for (size_t i = 0; i < t->job_count; i++) {
		const struct fm_tree_job *job = &t->jobs[i];
		int order = i > 0 ? compare_pairs(job - 1, job) : -1;

		if (order > 0 || (order == 0 && job[-1].attempt >= job->attempt) ||
		        (order == 0 && job[-1].attempt == 0)) {
			fm_verify_find(v, FM_ERR_FORM, WHERE, "job %zu is out of order", i);
			return false;
		}
		if (order < 0) {
			pairs++;
			accepted = false;
		}
		if (accepted && strcmp(job->status, "accepted") == 0)
			fm_verify_find(v, FM_ERR_REPLAY, WHERE, "%s, %s: accepted twice",
			        job->system, job->candidate);
		accepted |= strcmp(job->status, "accepted") == 0;
		check_job(v, job);
	}
	check_nonces(v);
	if (pairs != planned)
		fm_verify_find(v, FM_ERR_FORM, WHERE,
		        "jobs of %zu pairs of system and candidate, planned are %zu", pairs,
		        planned);
	return pairs == planned;
}

const struct fm_tree_job *fm_verify_job_of(const struct fm_tree *t, const char *path)
{
	char system[FM_NAME_MAX + 1], candidate[FM_NAME_MAX + 1];
	struct fm_tree_job key = {.system = system, .candidate = candidate};
	size_t low = 0, high = t->job_count;
	int used = 0;

	if (sscanf(path, "%64[^/]/%64[^/]/%n", system, candidate, &used) != 2 || used == 0)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_pairs(&t->jobs[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < t->job_count && compare_pairs(&t->jobs[low], &key) == 0; low++)
		if (strcmp(t->jobs[low].status, "accepted") == 0)
			return &t->jobs[low];
	return NULL;
}

static void check_folder(struct fm_verify *v, const struct fm_manifest_entry *e, void *arg)
{
	(void)arg;
	if (strncmp(e->path, "bundles/", 8) == 0 && fm_verify_job_of(&v->tree, e->path + 8) == NULL)
		fm_verify_find(
		        v, FM_ERR_FORM, e->path, "belongs to no accepted dispatch of tree.json");
}

static int check_accepted(void *arg, const struct fm_tree_cell *c)
{
	struct fm_verify *v = arg;

	if (strcmp(c->status, "accepted") == 0 && fm_verify_job_of(&v->tree, c->cell) == NULL)
		fm_verify_find(v, FM_ERR_FORM, WHERE, "%s is accepted without a bundle", c->cell);
	return FM_OK;
}

/* V8: what lies in bundles/ belongs to an accepted dispatch; what no bundle answers for cannot be
 * accepted. */
static void check_folders(struct fm_verify *v)
{
	fm_verify_lines(v, check_folder, NULL);
	for (size_t i = 0; i < v->tree.part_count; i++)
		cells_of(v, &v->tree.parts[i], check_accepted, v);
}

bool fm_verify_tree(struct fm_verify *v)
{
	bool cells, jobs;

	check_head(v);
	cells = check_cells(v);
	jobs = check_jobs(v);
	if (!cells || !jobs)
		return false;
	check_folders(v);
	return true;
}
