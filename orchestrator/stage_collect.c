/* stage_collect.c: brings one bundle home: seal first, then exactly the files it names, then every
 * check, then the journal. */
#include "orchestrator/accept.h"
#include "orchestrator/host.h"
#include "orchestrator/hostlog.h"
#include "orchestrator/out.h"
#include "orchestrator/stage_keep.h"
#include "orchestrator/wire.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/manifest.h"
#include "protocol/seal.h"
#include "protocol/sshsig.h"
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CALL_MAX     (64u << 10)
#define MANIFEST_MAX (16u << 20) /* 16384 lines of at most 467 bytes are less */
#define AHEAD        16          /* calls under way; as many as the agent allows */
#define GRACE        (300 * FM_S)
#define LEAST_RATE   4096 /* bytes a second, once GRACE is over: else a bundle might never end */

struct fetch {
	struct fm_host *h;
	struct fm_host_job *j;
	char folder[160]; /* below incoming/ */
	int dirfd;        /* of it */
	int file;         /* being written */
	struct fm_sha256 hash;
	uint64_t got, all; /* bytes of this file, of all */
	uint64_t start;
	bool astray; /* the line is of no more use: what is still on it belongs to nothing */
};

/* A host that sends drop by drop holds nobody for ever. */
static void keep_pace(const struct fetch *f)
{
	uint64_t due = (f->all + f->got) / LEAST_RATE * FM_S;

	fm_session_until(f->h->session, f->start + GRACE + due);
}

static int take_piece(void *arg, const void *bytes, size_t len)
{
	struct fetch *f = arg;
	int rc = fm_fs_write_all(f->file, bytes, len);

	if (rc != FM_OK)
		return rc;
	fm_sha256_add(&f->hash, bytes, len);
	f->got += len;
	keep_pace(f);
	return FM_OK;
}

static int drop_piece(void *arg, const void *bytes, size_t len)
{
	struct fetch *f = arg;

	(void)bytes;
	f->got += len;
	keep_pace(f);
	return FM_OK;
}

/* After these codes nothing more can be said on the session. */
static bool line_is_lost(int rc)
{
	return strcmp(fm_error_class(rc), "transport") == 0 || rc == FM_ERR_INTERRUPTED;
}

static int open_file(struct fetch *f, const char *path)
{
	char parent[FM_PATH_MAX + 1];
	char *slash;
	int dir = -1, rc = FM_OK;

	snprintf(parent, sizeof parent, "%s", path);
	slash = strrchr(parent, '/');
	if (slash != NULL) {
		*slash = '\0';
		rc = fm_fs_mkdirs(f->dirfd, parent, 0755, &dir);
		if (dir >= 0)
			close(dir);
	}
	if (rc != FM_OK)
		return rc;
	f->file =
	        openat(f->dirfd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return f->file < 0 ? fm_fail_errno("%s/%s", f->folder, path) : FM_OK;
}

static int ask_file(const struct fetch *f, const char *path, uint64_t max)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	int rc = fm_call_begin(&call, "get");

	if (rc == FM_OK)
		rc = fm_text_put(&call, "campaign", "%s", f->h->campaign->name);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "candidate", "%s", f->j->candidate->id);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "path", "%s", path);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "max", "%llu", (unsigned long long)max);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_send(f->h->session, &call);
	fm_buf_free(&call);
	return rc;
}

/* The size a host announces for a file it has named. That it cannot give it (a link, a folder, no
 * right to read) says something about the bundle, not about us. */
static int take_size(struct fetch *f, const char *path, uint64_t max, uint64_t *bytes)
{
	struct fm_text reply;
	int rc = fm_session_reply(f->h->session, &reply, FM_WIRE_LOST_S);

	if (rc == FM_ERR_SYSTEM || rc == FM_ERR_NAME) {
		char text[900];

		snprintf(text, sizeof text, "%s", fm_error_text());
		return fm_fail(FM_ERR_FORM, "%s: the host does not give it: %s", path, text);
	}
	if (rc != FM_OK)
		return rc;
	rc = fm_text_take_u64(&reply, "bytes", UINT64_MAX, bytes);
	fm_text_free(&reply);
	if (rc == FM_OK && *bytes > max)
		rc = fm_fail(FM_ERR_SIZE, "%s: %llu bytes announced, allowed are %llu", path,
		        (unsigned long long)*bytes, (unsigned long long)max);
	f->astray = rc != FM_OK; /* its data are on the line now */
	return rc;
}

/* The answer to the oldest ask_file: announced size, bytes into the file, digest (hex NULL: any). A
 * code of class verify or of our disk leaves the line in step if it is not astray; any other ends
 * the session. */
static int take_file(struct fetch *f, const char *path, uint64_t max, const char *hex)
{
	uint64_t bytes = 0;
	char seen[65];
	int made, rc;

	f->got = 0;
	keep_pace(f);
	rc = take_size(f, path, max, &bytes);
	if (rc != FM_OK)
		return rc;
	made = open_file(f, path);
	fm_sha256_start(&f->hash);
	rc = fm_session_data(
	        f->h->session, bytes, made == FM_OK ? take_piece : drop_piece, f, FM_WIRE_LOST_S);
	if (f->file >= 0)
		close(f->file);
	f->file = -1;
	if (rc == FM_ERR_SIZE) {
		f->astray = true;
		return fm_fail(FM_ERR_SIZE, "%s: %llu bytes announced, more come", path,
		        (unsigned long long)bytes);
	}
	if (rc == FM_OK)
		rc = made;
	if (rc != FM_OK)
		return rc;
	fm_sha256_end(&f->hash, seen);
	f->all += f->got;
	if (f->got != bytes)
		return fm_fail(FM_ERR_SIZE, "%s: %llu bytes announced, %llu came", path,
		        (unsigned long long)bytes, (unsigned long long)f->got);
	if (hex != NULL && strcmp(hex, seen) != 0)
		return fm_fail(FM_ERR_DIGEST, "%s: digest %.12s..., the manifest says %.12s...",
		        path, seen, hex);
	return FM_OK;
}

static int fetch_file(struct fetch *f, const char *path, uint64_t max)
{
	int rc = ask_file(f, path, max);

	return rc == FM_OK ? take_file(f, path, max, NULL) : rc;
}

/* Answers to calls sent ahead of a fault are read and forgotten, so that the line can be used
 * further. */
static int forget(struct fetch *f, size_t count)
{
	const uint64_t max = fm_seal_limits(FM_SEAL_BUNDLE)->file_bytes;
	int rc = FM_OK;

	while (rc == FM_OK && count-- > 0) {
		struct fm_text reply;

		rc = fm_session_reply(f->h->session, &reply, FM_WIRE_LOST_S);
		fm_text_free(&reply);
		if (rc == FM_OK)
			rc = fm_session_data(f->h->session, max, drop_piece, f, FM_WIRE_LOST_S);
		else if (!line_is_lost(rc))
			rc = FM_OK; /* an error as the answer: no data behind it */
	}
	return rc;
}

/* Exactly the names of the manifest, some asked for ahead: one round trip a file would cost more
 * than the bytes. */
static int fetch_named(struct fetch *f, const struct fm_manifest *m)
{
	const struct fm_seal_limits *limits = fm_seal_limits(FM_SEAL_BUNDLE);
	size_t asked = 0, i = 0;
	int rc = FM_OK;

	for (; rc == FM_OK && i < m->count; i++) {
		while (rc == FM_OK && asked < m->count && asked < i + AHEAD)
			rc = ask_file(f, m->entries[asked++].path, limits->file_bytes);
		if (rc == FM_OK)
			rc = take_file(
			        f, m->entries[i].path, limits->file_bytes, m->entries[i].hex);
		if (rc == FM_OK && f->all > limits->all_bytes)
			rc = fm_fail(FM_ERR_SIZE, "more than %llu bytes together",
			        (unsigned long long)limits->all_bytes);
	}
	if (rc != FM_OK && !line_is_lost(rc) && !f->astray && asked > i) {
		char text[1000];

		snprintf(text, sizeof text, "%s", fm_error_text());
		f->astray = forget(f, asked - i) != FM_OK;
		rc = fm_fail(rc, "%s", text);
	}
	return rc;
}

/* Steps 2 to 6 of the order of checks: manifest and signature, then its files, then nothing else.
 */
static int fetch_all(struct fetch *f, char manifest_sha256[65])
{
	struct fm_manifest m = {0};
	int rc = fetch_file(f, FM_MANIFEST_NAME, MANIFEST_MAX);

	if (rc == FM_OK)
		rc = fetch_file(f, FM_SIG_NAME, FM_SSHSIG_MAX);
	if (rc == FM_OK)
		rc = fm_seal_check_manifest(
		        f->dirfd, FM_SEAL_BUNDLE, &f->h->planned->key, manifest_sha256, &m);
	if (rc == FM_OK && m.count > fm_seal_limits(FM_SEAL_BUNDLE)->files)
		rc = fm_fail(FM_ERR_SIZE, "%zu files, allowed are %zu", m.count,
		        fm_seal_limits(FM_SEAL_BUNDLE)->files);
	if (rc == FM_OK)
		rc = fetch_named(f, &m);
	if (rc == FM_OK)
		rc = fm_manifest_check(f->dirfd, FM_SEAL_BUNDLE, &m, NULL, NULL);
	if (rc == FM_OK && syncfs(f->dirfd) != 0) /* before the journal says that we have it */
		rc = fm_fail_errno("%s", f->folder);
	fm_manifest_free(&m);
	return rc;
}

static void log_finding(void *arg, int code, const char *where, const char *text)
{
	const struct fetch *f = arg;

	fm_hostlog_say(f->h->log, "bundle %s: %s/%s: %s: %s", f->j->candidate->id,
	        fm_error_class(code), fm_error_reason(code), where, text);
}

/* Steps 7 and 8: is it what the plan asked for? */
static int check_content(struct fetch *f)
{
	const struct fm_campaign *c = f->h->campaign;
	struct fm_expect want = {.plan = &c->plan,
	        .plan_sha256 = c->plan_sha256,
	        .system = f->h->system->name,
	        .candidate = f->j->candidate->id,
	        .job_nonce = f->j->job.nonce,
	        .attempt = f->j->job.attempt};
	char now[21];

	fm_stamp_now(now);
	if (strcmp(now, c->plan.expires_at) > 0)
		return fm_fail(FM_ERR_EXPIRED, "the plan ended at %s", c->plan.expires_at);
	return fm_accept_check(f->dirfd, &want, log_finding, f, NULL);
}

static int new_folder(struct fetch *f)
{
	char random[17];

	fm_random_hex(8, random);
	snprintf(f->folder, sizeof f->folder, ".in-%s-%s", f->h->system->name, random);
	if (mkdirat(f->h->campaign->incoming, f->folder, 0700) != 0)
		return fm_fail_errno("%s/incoming/%s", f->h->campaign->path, f->folder);
	return fm_fs_dir(f->h->campaign->incoming, f->folder, &f->dirfd);
}

/* A fault of the line or of our own disk says nothing about the bundle: it is fetched again. */
static bool is_verdict(int rc)
{
	return strcmp(fm_error_class(rc), "verify") == 0;
}

int fm_stage_collect(struct fm_host *h, struct fm_host_job *j)
{
	struct fetch f = {.h = h, .j = j, .dirfd = -1, .file = -1, .start = fm_now_ns()};
	char manifest[65] = "", took[32];
	int rc;

	fm_host_event(h, "collect", "collect", j->candidate->id, NULL);
	rc = new_folder(&f);
	if (rc == FM_OK)
		rc = fetch_all(&f, manifest);
	fm_session_until(h->session, 0);
	if (rc == FM_OK)
		rc = check_content(&f);
	if (rc == FM_OK)
		rc = fm_keep_accepted(h, j, f.folder, manifest);
	else if (is_verdict(rc))
		rc = fm_keep_rejected(h, j, f.folder, manifest, rc);
	else
		(void)!fm_fs_remove(h->campaign->incoming, f.folder);
	fm_hostlog_say(h->log, "bundle %s: %llu bytes in %s", j->candidate->id,
	        (unsigned long long)f.all, fm_duration(fm_now_ns() - f.start, took));
	if (f.dirfd >= 0)
		close(f.dirfd);
	if (rc == FM_OK && f.astray)
		rc = fm_fail(FM_ERR_DROPPED,
		        "the line was given up: what the host sent there has no end");
	return rc;
}
