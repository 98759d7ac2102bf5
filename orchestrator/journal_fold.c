/* journal_fold.c: what the lines of a journal mean: jobs, their states, hosts, seals. */
#include "orchestrator/journal_fold.h"
#include "protocol/buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fm_fold_free(struct fm_fold *f)
{
	free(f->jobs);
	free(f->hosts);
	f->jobs = NULL;
	f->hosts = NULL;
	f->count = f->host_count = 0;
}

static size_t hash(const char *a, const char *b)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (const char *p = a; *p != '\0'; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	h = (h ^ '/') * 16777619u;
	for (const char *p = b; *p != '\0'; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	return h % FM_FOLD_BUCKETS;
}

struct fm_job *fm_fold_job(const struct fm_fold *f, const char *nonce)
{
	for (size_t i = f->by_nonce[hash(nonce, "")]; i > 0; i = f->jobs[i - 1].next_nonce)
		if (strcmp(f->jobs[i - 1].job.nonce, nonce) == 0)
			return &f->jobs[i - 1].job;
	return NULL;
}

static bool open_state(enum fm_job_state s)
{
	return s == FM_JOB_ISSUED || s == FM_JOB_RECEIVED;
}

/* The newest job of the pair for which want holds; chains hold the newest first. */
static struct fm_job *newest(const struct fm_fold *f, const char *system, const char *candidate,
        bool (*want)(enum fm_job_state))
{
	for (size_t i = f->by_pair[hash(system, candidate)]; i > 0; i = f->jobs[i - 1].next_pair) {
		struct fm_job *job = &f->jobs[i - 1].job;

		if (strcmp(job->system, system) == 0 && strcmp(job->candidate, candidate) == 0 &&
		        (want == NULL || want(job->state)))
			return job;
	}
	return NULL;
}

static bool accepted_state(enum fm_job_state s)
{
	return s == FM_JOB_ACCEPTED;
}

int fm_fold_attempts(const struct fm_fold *f, const char *system, const char *candidate)
{
	const struct fm_job *job = newest(f, system, candidate, NULL);

	return job == NULL ? 0 : job->attempt;
}

const struct fm_job *fm_fold_find(
        const struct fm_fold *f, const char *system, const char *candidate, bool accepted)
{
	return newest(f, system, candidate, accepted ? accepted_state : open_state);
}

/* ---- one line ---- */

static int bad(const struct fm_line *l, const char *why)
{
	return fm_fail(FM_ERR_FORM, "line %llu (%s): %s", (unsigned long long)l->seq, l->kind, why);
}

static int take(
        const struct fm_line *l, const char *key, bool (*ok)(const char *), char *out, size_t size)
{
	const char *value = fm_line_get(l, key);

	if (value == NULL || (ok != NULL && (!ok(value) || strlen(value) >= size)))
		return bad(l, key);
	snprintf(out, size, "%s", value);
	return FM_OK;
}

static int take_opened(struct fm_fold *f, const struct fm_line *l)
{
	char campaign[FM_NAME_MAX + 1];
	int rc = take(l, "campaign", fm_name_ok, campaign, sizeof campaign);

	if (rc == FM_OK)
		rc = take(l, "plan_sha256", fm_hex64_ok, f->plan, sizeof f->plan);
	if (rc == FM_OK && f->campaign != NULL && strcmp(campaign, f->campaign) != 0)
		rc = bad(l, "it is the journal of another campaign");
	return rc;
}

static int take_issued(struct fm_fold *f, const struct fm_line *l)
{
	struct fm_job job, *before;
	struct fm_fold_job *slot;
	size_t nonce, pair;
	int rc;

	memset(&job, 0, sizeof job);
	if ((rc = take(l, "system", fm_name_ok, job.system, sizeof job.system)) != FM_OK ||
	        (rc = take(l, "candidate", fm_name_ok, job.candidate, sizeof job.candidate)) !=
	                FM_OK ||
	        (rc = take(l, "job_nonce", fm_hex64_ok, job.nonce, sizeof job.nonce)) != FM_OK ||
	        (rc = take(l, "time", fm_stamp_ok, job.issued_at, sizeof job.issued_at)) != FM_OK)
		return rc;
	job.attempt = (int)fm_line_u64(l, "attempt", 0);
	if (job.attempt != fm_fold_attempts(f, job.system, job.candidate) + 1 || job.attempt > 99)
		return bad(l, "attempt does not follow");
	if (fm_fold_job(f, job.nonce) != NULL)
		return bad(l, "a nonce was issued twice");
	/* A new dispatch ends one that is still open: its nonce is worth nothing from now on. */
	if ((before = newest(f, job.system, job.candidate, open_state)) != NULL)
		before->state = FM_JOB_SUPERSEDED;
	if ((slot = fm_grow(&f->jobs, &f->count, sizeof *slot)) == NULL)
		return FM_ERR_MEMORY;
	nonce = hash(job.nonce, "");
	pair = hash(job.system, job.candidate);
	*slot = (struct fm_fold_job){job, f->by_nonce[nonce], f->by_pair[pair]};
	f->by_nonce[nonce] = f->by_pair[pair] = f->count;
	return FM_OK;
}

static int take_received(struct fm_job *job, const struct fm_line *l)
{
	int rc = take(l, "manifest_sha256", fm_hex64_ok, job->manifest_sha256,
	        sizeof job->manifest_sha256);

	if (rc == FM_OK)
		rc = take(l, "time", fm_stamp_ok, job->received_at, sizeof job->received_at);
	if (rc == FM_OK)
		rc = take(l, "host_key", NULL, job->host_key, sizeof job->host_key);
	if (rc == FM_OK)
		job->state = FM_JOB_RECEIVED;
	return rc;
}

static int take_accepted(struct fm_job *job, const struct fm_line *l)
{
	int rc = take(l, "manifest_sha256", fm_hex64_ok, job->manifest_sha256,
	        sizeof job->manifest_sha256);

	if (rc == FM_OK)
		job->state = FM_JOB_ACCEPTED;
	return rc;
}

static int take_over(struct fm_job *job, const struct fm_line *l, enum fm_job_state state)
{
	int rc = take(l, "class", NULL, job->klass, sizeof job->klass);

	if (rc == FM_OK)
		rc = take(l, "reason", NULL, job->reason, sizeof job->reason);
	if (rc == FM_OK)
		rc = take(l, "text", NULL, job->text, sizeof job->text);
	if (rc == FM_OK)
		job->state = state;
	return rc;
}

/* The key of a bundle was revoked after it had been accepted. */
static bool revokes(const struct fm_job *job, const struct fm_line *l)
{
	const char *reason = fm_line_get(l, "reason");

	return job->state == FM_JOB_ACCEPTED && strcmp(l->kind, "rejected") == 0 &&
	       reason != NULL && strcmp(reason, "revoked") == 0;
}

/* A line about one dispatch, which must be open, or accepted if its key was revoked. */
static int take_job(struct fm_fold *f, const struct fm_line *l)
{
	const char *nonce = fm_line_get(l, "job_nonce");
	struct fm_job *job = nonce == NULL ? NULL : fm_fold_job(f, nonce);

	if (job == NULL)
		return bad(l, "a nonce that was never issued");
	if (!open_state(job->state) && !revokes(job, l))
		return bad(l, "a dispatch that is over");
	if (strcmp(l->kind, "received") == 0)
		return take_received(job, l);
	if (strcmp(l->kind, "accepted") == 0)
		return take_accepted(job, l);
	return take_over(job, l, strcmp(l->kind, "rejected") == 0 ? FM_JOB_REJECTED : FM_JOB_ENDED);
}

static int take_host(struct fm_fold *f, const struct fm_line *l)
{
	struct fm_fold_host host, *slot = NULL;
	char state[8];
	int rc;

	memset(&host, 0, sizeof host);
	if ((rc = take(l, "system", fm_name_ok, host.system, sizeof host.system)) != FM_OK ||
	        (rc = take(l, "state", NULL, state, sizeof state)) != FM_OK)
		return rc;
	if (strcmp(state, "failed") == 0 &&
	        ((rc = take(l, "class", NULL, host.klass, sizeof host.klass)) != FM_OK ||
	                (rc = take(l, "reason", NULL, host.reason, sizeof host.reason)) != FM_OK ||
	                (rc = take(l, "text", NULL, host.text, sizeof host.text)) != FM_OK))
		return rc;
	if (strcmp(state, "failed") != 0 && strcmp(state, "up") != 0)
		return bad(l, "state");
	for (size_t i = 0; i < f->host_count && slot == NULL; i++)
		if (strcmp(f->hosts[i].system, host.system) == 0)
			slot = &f->hosts[i];
	if (slot == NULL && (slot = fm_grow(&f->hosts, &f->host_count, sizeof *slot)) == NULL)
		return FM_ERR_MEMORY;
	*slot = host;
	return FM_OK;
}

/* From one of these stages on the host has to work again; the later ones only repeat what the
 * controller does. */
static bool on_host(const char *stage)
{
	static const char *const stages[] = {"push", "build", "kat", "measure", "bundle"};

	for (size_t i = 0; i < sizeof stages / sizeof stages[0]; i++)
		if (strcmp(stages[i], stage) == 0)
			return true;
	return false;
}

static int take_redo(struct fm_fold *f, const struct fm_line *l)
{
	const char *system = fm_line_get(l, "system"), *candidate = fm_line_get(l, "candidate"),
	           *stage = fm_line_get(l, "stage");

	if (system == NULL || candidate == NULL || stage == NULL)
		return bad(l, "system, candidate or stage is missing");
	for (size_t i = f->by_pair[hash(system, candidate)]; on_host(stage) && i > 0;
	        i = f->jobs[i - 1].next_pair) {
		struct fm_job *job = &f->jobs[i - 1].job;

		if (strcmp(job->system, system) == 0 && strcmp(job->candidate, candidate) == 0 &&
		        (open_state(job->state) || job->state == FM_JOB_ACCEPTED))
			job->state = FM_JOB_SUPERSEDED;
	}
	return FM_OK;
}

int fm_fold_line(void *arg, const struct fm_line *line)
{
	static const char *const about_jobs[] = {"received", "accepted", "rejected", "ended"};
	struct fm_fold *f = arg;
	const char *kind = line->kind;

	if (f->plan[0] == '\0' && strcmp(kind, "opened") != 0)
		return bad(line, "the journal does not begin with `opened`");
	if (strcmp(kind, "opened") == 0)
		return f->plan[0] == '\0' ? take_opened(f, line) : bad(line, "stands twice");
	if (strcmp(kind, "host") == 0)
		return take_host(f, line);
	if (strcmp(kind, "sealed") == 0) {
		f->changed = false;
		return take(line, "tree_sha256", fm_hex64_ok, f->tree, sizeof f->tree);
	}
	f->changed = true;
	if (strcmp(kind, "issued") == 0)
		return take_issued(f, line);
	if (strcmp(kind, "redo") == 0)
		return take_redo(f, line);
	for (size_t i = 0; i < sizeof about_jobs / sizeof about_jobs[0]; i++)
		if (strcmp(kind, about_jobs[i]) == 0)
			return take_job(f, line);
	return bad(line, "unknown kind");
}
