/* sink.c: where derived files go: written into a folder, or compared with what is there. */
#include "orchestrator/sink.h"

#include "orchestrator/out.h"
#include "protocol/digest.h"
#include "protocol/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fm_sink_free(struct fm_sink *s)
{
	free(s->paths);
	s->paths = NULL;
	s->path_count = 0;
	if (s->folder_fd > 0)
		close(s->folder_fd);
	s->folder_fd = 0;
}

void fm_sink_differs(struct fm_sink *s, const char *path)
{
	if (s->differing++ == 0)
		snprintf(s->first, sizeof s->first, "%s", path);
	if (s->print)
		fm_result("differs: %s", path);
}

static int compare(struct fm_sink *s, const char *path, const void *bytes, size_t len)
{
	struct fm_buf old = FM_BUF_INIT(len + 1);
	int rc = fm_fs_read(s->dirfd, path, len + 1, &old);

	if (rc == FM_ERR_MEMORY)
		return rc;
	if (rc != FM_OK || old.len != len || memcmp(old.data, bytes, len) != 0)
		fm_sink_differs(s, path);
	fm_buf_free(&old);
	return FM_OK;
}

/* Opens the folder of path, making it; kept open, since one folder's files come together. */
static int open_folder(struct fm_sink *s, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash == NULL ? 0 : (size_t)(slash - path);
	int rc;

	*name = slash == NULL ? path : slash + 1;
	if (s->folder_fd > 0 && strncmp(s->folder, path, n) == 0 && s->folder[n] == '\0')
		return FM_OK;
	if (s->folder_fd > 0)
		close(s->folder_fd);
	s->folder_fd = 0;
	if (n >= sizeof s->folder)
		return fm_fail(FM_ERR_SIZE, "%.100s...: a path of more than %zu bytes", path,
		        sizeof s->folder);
	memcpy(s->folder, path, n);
	s->folder[n] = '\0';
	rc = n == 0 ? fm_fs_dir(s->dirfd, ".", &s->folder_fd)
	            : fm_fs_mkdirs(s->dirfd, s->folder, 0755, &s->folder_fd);
	return rc;
}

/* Without an fsync per file: everything here can be derived again, and fm_sink_sync comes before
 * any seal. */
int fm_sink_create(struct fm_sink *s, const char *path, int *fd)
{
	const char *name;
	int rc;

	*fd = -1;
	if ((rc = open_folder(s, path, &name)) != FM_OK)
		return rc;
	if (unlinkat(s->folder_fd, name, 0) != 0 && errno != ENOENT)
		return fm_fail_errno("%s: cannot be replaced", path);
	*fd = openat(
	        s->folder_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return *fd < 0 ? fm_fail_errno("%s: cannot be made", path) : FM_OK;
}

static int write_file(struct fm_sink *s, const char *path, const void *bytes, size_t len)
{
	int fd, rc;

	if ((rc = fm_sink_create(s, path, &fd)) != FM_OK)
		return rc;
	rc = fm_fs_write_all(fd, bytes, len);
	if (close(fd) != 0 && rc == FM_OK)
		rc = fm_fail_errno("%s", path);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", path);
}

int fm_sink_sync(struct fm_sink *s)
{
	if (!s->check && syncfs(s->dirfd) != 0)
		return fm_fail_errno("derived files: cannot be written out");
	return FM_OK;
}

/* 16 bytes of a SHA-256 stand for a path: a tree has as many files as it likes. */
static struct fm_sink_path digest_of(const char *path)
{
	struct fm_sink_path p = {{0}};
	char hex[65];

	fm_sha256_hex(path, strlen(path), hex);
	hex[2 * sizeof p.digest] = '\0';
	(void)!fm_unhex(hex, p.digest, sizeof p.digest); /* it was just printed */
	return p;
}

int fm_sink_note(struct fm_sink *s, const char *path)
{
	struct fm_sink_path *slot = fm_grow(&s->paths, &s->path_count, sizeof *slot);

	if (slot == NULL)
		return FM_ERR_MEMORY;
	*slot = digest_of(path);
	s->sorted = false;
	s->files++;
	return FM_OK;
}

int fm_sink_put(struct fm_sink *s, const char *path, const void *bytes, size_t len)
{
	int rc;

	if (s->dirfd < 0)
		return FM_OK;
	if ((rc = fm_sink_note(s, path)) != FM_OK)
		return rc;
	return s->check ? compare(s, path, bytes, len) : write_file(s, path, bytes, len);
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct fm_sink_path));
}

static void sort(struct fm_sink *s)
{
	if (!s->sorted && s->path_count > 1)
		qsort(s->paths, s->path_count, sizeof *s->paths, by_bytes);
	s->sorted = true;
}

static bool given(const struct fm_sink *s, const char *path)
{
	const struct fm_sink_path p = digest_of(path);

	return s->path_count > 0 &&
	       bsearch(&p, s->paths, s->path_count, sizeof p, by_bytes) != NULL;
}

struct extra {
	struct fm_sink *sink;
	const char *folder;
	struct {
		char **list;
		size_t count;
	} doomed;
};

static int one_extra(void *arg, const char *path, const struct stat *st)
{
	struct extra *x = arg;
	char *full, **slot;

	if (S_ISDIR(st->st_mode))
		return FM_OK;
	if ((full = fm_sprintf("%s/%s", x->folder, path)) == NULL)
		return FM_ERR_MEMORY;
	if (given(x->sink, full)) {
		free(full);
		return FM_OK;
	}
	if (x->sink->check)
		fm_sink_differs(x->sink, full);
	if ((slot = fm_grow(&x->doomed.list, &x->doomed.count, sizeof *slot)) == NULL) {
		free(full);
		return FM_ERR_MEMORY;
	}
	*slot = full;
	return FM_OK;
}

int fm_sink_extra(struct fm_sink *s, const char *folder)
{
	struct extra x = {s, folder, {NULL, 0}};
	int fd = -1, rc;

	sort(s);
	if (faccessat(s->dirfd, folder, F_OK, 0) != 0 && errno == ENOENT)
		return FM_OK;
	if ((rc = fm_fs_dir(s->dirfd, folder, &fd)) != FM_OK)
		return rc;
	rc = fm_fs_walk(fd, 8000000, one_extra, &x);
	close(fd);
	for (size_t i = 0; i < x.doomed.count; i++) {
		if (rc == FM_OK && !s->check)
			rc = fm_fs_remove(s->dirfd, x.doomed.list[i]);
		free(x.doomed.list[i]);
	}
	free(x.doomed.list);
	return rc;
}

static int one_page(void *arg, const char *path, const struct stat *st)
{
	struct fm_sink *s = arg;
	size_t n = strlen(path);

	if (S_ISDIR(st->st_mode))
		return FM_FS_SKIP;
	if ((n > 3 && strcmp(path + n - 3, ".md") == 0) ||
	        (n > 5 && strcmp(path + n - 5, ".html") == 0))
		if (!given(s, path))
			fm_sink_differs(s, path);
	return FM_OK;
}

int fm_sink_extra_pages(struct fm_sink *s)
{
	if (!s->check)
		return FM_OK;
	sort(s);
	return fm_fs_walk(s->dirfd, 100000, one_page, s);
}

int fm_sink_verdict(const struct fm_sink *s)
{
	if (s->differing == 0)
		return FM_OK;
	if (s->differing == 1)
		return fm_fail(FM_ERR_DIGEST, "%s: differs from what the samples give", s->first);
	return fm_fail(FM_ERR_DIGEST, "%s and %zu more files differ from what the samples give",
	        s->first, s->differing - 1);
}
