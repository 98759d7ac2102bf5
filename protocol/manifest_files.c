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
#define SHOWN       200
#define FEW_FILES   256
#define FEW_BYTES   (1u << 20)

/* Work on many files at once: one(arg, i) for every i below count, on as many threads as there are
 * processors, or on this one alone. */
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

static void all(void (*one)(void *arg, size_t i), void *arg, size_t count, uint64_t bytes)
{
	struct many m = {.one = one, .arg = arg, .count = count};
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t thread[THREADS_MAX];
	size_t want = online < 1 || (bytes < FEW_BYTES && count < FEW_FILES) ? 1
	              : online > THREADS_MAX                                 ? THREADS_MAX
	                                                                     : (size_t)online,
	       extra = 0;

	atomic_init(&m.next, 0);
	while (extra + 1 < want && pthread_create(&thread[extra], NULL, work, &m) == 0)
		extra++;
	work(&m);
	while (extra > 0)
		pthread_join(thread[--extra], NULL);
}

/* What a walk over a folder sees, for the limits of its kind. */
struct seen {
	enum fm_seal_kind kind;
	int dirfd;
	bool sealing; /* the folder is ours: what a crash left of fm_fs_write goes */
	size_t files;
	uint64_t bytes;
};

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

/* Type, name and sizes of what the walk found; *named: a file that the manifest names. */
static int judge(struct seen *f, const char *path, const struct stat *st, bool *named)
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

static int walk(const struct seen *f, fm_fs_visit *visit, void *arg)
{
	return fm_fs_walk(f->dirfd, fm_seal_limits(f->kind)->files * 2 + 64, visit, arg);
}

/* ---- making one ---- */

struct file {
	char *path;
	char hex[65];
	int rc;
};
struct making {
	struct seen seen;
	struct file *list;
	size_t count;
};

static int keep_file(void *arg, const char *path, const struct stat *st)
{
	struct making *f = arg;
	struct file *file;
	bool named;
	int rc = judge(&f->seen, path, st, &named);

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

/* The error text of a failed file was set in another thread: read again here, so it is set in this
 * one. */
static int repeat_failure(int dirfd, const char *path, int rc)
{
	char hex[65];
	int again = fm_fs_sha256(dirfd, path, hex, NULL);

	return again != FM_OK ? again : fm_fail(rc, "%s: could not be read the first time", path);
}

static int make(int dirfd, enum fm_seal_kind kind, bool sealing, struct fm_buf *out)
{
	struct making f = {.seen = {.kind = kind, .dirfd = dirfd, .sealing = sealing}};
	int rc;

	if ((rc = walk(&f.seen, keep_file, &f)) != FM_OK)
		goto out;
	if (f.count == 0) {
		rc = fm_fail(
		        FM_ERR_FORM, "folder without a file: a manifest has at least one line");
		goto out;
	}
	all(hash_file, &f, f.count, f.seen.bytes);
	for (size_t i = 0; i < f.count && rc == FM_OK; i++)
		rc = f.list[i].rc != FM_OK
		             ? repeat_failure(dirfd, f.list[i].path, f.list[i].rc)
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

/* ---- checking one ---- */

enum state { STATE_THERE, STATE_MISSING, STATE_OTHER, STATE_UNREAD };

/* The walk goes along the lines of the manifest, both sorted, and only then the files are read,
 * line after line: what is held is a byte per line. */
struct check {
	struct seen seen;
	const struct fm_manifest *m;
	unsigned char *state; /* of each line */
	size_t next;          /* line that no file was compared with yet */
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

static void missing(struct check *c)
{
	finding(c, c->m->entries[c->next].path, "missing");
	c->state[c->next++] = STATE_MISSING;
}

static int compare_name(void *arg, const char *path, const struct stat *st)
{
	struct check *c = arg;
	bool named;
	int rc = judge(&c->seen, path, st, &named), order = -1;

	if (rc != FM_OK || !named)
		return rc;
	while (c->next < c->m->count && (order = strcmp(c->m->entries[c->next].path, path)) < 0)
		missing(c);
	if (c->next < c->m->count && order == 0)
		c->next++;
	else
		finding(c, path, "extra");
	return FM_OK;
}

static void compare_digest(void *arg, size_t i)
{
	struct check *c = arg;
	const struct fm_manifest_entry *e = &c->m->entries[i];
	char hex[65];

	if (c->state[i] != STATE_THERE)
		return;
	if (fm_fs_sha256(c->seen.dirfd, e->path, hex, NULL) != FM_OK)
		c->state[i] = STATE_UNREAD;
	else if (strcmp(hex, e->hex) != 0)
		c->state[i] = STATE_OTHER;
}

int fm_manifest_check(int dirfd, enum fm_seal_kind kind, const struct fm_manifest *m,
        fm_manifest_report *report, void *arg)
{
	struct check c = {.seen = {.kind = kind, .dirfd = dirfd},
	        .m = m,
	        .state = fm_alloc(m->count + 1),
	        .report = report,
	        .arg = arg};
	int rc = c.state == NULL ? FM_ERR_MEMORY : walk(&c.seen, compare_name, &c);

	if (rc != FM_OK)
		goto out;
	while (c.next < m->count)
		missing(&c);
	all(compare_digest, &c, m->count, c.seen.bytes);
	for (size_t i = 0; i < m->count; i++) {
		if (c.state[i] == STATE_UNREAD &&
		        (rc = repeat_failure(dirfd, m->entries[i].path, FM_ERR_SYSTEM)) != FM_OK)
			goto out;
		if (c.state[i] == STATE_OTHER)
			finding(&c, m->entries[i].path, "digest");
	}
	if (c.rc != FM_OK)
		rc = fm_fail(c.rc, "%s", c.first != NULL ? c.first : "files differ");
out:
	free(c.first);
	free(c.state);
	return rc;
}
