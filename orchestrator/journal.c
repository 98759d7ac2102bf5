/* journal.c: the campaign's journal: appends what happened, durably, before anything depends on it.
 */
#include "orchestrator/journal_fold.h"
#include "orchestrator/out.h"
#include "protocol/buf.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Who holds the lock, in words for the one who does not get it. */
static int locked_by(int dirfd)
{
	struct fm_buf text = FM_BUF_INIT(400);
	char shown[400];
	int rc = fm_fs_read(dirfd, "lock", 399, &text);

	if (rc == FM_OK && text.len > 1)
		rc = fm_fail(FM_ERR_LOCKED, "another controller works on this campaign: %s",
		        fm_escape(text.data, text.len - 1, shown, sizeof shown));
	else
		rc = fm_fail(FM_ERR_LOCKED, "another controller works on this campaign");
	fm_buf_free(&text);
	return rc;
}

static int take_lock(struct fm_journal *j, int dirfd)
{
	char host[65] = "unknown", now[21], text[300];
	int len, rc = fm_fs_lock(dirfd, "lock", &j->lockfd);

	/* Those who only look whether somebody works here hold the lock for an instant, too. */
	for (int i = 0; rc == FM_ERR_LOCKED && i < 10; i++) {
		(void)poll(NULL, 0, 10);
		rc = fm_fs_lock(dirfd, "lock", &j->lockfd);
	}
	if (rc == FM_ERR_LOCKED)
		return locked_by(dirfd);
	if (rc != FM_OK)
		return rc;
	(void)!gethostname(host, sizeof host - 1);
	fm_stamp_now(now);
	len = snprintf(text, sizeof text, "pid %ld on %s since %s, campaign %s\n", (long)getpid(),
	        host, now, j->campaign);
	if (ftruncate(j->lockfd, 0) < 0)
		return fm_fail_errno("lock");
	return fm_fs_write_all(j->lockfd, text, (size_t)len);
}

int fm_journal_open(struct fm_journal **out, int dirfd, const char *campaign, bool read_only)
{
	struct fm_journal *j = fm_alloc(sizeof *j);
	size_t cut = 0;
	int rc = FM_ERR_MEMORY;

	*out = NULL;
	if (j == NULL)
		return rc;
	pthread_mutex_init(&j->lock, NULL);
	j->lockfd = -1;
	snprintf(j->campaign, sizeof j->campaign, "%s", campaign);
	j->fold.campaign = j->campaign;
	if (read_only)
		rc = fm_lines_read(dirfd, "journal", fm_fold_line, &j->fold);
	else if ((rc = take_lock(j, dirfd)) == FM_OK)
		rc = fm_lines_open(&j->lines, dirfd, "journal", fm_fold_line, &j->fold, &cut);
	if (rc == FM_OK && cut > 0)
		fm_say("journal of %s: %zu bytes of a torn end were cut off and kept beside it",
		        campaign, cut);
	if (rc != FM_OK) {
		(void)!fm_journal_close(j);
		return rc == FM_ERR_LOCKED ? rc : fm_wrap(rc, "journal");
	}
	*out = j;
	return FM_OK;
}

int fm_journal_close(struct fm_journal *j)
{
	int rc;

	if (j == NULL)
		return FM_OK;
	rc = fm_lines_close(j->lines);
	if (j->lockfd >= 0)
		close(j->lockfd);
	fm_fold_free(&j->fold);
	pthread_mutex_destroy(&j->lock);
	free(j);
	return rc;
}

/* ---- writing, each with the lock held. The fold moves only when the line is on the disk. ---- */

/* An event as it stands in the file and as the fold takes it: both from the same pairs. */
struct pairs {
	const char *kind;
	const char *key[12], *value[12];
	size_t count;
};

static void pair(struct pairs *p, const char *key, const char *value)
{
	p->key[p->count] = key;
	p->value[p->count++] = value;
}

static int append(struct fm_journal *j, const struct pairs *p)
{
	const char *a[24] = {NULL};
	struct fm_line line;
	int rc;

	if (j->lines == NULL)
		return fm_fail(FM_ERR_INTERNAL, "journal: opened for reading only");
	for (size_t i = 0; i < p->count; i++) {
		a[2 * i] = p->key[i];
		a[2 * i + 1] = p->value[i];
	}
	/* A NULL key ends the list. */
	rc = fm_lines_put(j->lines, p->kind, a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8],
	        a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], NULL);
	if (rc == FM_OK)
		rc = fm_lines_sync(j->lines);
	if (rc != FM_OK)
		return fm_wrap(rc, "journal");
	memset(&line, 0, sizeof line);
	snprintf(line.kind, sizeof line.kind, "%s", p->kind);
	line.count = p->count;
	for (size_t i = 0; i < p->count; i++) {
		line.field[i].key = p->key[i];
		line.field[i].value = p->value[i];
	}
	return fm_fold_line(&j->fold, &line);
}

int fm_journal_begin(struct fm_journal *j, const char *plan_sha256)
{
	char now[21], pid[24], host[65] = "unknown";
	struct pairs p = {.kind = "opened"};
	int rc = FM_OK;

	pthread_mutex_lock(&j->lock);
	if (j->fold.plan[0] == '\0') {
		fm_stamp_now(now);
		snprintf(pid, sizeof pid, "%ld", (long)getpid());
		(void)!gethostname(host, sizeof host - 1);
		pair(&p, "campaign", j->campaign);
		pair(&p, "plan_sha256", plan_sha256);
		pair(&p, "time", now);
		pair(&p, "pid", pid);
		pair(&p, "host", host);
		rc = append(j, &p);
	} else if (strcmp(j->fold.plan, plan_sha256) != 0) {
		rc = fm_fail(FM_ERR_CONFIG,
		        "the journal belongs to plan %.12s..., not to %.12s...; name another "
		        "campaign",
		        j->fold.plan, plan_sha256);
	}
	pthread_mutex_unlock(&j->lock);
	return rc;
}

int fm_journal_issue(
        struct fm_journal *j, const char *system, const char *candidate, struct fm_job *out)
{
	char nonce[65], now[21], number[12];
	struct pairs p = {.kind = "issued"};
	int attempt, rc;

	pthread_mutex_lock(&j->lock);
	attempt = fm_fold_attempts(&j->fold, system, candidate) + 1;
	fm_random_hex(32, nonce);
	fm_stamp_now(now);
	snprintf(number, sizeof number, "%d", attempt);
	pair(&p, "system", system);
	pair(&p, "candidate", candidate);
	pair(&p, "attempt", number);
	pair(&p, "job_nonce", nonce);
	pair(&p, "time", now);
	rc = attempt > 99 ? fm_fail(FM_ERR_CONFIG,
	                            "%s of %s was dispatched 99 times; name another campaign",
	                            candidate, system)
	                  : append(j, &p);
	if (rc == FM_OK)
		*out = *fm_fold_job(&j->fold, nonce);
	pthread_mutex_unlock(&j->lock);
	return rc;
}

/* The open job with this nonce; FM_ERR_REPLAY if it was never issued here or is over. This
 * comparison is what makes a bundle count once. */
static int open_job(struct fm_journal *j, const char *nonce, struct fm_job **out)
{
	*out = fm_fold_job(&j->fold, nonce);
	if (*out == NULL)
		return fm_fail(FM_ERR_REPLAY,
		        "job nonce %.12s... was never issued in this campaign", nonce);
	if ((*out)->state != FM_JOB_ISSUED && (*out)->state != FM_JOB_RECEIVED)
		return fm_fail(FM_ERR_REPLAY,
		        "job nonce %.12s... (%s of %s, attempt %d) is not open any more", nonce,
		        (*out)->candidate, (*out)->system, (*out)->attempt);
	return FM_OK;
}

static void name_job(struct pairs *p, const struct fm_job *job, char number[12])
{
	snprintf(number, 12, "%d", job->attempt);
	pair(p, "system", job->system);
	pair(p, "candidate", job->candidate);
	pair(p, "attempt", number);
	pair(p, "job_nonce", job->nonce);
}

int fm_journal_received(
        struct fm_journal *j, const char *nonce, const char *host_key, const char *manifest_sha256)
{
	struct pairs p = {.kind = "received"};
	struct fm_job *job, copy;
	char number[12], now[21];
	int rc;

	pthread_mutex_lock(&j->lock);
	if ((rc = open_job(j, nonce, &job)) == FM_OK) {
		copy = *job;
		fm_stamp_now(now);
		name_job(&p, &copy, number);
		pair(&p, "host_key", host_key);
		pair(&p, "manifest_sha256", manifest_sha256);
		pair(&p, "time", now);
		rc = append(j, &p);
	}
	pthread_mutex_unlock(&j->lock);
	return rc;
}

int fm_journal_accept(
        struct fm_journal *j, const char *nonce, const char *manifest_sha256, bool *again)
{
	struct pairs p = {.kind = "accepted"};
	struct fm_job *job, copy;
	char number[12];
	int rc;

	*again = false;
	pthread_mutex_lock(&j->lock);
	job = fm_fold_job(&j->fold, nonce);
	if (job != NULL && job->state == FM_JOB_ACCEPTED &&
	        strcmp(job->manifest_sha256, manifest_sha256) == 0) {
		*again = true;
		rc = FM_OK;
	} else if (job != NULL &&
	           (job->state == FM_JOB_ACCEPTED || job->state == FM_JOB_RECEIVED) &&
	           strcmp(job->manifest_sha256, manifest_sha256) != 0) {
		rc = fm_fail(FM_ERR_CONFLICT, "%s of %s, attempt %d: two bundles for one job nonce",
		        job->candidate, job->system, job->attempt);
	} else if ((rc = open_job(j, nonce, &job)) == FM_OK) {
		copy = *job;
		name_job(&p, &copy, number);
		pair(&p, "manifest_sha256", manifest_sha256);
		rc = append(j, &p);
	}
	pthread_mutex_unlock(&j->lock);
	return rc;
}

/* The accepted job with this nonce. */
static int accepted_job(struct fm_journal *j, const char *nonce, struct fm_job **out)
{
	*out = fm_fold_job(&j->fold, nonce);
	return *out != NULL && (*out)->state == FM_JOB_ACCEPTED
	               ? FM_OK
	               : fm_fail(FM_ERR_REPLAY, "job nonce %.12s... is not accepted here", nonce);
}

static int over(struct fm_journal *j, const char *kind, const char *nonce, const char *klass,
        const char *reason, const char *text)
{
	struct pairs p = {.kind = kind};
	struct fm_job *job, copy;
	char number[12], now[21], cut[256];
	bool revoked = strcmp(kind, "revoked") == 0; /* a rejection of what was accepted */
	int rc;

	pthread_mutex_lock(&j->lock);
	if (revoked)
		p.kind = "rejected";
	rc = revoked ? accepted_job(j, nonce, &job) : open_job(j, nonce, &job);
	if (rc == FM_OK) {
		copy = *job;
		fm_stamp_now(now);
		snprintf(cut, sizeof cut, "%s", text);
		name_job(&p, &copy, number);
		pair(&p, "class", klass);
		pair(&p, "reason", reason);
		pair(&p, "text", cut);
		pair(&p, "time", now);
		rc = append(j, &p);
	}
	pthread_mutex_unlock(&j->lock);
	return rc;
}

int fm_journal_reject(struct fm_journal *j, const char *nonce, const char *klass,
        const char *reason, const char *text)
{
	return over(j, "rejected", nonce, klass, reason, text);
}

int fm_journal_revoke(struct fm_journal *j, const char *nonce, const char *text)
{
	return over(j, "revoked", nonce, fm_error_class(FM_ERR_REVOKED),
	        fm_error_reason(FM_ERR_REVOKED), text);
}

int fm_journal_end(struct fm_journal *j, const char *nonce, const char *klass, const char *reason,
        const char *text)
{
	return over(j, "ended", nonce, klass, reason, text);
}

int fm_journal_host(struct fm_journal *j, const char *system, const char *state, const char *klass,
        const char *reason, const char *text)
{
	struct pairs p = {.kind = "host"};
	char now[21], cut[256];
	int rc;

	pthread_mutex_lock(&j->lock);
	fm_stamp_now(now);
	snprintf(cut, sizeof cut, "%s", text);
	pair(&p, "system", system);
	pair(&p, "state", state);
	pair(&p, "class", klass);
	pair(&p, "reason", reason);
	pair(&p, "text", cut);
	pair(&p, "time", now);
	rc = append(j, &p);
	pthread_mutex_unlock(&j->lock);
	return rc;
}

int fm_journal_redo(
        struct fm_journal *j, const char *system, const char *candidate, const char *stage)
{
	struct pairs p = {.kind = "redo"};
	char now[21];
	int rc;

	pthread_mutex_lock(&j->lock);
	fm_stamp_now(now);
	pair(&p, "system", system);
	pair(&p, "candidate", candidate);
	pair(&p, "stage", stage);
	pair(&p, "time", now);
	rc = append(j, &p);
	pthread_mutex_unlock(&j->lock);
	return rc;
}

int fm_journal_sealed(struct fm_journal *j, const char *tree_sha256, int64_t sequence)
{
	struct pairs p = {.kind = "sealed"};
	char now[21], number[24];
	int rc;

	pthread_mutex_lock(&j->lock);
	fm_stamp_now(now);
	snprintf(number, sizeof number, "%lld", (long long)sequence);
	pair(&p, "tree_sha256", tree_sha256);
	pair(&p, "sequence", number);
	pair(&p, "time", now);
	rc = append(j, &p);
	pthread_mutex_unlock(&j->lock);
	return rc;
}
