/* stage_keep.c: moves fetched bundles to bundles/ or rejected/, in step with the journal. */
#include "orchestrator/stage_keep.h"
#include "orchestrator/hostlog.h"
#include "orchestrator/out.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 400
#define TRIES     100

/* Makes the folder above path (below the campaign) and renames incoming/<folder> to it. */
static int move_to(
        const struct fm_campaign *c, const char *folder, const char *parent, const char *name)
{
	char from[PATH_SIZE], to[PATH_SIZE];
	int fd = -1;
	int rc = fm_fs_mkdirs(c->dirfd, parent, 0755, &fd);

	if (fd >= 0)
		close(fd);
	if (rc != FM_OK)
		return rc;
	snprintf(from, sizeof from, "incoming/%s", folder);
	snprintf(to, sizeof to, "%s/%s", parent, name);
	if (fchmodat(c->dirfd, from, 0755, 0) != 0)
		return fm_fail_errno("%s/%s", c->path, from);
	return fm_fs_rename(c->dirfd, from, to);
}

int fm_keep_set_aside(const struct fm_campaign *c, const char *system, const char *candidate)
{
	char parent[PATH_SIZE], from[PATH_SIZE], to[PATH_SIZE];
	int fd = -1;
	int rc = fm_fs_mkdirs(c->incoming, "superseded", 0755, &fd);

	if (fd >= 0)
		close(fd);
	snprintf(parent, sizeof parent, "incoming/superseded");
	snprintf(from, sizeof from, "bundles/%s/%s", system, candidate);
	if (rc != FM_OK || faccessat(c->dirfd, from, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		return rc;
	for (int i = 1; i <= TRIES; i++) {
		snprintf(to, sizeof to, "%s/%s-%s.%d", parent, system, candidate, i);
		if (faccessat(c->dirfd, to, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			return fm_fs_rename(c->dirfd, from, to);
	}
	return fm_fail(FM_ERR_CONFLICT, "%s/%s holds %d of %s %s; move some away", c->path, parent,
	        TRIES, system, candidate);
}

int fm_keep_accepted(
        struct fm_host *h, struct fm_host_job *j, const char *folder, const char *manifest_sha256)
{
	struct fm_campaign *c = h->campaign;
	char parent[PATH_SIZE];
	bool again = false;
	int rc = fm_journal_received(
	        c->journal, j->job.nonce, fm_session_host_key(h->session), manifest_sha256);

	if (rc == FM_OK)
		rc = fm_journal_accept(c->journal, j->job.nonce, manifest_sha256, &again);
	if (rc == FM_ERR_CONFLICT || rc == FM_ERR_REPLAY)
		return fm_keep_rejected(h, j, folder, manifest_sha256, rc);
	if (rc != FM_OK)
		return rc;
	snprintf(parent, sizeof parent, "bundles/%s", h->system->name);
	if (again)
		rc = fm_fs_remove(c->incoming, folder);
	else if ((rc = fm_keep_set_aside(c, h->system->name, j->candidate->id)) == FM_OK)
		rc = move_to(c, folder, parent, j->candidate->id);
	if (rc != FM_OK)
		return rc;
	j->done = true;
	pthread_mutex_lock(&c->mutex);
	c->accepted++;
	pthread_mutex_unlock(&c->mutex);
	fm_host_event(h, "accepted", "collect", j->candidate->id, "bundle %.12s", manifest_sha256);
	return FM_OK;
}

static int write_reason(const struct fm_campaign *c, const char *folder, int code, const char *text)
{
	char body[1600], path[PATH_SIZE], shown[1200];
	int n = snprintf(body, sizeof body, "%s/%s: %s\n", fm_error_class(code),
	        fm_error_reason(code), fm_escape(text, strlen(text), shown, sizeof shown));

	snprintf(path, sizeof path, "%s/reason.txt", folder);
	return fm_fs_write(c->incoming, path, body, (size_t)n, 0644);
}

int fm_keep_rejected(struct fm_host *h, struct fm_host_job *j, const char *folder,
        const char *manifest_sha256, int code)
{
	struct fm_campaign *c = h->campaign;
	char text[1000], parent[PATH_SIZE], name[PATH_SIZE];
	int rc;

	snprintf(text, sizeof text, "%s", fm_error_text());
	/* A refused manifest still was received; a nonce that is not open has nothing to record. */
	if (manifest_sha256[0] != '\0')
		(void)!fm_journal_received(
		        c->journal, j->job.nonce, fm_session_host_key(h->session), manifest_sha256);
	rc = write_reason(c, folder, code, text);
	snprintf(parent, sizeof parent, "rejected/%s", h->system->name);
	for (int i = 0; rc == FM_OK && i < TRIES; i++) {
		snprintf(name, sizeof name, i == 0 ? "%s.%d" : "%s.%d.%d", j->candidate->id,
		        j->job.attempt, i + 1);
		rc = move_to(c, folder, parent, name);
		if (rc == FM_OK)
			break;
		if (errno == EEXIST || errno == ENOTEMPTY)
			rc = FM_OK;
	}
	if (rc == FM_OK)
		rc = fm_journal_reject(c->journal, j->job.nonce, fm_error_class(code),
		        fm_error_reason(code), text);
	j->done = true;
	pthread_mutex_lock(&c->mutex);
	c->rejected++;
	pthread_mutex_unlock(&c->mutex);
	fm_hostlog_say(h->log, "bundle %s refused: %s", j->candidate->id, text);
	fm_out_event(&(struct fm_event){.event = "rejected",
	        .system = h->system->name,
	        .stage = "collect",
	        .candidate = j->candidate->id,
	        .klass = fm_error_class(code),
	        .reason = fm_error_reason(code),
	        .text = text});
	return rc;
}

/* Is dirfd/<folder> the bundle with this manifest? */
static bool has_manifest(int dirfd, const char *folder, const char *manifest)
{
	char path[PATH_SIZE], hex[65];

	snprintf(path, sizeof path, "%s/%s", folder, FM_MANIFEST_NAME);
	return fm_fs_sha256(dirfd, path, hex, NULL) == FM_OK && strcmp(hex, manifest) == 0;
}

/* An accepted job without its folder: find it among the leftovers. What a broken-off redo left in
 * its place makes room first. */
static int repair_job(struct fm_campaign *c, const struct fm_job *job, DIR *dir)
{
	char parent[PATH_SIZE], path[PATH_SIZE];
	const struct dirent *e;
	int rc;

	snprintf(parent, sizeof parent, "bundles/%s", job->system);
	snprintf(path, sizeof path, "bundles/%s/%s", job->system, job->candidate);
	if (has_manifest(c->dirfd, path, job->manifest_sha256))
		return FM_OK;
	if ((rc = fm_keep_set_aside(c, job->system, job->candidate)) != FM_OK)
		return rc;
	rewinddir(dir);
	while ((e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, ".in-", 4) == 0 &&
		        has_manifest(c->incoming, e->d_name, job->manifest_sha256)) {
			fm_say("%s: finishing the interrupted arrival of %s", job->system,
			        job->candidate);
			return move_to(c, e->d_name, parent, job->candidate);
		}
	}
	fm_say("%s: the accepted bundle of %s is gone from %s/%s; it is measured again",
	        job->system, job->candidate, c->path, path);
	return fm_journal_redo(c->journal, job->system, job->candidate, "measure");
}

int fm_keep_repair(struct fm_campaign *c)
{
	struct fm_job *jobs = NULL;
	const struct dirent *e;
	size_t count = 0;
	int fd = openat(c->incoming, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	int rc = dir == NULL ? fm_fail_errno("%s/incoming", c->path)
	                     : fm_journal_jobs(c->journal, &jobs, &count);

	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		if (jobs[i].state == FM_JOB_ACCEPTED)
			rc = repair_job(c, &jobs[i], dir);
	}
	if (dir != NULL)
		rewinddir(dir);
	while (rc == FM_OK && (e = readdir(dir)) != NULL) {
		if (strncmp(e->d_name, ".in-", 4) == 0)
			rc = fm_fs_remove(c->incoming, e->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	free(jobs);
	return rc;
}
