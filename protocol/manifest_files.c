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

/* Visitor: types, names and sizes, all before anything is opened. */
static int note_file(void *arg, const char *path, const struct stat *st)
{
	const struct fm_seal_limits *limits;
	struct files *f = arg;
	struct file *file;
	char shown[200];

	limits = fm_seal_limits(f->kind);
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
	if (f->count >= limits->files)
		return fm_fail(FM_ERR_SIZE, "%s: is one file more than the %zu that are allowed",
		        shown, limits->files);
	if ((uint64_t)st->st_size > limits->file_bytes)
		return fm_fail(FM_ERR_SIZE, "%s: has %lld bytes, allowed are %llu", shown,
		        (long long)st->st_size, (unsigned long long)limits->file_bytes);
	f->bytes += (uint64_t)st->st_size;
	if (limits->all_bytes != 0 && f->bytes > limits->all_bytes)
		return fm_fail(FM_ERR_SIZE, "%s: with it, the files have more than %llu bytes",
		        shown, (unsigned long long)limits->all_bytes);
	if ((file = fm_grow(&f->list, &f->count, sizeof *file)) == NULL)
		return FM_ERR_MEMORY;
	file->size = (uint64_t)st->st_size;
	if ((file->path = fm_strdup(path)) == NULL)
		return FM_ERR_MEMORY;
	return FM_OK;
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

static int list_files(int dirfd, enum fm_seal_kind kind, bool sealing, struct files *f)
{
	*f = (struct files){.kind = kind, .dirfd = dirfd, .sealing = sealing};
	return fm_fs_walk(dirfd, fm_seal_limits(kind)->files * 2 + 64, note_file, f);
}

static int make(int dirfd, enum fm_seal_kind kind, bool sealing, struct fm_buf *out)
{
	struct files f;
	int rc;

	if ((rc = list_files(dirfd, kind, sealing, &f)) != FM_OK)
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

/* What all findings of a check go through. */
struct findings {
	fm_manifest_report *report;
	void *arg;
	int rc;
	char *first; /* text of the first one */
};

static void finding(struct findings *all, const char *path, const char *what)
{
	if (all->report != NULL)
		all->report(all->arg, path, what);
	if (all->rc == FM_OK) {
		all->rc = FM_ERR_DIGEST;
		all->first = fm_sprintf("%s: %s", path, what);
	}
}

/* Walks both sorted lists side by side. */
static int compare(struct files *f, const struct fm_manifest *m, struct findings *found)
{
	size_t i = 0, k = 0;
	int rc;

	while (i < m->count || k < f->count) {
		int order = i == m->count   ? 1
		            : k == f->count ? -1
		                            : strcmp(m->entries[i].path, f->list[k].path);

		if (order < 0)
			finding(found, m->entries[i].path, "missing");
		else if (order > 0)
			finding(found, f->list[k].path, "extra");
		else if (f->list[k].rc != FM_OK && f->list[k].rc != FM_ERR_DIGEST &&
		         (rc = repeat_failure(f, &f->list[k])) != FM_OK)
			return rc;
		else if (f->list[k].rc != FM_OK || strcmp(m->entries[i].hex, f->list[k].hex) != 0)
			finding(found, m->entries[i].path, "digest");
		i += order <= 0;
		k += order >= 0;
	}
	return FM_OK;
}

int fm_manifest_check(int dirfd, enum fm_seal_kind kind, const struct fm_manifest *m,
        fm_manifest_report *report, void *arg)
{
	struct findings found = {report, arg, FM_OK, NULL};
	struct files f;
	int rc;

	if ((rc = list_files(dirfd, kind, false, &f)) != FM_OK)
		goto out;
	hash_all(&f);
	if ((rc = compare(&f, m, &found)) == FM_OK && found.rc != FM_OK)
		rc = fm_fail(found.rc, "%s", found.first != NULL ? found.first : "files differ");
out:
	free(found.first);
	files_free(&f);
	return rc;
}
