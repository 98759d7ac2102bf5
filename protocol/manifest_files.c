/* manifest_files.c: makes the manifest of a folder, and compares a folder with one. */
#include "protocol/fs.h"
#include "protocol/manifest.h"
#include "protocol/path.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 16
#define BATCH       8192 /* files that a check holds at a time */

/* A plain file as the walk found it; hex is filled when its turn comes. */
struct file {
	char *path;
	uint64_t size;
	char hex[65];
	int rc;
};
struct files {
	struct file *list;
	size_t count;
	uint64_t bytes;
	size_t seen; /* files so far, and their bytes: for the limits */
	uint64_t seen_bytes;
	enum fm_seal_kind kind;
	int dirfd;
	bool sealing;       /* the folder is ours: what a crash left of fm_fs_write goes */
	atomic_size_t next; /* first one that no thread has taken */
};

static void files_free(struct files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	free(f->list);
}

/* ".NAME.new": a file that fm_fs_write did not come to rename. */
static bool is_leftover(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
	size_t len = strlen(name);

	return len > 5 && name[0] == '.' && strcmp(name + len - 4, ".new") == 0;
}

/* Type, name and sizes of what the walk found; *named: a file that the manifest names. */
static int judge(struct files *f, const char *path, const struct stat *st, bool *named)
{
	const struct fm_seal_limits *limits = fm_seal_limits(f->kind);
	char shown[200];

	*named = false;
	if (S_ISDIR(st->st_mode)) {
		if (f->kind == FM_SEAL_TREE &&
		        (strcmp(path, "incoming") == 0 || strcmp(path, "rejected") == 0))
			return FM_FS_SKIP;
		return FM_OK;
	}
	fm_escape(path, strlen(path), shown, sizeof shown);
	if (!S_ISREG(st->st_mode))
		return fm_fail(FM_ERR_FORM, "%s: is neither a plain file nor a folder", shown);
	if (fm_manifest_outside(f->kind, path))
		return FM_OK;
	if (f->sealing && is_leftover(path))
		return unlinkat(f->dirfd, path, 0) == 0 ? FM_OK : fm_fail_errno("%s", shown);
	if (!fm_path_ok(path))
		return fm_fail(FM_ERR_FORM, "%s: is a name that no manifest may have", shown);
	if (f->seen >= limits->files)
		return fm_fail(FM_ERR_SIZE, "%s: is one file more than the %zu that are allowed",
		        shown, limits->files);
	if ((uint64_t)st->st_size > limits->file_bytes)
		return fm_fail(FM_ERR_SIZE, "%s: has %lld bytes, allowed are %llu", shown,
		        (long long)st->st_size, (unsigned long long)limits->file_bytes);
	f->seen++;
	f->seen_bytes += (uint64_t)st->st_size;
	if (limits->all_bytes != 0 && f->seen_bytes > limits->all_bytes)
		return fm_fail(FM_ERR_SIZE, "%s: with it, the files have more than %llu bytes",
		        shown, (unsigned long long)limits->all_bytes);
	*named = true;
	return FM_OK;
}

static int judge_file(void *arg, const char *path, const struct stat *st)
{
	bool named;

	return judge(arg, path, st, &named);
}

static int keep_file(void *arg, const char *path, const struct stat *st)
{
	struct files *f = arg;
	struct file *file;
	bool named;
	int rc = judge(f, path, st, &named);

	if (rc != FM_OK || !named)
		return rc;
	if ((file = fm_grow(&f->list, &f->count, sizeof *file)) == NULL)
		return FM_ERR_MEMORY;
	file->size = (uint64_t)st->st_size;
	f->bytes += file->size;
	return (file->path = fm_strdup(path)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

/* The digest of one file, whose size must still be the one that was noted. */
static int hash_one(const struct files *f, struct file *file)
{
	off_t size = 0;
	int rc = fm_fs_sha256(f->dirfd, file->path, file->hex, &size);

	if (rc == FM_OK && (uint64_t)size != file->size)
		rc = fm_fail(FM_ERR_DIGEST, "%s: changes while it is read", file->path);
	return rc;
}

static void *hash_some(void *arg)
{
	struct files *f = arg;
	size_t i;

	while ((i = atomic_fetch_add(&f->next, 1)) < f->count)
		f->list[i].rc = hash_one(f, &f->list[i]);
	return NULL;
}

/* Takes all digests on as many threads as there are processors; each file's rc says how it went. */
static void hash_all(struct files *f)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[THREADS_MAX];
	size_t want = online < 1             ? 1
	              : online > THREADS_MAX ? THREADS_MAX
	                                     : (size_t)online,
	       extra = 0;

	atomic_init(&f->next, 0);
	if (f->bytes < 1 << 20)
		want = 1;
	while (extra + 1 < want && pthread_create(&thread[extra], NULL, hash_some, f) == 0)
		extra++;
	hash_some(f);
	while (extra > 0)
		pthread_join(thread[--extra], NULL);
}

/* The error text of a failed file was set in another thread: read again here, so it is set in this
 * one. */
static int repeat_failure(const struct files *f, struct file *file)
{
	int rc = hash_one(f, file);

	if (rc != FM_OK)
		return rc;
	return fm_fail(file->rc, "%s: could not be read the first time", file->path);
}

static int walk(struct files *f, fm_fs_visit *visit, void *arg)
{
	return fm_fs_walk(f->dirfd, fm_seal_limits(f->kind)->files * 2 + 64, visit, arg);
}

static int make(int dirfd, enum fm_seal_kind kind, bool sealing, struct fm_buf *out)
{
	struct files f = {.kind = kind, .dirfd = dirfd, .sealing = sealing};
	int rc;

	if ((rc = walk(&f, keep_file, &f)) != FM_OK)
		goto out;
	if (f.count == 0) {
		rc = fm_fail(
		        FM_ERR_FORM, "folder without a file: a manifest has at least one line");
		goto out;
	}
	hash_all(&f);
	for (size_t i = 0; i < f.count && rc == FM_OK; i++)
		rc = f.list[i].rc != FM_OK
		             ? repeat_failure(&f, &f.list[i])
		             : fm_buf_printf(out, "%s  %s\n", f.list[i].hex, f.list[i].path);
out:
	files_free(&f);
	return rc;
}

int fm_manifest_make(int dirfd, enum fm_seal_kind kind, struct fm_buf *out)
{
	return make(dirfd, kind, false, out);
}

int fm_manifest_make_own(int dirfd, enum fm_seal_kind kind, struct fm_buf *out)
{
	return make(dirfd, kind, true, out);
}

/* A check goes along the folder and the manifest, both sorted, a batch of files at a time: memory
 * does not grow with the tree. */
struct check {
	struct files batch;
	const struct fm_manifest *m;
	size_t next; /* line of the manifest that no file was compared with yet */
	fm_manifest_report *report;
	void *arg;
	int rc;
	char *first; /* text of the first finding */
};

static void finding(struct check *c, const char *path, const char *what)
{
	if (c->report != NULL)
		c->report(c->arg, path, what);
	if (c->rc == FM_OK) {
		c->rc = FM_ERR_DIGEST;
		c->first = fm_sprintf("%s: %s", path, what);
	}
}

static void files_forget(struct files *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	f->count = 0;
	f->bytes = 0;
}

/* Hashes the batch and compares it with its part of the manifest. */
static int settle(struct check *c)
{
	const struct fm_manifest *m = c->m;
	struct files *f = &c->batch;
	int rc;

	hash_all(f);
	for (size_t k = 0; k < f->count; k++) {
		struct file *file = &f->list[k];

		while (c->next < m->count && strcmp(m->entries[c->next].path, file->path) < 0)
			finding(c, m->entries[c->next++].path, "missing");
		if (c->next == m->count || strcmp(m->entries[c->next].path, file->path) != 0) {
			finding(c, file->path, "extra");
			continue;
		}
		if (file->rc != FM_OK && file->rc != FM_ERR_DIGEST &&
		        (rc = repeat_failure(f, file)) != FM_OK)
			return rc;
		if (file->rc != FM_OK || strcmp(m->entries[c->next].hex, file->hex) != 0)
			finding(c, file->path, "digest");
		c->next++;
	}
	files_forget(f);
	return FM_OK;
}

static int check_file(void *arg, const char *path, const struct stat *st)
{
	struct check *c = arg;
	int rc = keep_file(&c->batch, path, st);

	return rc == FM_OK && c->batch.count == BATCH ? settle(c) : rc;
}

int fm_manifest_check(int dirfd, enum fm_seal_kind kind, const struct fm_manifest *m,
        fm_manifest_report *report, void *arg)
{
	struct check c = {
	        .batch = {.kind = kind, .dirfd = dirfd}, .m = m, .report = report, .arg = arg};
	struct files limits = c.batch;
	int rc;

	/* first all types, names and sizes, then the first byte */
	if ((rc = walk(&limits, judge_file, &limits)) != FM_OK ||
	        (rc = walk(&c.batch, check_file, &c)) != FM_OK || (rc = settle(&c)) != FM_OK)
		goto out;
	while (c.next < m->count)
		finding(&c, m->entries[c.next++].path, "missing");
	if (c.rc != FM_OK)
		rc = fm_fail(c.rc, "%s", c.first != NULL ? c.first : "files differ");
out:
	free(c.first);
	files_free(&c.batch);
	return rc;
}
