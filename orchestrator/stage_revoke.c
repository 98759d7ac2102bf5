/* stage_revoke.c: bundles whose key does not count any more leave the tree before it is sealed. */
#include "orchestrator/stage_revoke.h"
#include "orchestrator/out.h"
#include "orchestrator/trust.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 400

static int read_trust(const struct fm_home *home, struct fm_trust *out)
{
	int fd = -1, rc = fm_fs_dir(home->dirfd, "trust", &fd);

	memset(out, 0, sizeof *out);
	if (rc == FM_OK)
		rc = fm_trust_read(fd, fm_identity_public(home->id), out);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Why a bundle of this system does not count; NULL if it does. */
static const char *why_not(
        const struct fm_campaign *c, const struct fm_trust *t, const struct fm_job *job)
{
	const struct fm_plan_system *s = fm_plan_system(&c->plan, job->system);

	if (s == NULL)
		return NULL;
	if (fm_trust_revoked(t, &s->key))
		return "its key was revoked after it was accepted";
	if (!fm_trust_covers(t, job->system, &s->key, c->plan.issued_at, job->received_at))
		return "its key had ended when it was received";
	return NULL;
}

/* bundles/<system>/<candidate> to rejected/<system>/<candidate>.<attempt>; nothing if it is not
 * there. */
static int move_out(const struct fm_campaign *c, const struct fm_job *job)
{
	char from[PATH_SIZE], parent[PATH_SIZE], to[PATH_SIZE + 120], text[PATH_SIZE];
	struct stat st;
	int fd = -1, rc, n;

	snprintf(from, sizeof from, "bundles/%s/%s", job->system, job->candidate);
	if (fstatat(c->dirfd, from, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return FM_OK;
	snprintf(parent, sizeof parent, "rejected/%s", job->system);
	snprintf(to, sizeof to, "%s/%s.%d", parent, job->candidate, job->attempt);
	if ((rc = fm_fs_mkdirs(c->dirfd, parent, 0755, &fd)) != FM_OK)
		return rc;
	close(fd);
	if ((rc = fm_fs_rename(c->dirfd, from, to)) != FM_OK)
		return rc;
	n = snprintf(text, sizeof text, "verify/revoked: %s\n", job->text);
	snprintf(to, sizeof to, "%s/%s.%d/reason.txt", parent, job->candidate, job->attempt);
	return fm_fs_write(c->dirfd, to, text, (size_t)n, 0644);
}

/* Is there an accepted dispatch of the same pair, so that the folder in bundles/ is that one's? */
static bool replaced(const struct fm_job *jobs, size_t count, const struct fm_job *job)
{
	for (size_t i = 0; i < count; i++)
		if (jobs[i].state == FM_JOB_ACCEPTED && strcmp(jobs[i].system, job->system) == 0 &&
		        strcmp(jobs[i].candidate, job->candidate) == 0)
			return true;
	return false;
}

static int look(struct fm_campaign *c, const struct fm_trust *t, const struct fm_job *jobs,
        size_t count, struct fm_job *job)
{
	const char *why;
	int rc;

	if (job->state == FM_JOB_REJECTED && strcmp(job->reason, "revoked") == 0 &&
	        !replaced(jobs, count, job))
		return move_out(c, job);
	if (job->state != FM_JOB_ACCEPTED || (why = why_not(c, t, job)) == NULL)
		return FM_OK;
	if ((rc = fm_journal_revoke(c->journal, job->nonce, why)) != FM_OK)
		return rc;
	snprintf(job->text, sizeof job->text, "%s", why);
	fm_out_event(&(struct fm_event){.event = "rejected",
	        .system = job->system,
	        .stage = "merge",
	        .candidate = job->candidate,
	        .klass = "verify",
	        .reason = "revoked",
	        .text = why});
	return move_out(c, job);
}

int fm_stage_revoke(struct fm_campaign *c)
{
	struct fm_job *jobs = NULL;
	struct fm_trust trust;
	size_t count = 0;
	int rc = read_trust(c->home, &trust);

	if (rc == FM_OK)
		rc = fm_journal_jobs(c->journal, &jobs, &count);
	for (size_t i = 0; rc == FM_OK && i < count; i++)
		rc = look(c, &trust, jobs, count, &jobs[i]);
	free(jobs);
	fm_trust_free(&trust);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", c->path);
}
