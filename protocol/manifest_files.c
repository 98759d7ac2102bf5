/* manifest_files.c: which files of a folder a manifest names, and the manifest made of them. */
#include "protocol/fs.h"
#include "protocol/manifest_parts.h"
#include "protocol/path.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOWN     200
#define FEW_FILES 256
#define FEW_BYTES (1u << 20)

struct many {
	void (*one)(void *arg, size_t i);
	void *arg;
	size_t count;
	atomic_size_t next; /* first one that no thread has taken */
};

static void *work(void *arg)
{
	struct many *m = arg;
	size_t i;

	while ((i = atomic_fetch_add(&m->next, 1)) < m->count)
		m->one(m->arg, i);
	return NULL;
}

size_t fm_manifest_threads(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online < 1 ? 1 : online > FM_MANIFEST_THREADS ? FM_MANIFEST_THREADS : (size_t)online;
}

void fm_manifest_all(void (*one)(void *arg, size_t i), void *arg, size_t count, uint64_t bytes)
{
	struct many m = {.one = one, .arg = arg, .count = count};
	pthread_t thread[FM_MANIFEST_THREADS];
	size_t want = bytes < FEW_BYTES && count < FEW_FILES ? 1 : fm_manifest_threads(), extra = 0;

	atomic_init(&m.next, 0);
	while (extra + 1 < want && pthread_create(&thread[extra], NULL, work, &m) == 0)
		extra++;
	work(&m);
	while (extra > 0)
		pthread_join(thread[--extra], NULL);
}

/* ".NAME.new": a file that fm_fs_write did not come to rename. */
static bool is_leftover(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
	size_t len = strlen(name);

	return len > 5 && name[0] == '.' && strcmp(name + len - 4, ".new") == 0;
}

static const char *show(const char *path, char shown[SHOWN])
{
	return fm_escape(path, strlen(path), shown, SHOWN);
}

int fm_manifest_judge(
        struct fm_manifest_seen *f, const char *path, const struct stat *st, bool *named)
{
	const struct fm_seal_limits *limits = fm_seal_limits(f->kind);
	char shown[SHOWN];

	*named = false;
	if (S_ISDIR(st->st_mode)) {
		if (f->kind == FM_SEAL_TREE &&
		        (strcmp(path, "incoming") == 0 || strcmp(path, "rejected") == 0))
			return FM_FS_SKIP;
		return FM_OK;
	}
	if (!S_ISREG(st->st_mode))
		return fm_fail(
		        FM_ERR_FORM, "%s: is neither a plain file nor a folder", show(path, shown));
	if (fm_manifest_outside(f->kind, path))
		return FM_OK;
	if (f->sealing && is_leftover(path))
		return unlinkat(f->dirfd, path, 0) == 0 ? FM_OK
		                                        : fm_fail_errno("%s", show(path, shown));
	if (!fm_path_ok(path))
		return fm_fail(
		        FM_ERR_FORM, "%s: is a name that no manifest may have", show(path, shown));
	if (f->files >= limits->files)
		return fm_fail(FM_ERR_SIZE, "%s: is one file more than the %zu that are allowed",
		        show(path, shown), limits->files);
	if ((uint64_t)st->st_size > limits->file_bytes)
		return fm_fail(FM_ERR_SIZE, "%s: has %lld bytes, allowed are %llu",
		        show(path, shown), (long long)st->st_size,
		        (unsigned long long)limits->file_bytes);
	f->files++;
	f->bytes += (uint64_t)st->st_size;
	if (limits->all_bytes != 0 && f->bytes > limits->all_bytes)
		return fm_fail(FM_ERR_SIZE, "%s: with it, the files have more than %llu bytes",
		        show(path, shown), (unsigned long long)limits->all_bytes);
	*named = true;
	return FM_OK;
}

int fm_manifest_walk(const struct fm_manifest_seen *f, fm_fs_visit *visit, void *arg)
{
	return fm_fs_walk(f->dirfd, fm_seal_limits(f->kind)->files * 2 + 64, visit, arg);
}

struct file {
	char *path;
	char hex[65];
	int rc;
};
struct making {
	struct fm_manifest_seen seen;
	struct file *list;
	size_t count;
};

static int keep_file(void *arg, const char *path, const struct stat *st)
{
	struct making *f = arg;
	struct file *file;
	bool named;
	int rc = fm_manifest_judge(&f->seen, path, st, &named);

	if (rc != FM_OK || !named)
		return rc;
	if ((file = fm_grow(&f->list, &f->count, sizeof *file)) == NULL)
		return FM_ERR_MEMORY;
	return (file->path = fm_strdup(path)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static void hash_file(void *arg, size_t i)
{
	struct making *f = arg;

	f->list[i].rc = fm_fs_sha256(f->seen.dirfd, f->list[i].path, f->list[i].hex, NULL);
}

int fm_manifest_repeat(int dirfd, const char *path, int rc)
{
	char hex[65];
	int again = fm_fs_sha256(dirfd, path, hex, NULL);

	return again != FM_OK ? again : fm_fail(rc, "%s: could not be read the first time", path);
}

static int make(int dirfd, enum fm_seal_kind kind, bool sealing, struct fm_buf *out)
{
	struct making f = {.seen = {.kind = kind, .dirfd = dirfd, .sealing = sealing}};
	int rc;

	if ((rc = fm_manifest_walk(&f.seen, keep_file, &f)) != FM_OK)
		goto out;
	if (f.count == 0) {
		rc = fm_fail(
		        FM_ERR_FORM, "folder without a file: a manifest has at least one line");
		goto out;
	}
	fm_manifest_all(hash_file, &f, f.count, f.seen.bytes);
	for (size_t i = 0; i < f.count && rc == FM_OK; i++)
		rc = f.list[i].rc != FM_OK
		             ? fm_manifest_repeat(dirfd, f.list[i].path, f.list[i].rc)
		             : fm_buf_printf(out, "%s  %s\n", f.list[i].hex, f.list[i].path);
out:
	for (size_t i = 0; i < f.count; i++)
		free(f.list[i].path);
	free(f.list);
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
