/* fs.c: reading and replacing single files and making folders, never through a link, never
 * half-written. */
#include "protocol/fs.h"
#include "protocol/digest.h"
#include "protocol/fs_parent.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

/* close that keeps errno for the caller's message. */
static void close_quietly(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
}

/* A folder that has no last part to look at: ".", and in a person's path also "/", "x/." and "..".
 */
static bool has_no_name(int dirfd, const char *path)
{
	const char *slash = strrchr(path, '/'), *last = slash == NULL ? path : slash + 1;

	if (strcmp(path, ".") == 0)
		return true;
	if (dirfd != AT_FDCWD)
		return false;
	return strcmp(last, ".") == 0 || strcmp(last, "..") == 0 ||
	       (slash != NULL && path[strspn(path, "/")] == '\0');
}

int fm_fs_dir(int dirfd, const char *path, int *fd)
{
	struct fm_fs_parent parent;
	int rc;

	*fd = -1;
	if (has_no_name(dirfd, path)) {
		*fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return *fd < 0 ? fm_fail_errno("folder %s", path) : FM_OK;
	}
	if ((rc = fm_fs_parent_open(&parent, dirfd, path, -1)) != FM_OK)
		return rc;
	*fd = openat(parent.fd, parent.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	rc = *fd < 0 ? fm_fail_errno("folder %s", path) : FM_OK;
	fm_fs_parent_close(&parent);
	return rc;
}

int fm_fs_mkdirs(int dirfd, const char *path, mode_t mode, int *fd)
{
	struct fm_fs_parent parent;
	int rc;

	*fd = -1;
	if (has_no_name(dirfd, path))
		return fm_fs_dir(dirfd, path, fd);
	if ((rc = fm_fs_parent_open(&parent, dirfd, path, (int)mode)) != FM_OK)
		return rc;
	if (mkdirat(parent.fd, parent.name, mode) != 0 && errno != EEXIST)
		rc = fm_fail_errno("make folder %s", path);
	else if ((*fd = openat(parent.fd, parent.name,
	                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		rc = fm_fail_errno("folder %s", path);
	fm_fs_parent_close(&parent);
	return rc;
}

#define PLAIN (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* One call where the kernel (5.6 or newer) can look that no part of the path is a link; -1 where it
 * cannot, or did not like what it saw: then the walk along the path says what is wrong. */
static int open_at_once(int dirfd, const char *path)
{
#ifdef SYS_openat2
	/* struct open_how; RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH */
	const struct {
		uint64_t flags, mode, resolve;
	} how = {PLAIN, 0, 0x04 | 0x08};

	if (dirfd != AT_FDCWD && path[0] != '.' && strstr(path, "/.") == NULL)
		return (int)syscall(SYS_openat2, dirfd, path, &how, sizeof how);
#endif
	(void)dirfd;
	(void)path;
	return -1;
}

/* Opens a plain file for reading without following a link or waiting for a FIFO; *st describes it.
 */
static int open_plain(int dirfd, const char *path, int *fd, struct stat *st)
{
	struct fm_fs_parent parent = {.fd = -1};
	int rc = FM_OK;

	*fd = open_at_once(dirfd, path);
	if (*fd < 0 && (rc = fm_fs_parent_open(&parent, dirfd, path, -1)) != FM_OK)
		return rc;
	if (*fd < 0)
		*fd = openat(parent.fd, parent.name, PLAIN);
	if (*fd < 0 && (errno == ELOOP || errno == ENXIO))
		rc = fm_fail(FM_ERR_FORM, "%s: is no plain file", path);
	else if (*fd < 0)
		rc = fm_fail_errno("open %s", path);
	else if (fstat(*fd, st) != 0)
		rc = fm_fail_errno("stat %s", path);
	else if (!S_ISREG(st->st_mode))
		rc = fm_fail(FM_ERR_FORM, "%s: is no plain file", path);
	if (rc != FM_OK) {
		close_quietly(*fd);
		*fd = -1;
	}
	fm_fs_parent_close(&parent);
	return rc;
}

static int read_some(int fd, const char *path, void *into, size_t size, size_t *got)
{
	ssize_t n;

	do
		n = read(fd, into, size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fm_fail_errno("read %s", path);
	*got = (size_t)n;
	return FM_OK;
}

static int too_large(const char *path, off_t size, uint64_t max)
{
	return fm_fail(FM_ERR_SIZE, "%s: has %lld bytes, allowed are %llu", path, (long long)size,
	        (unsigned long long)max);
}

int fm_fs_open(int dirfd, const char *path, size_t max, int *fd)
{
	struct stat st;
	int rc = open_plain(dirfd, path, fd, &st);

	if (rc == FM_OK && (uintmax_t)st.st_size > max) {
		rc = too_large(path, st.st_size, max);
		close_quietly(*fd);
		*fd = -1;
	}
	return rc;
}

int fm_fs_read(int dirfd, const char *path, size_t max, struct fm_buf *out)
{
	struct fm_buf fresh = FM_BUF_INIT(max);
	char piece[16384];
	size_t got = 1;
	int fd = -1, rc;

	*out = FM_BUF_INIT(max);
	if ((rc = fm_fs_open(dirfd, path, max, &fd)) != FM_OK)
		return rc;
	if ((rc = fm_buf_put(&fresh, "", 0)) != FM_OK)
		goto out;
	while (got > 0) {
		if ((rc = read_some(fd, path, piece, sizeof piece, &got)) != FM_OK)
			goto out;
		if ((rc = fm_buf_put(&fresh, piece, got)) != FM_OK) {
			fm_wrap(rc, "%s", path);
			goto out;
		}
	}
	*out = fresh;
	fresh.data = NULL;
out:
	fm_buf_free(&fresh);
	close_quietly(fd);
	return rc;
}

int fm_fs_sha256(int dirfd, const char *path, char hex[65], off_t *size)
{
	return fm_fs_sha256_max(dirfd, path, UINT64_MAX, hex, size);
}

int fm_fs_sha256_max(int dirfd, const char *path, uint64_t max, char hex[65], off_t *size)
{
	struct fm_sha256 hash;
	unsigned char piece[65536];
	struct stat st;
	size_t got = 1;
	off_t total = 0;
	int fd = -1, rc;

	hex[0] = '\0';
	if ((rc = open_plain(dirfd, path, &fd, &st)) != FM_OK)
		return rc;
	if ((uint64_t)st.st_size > max)
		rc = too_large(path, st.st_size, max);
	fm_sha256_start(&hash);
	/* no further read to learn that a file of known size has ended */
	while (rc == FM_OK && got > 0 && (total == 0 || total != st.st_size) &&
	        (rc = read_some(fd, path, piece, sizeof piece, &got)) == FM_OK) {
		fm_sha256_add(&hash, piece, got);
		total += (off_t)got;
		if ((uint64_t)total > max)
			rc = too_large(path, total, max);
	}
	if (rc == FM_OK) {
		fm_sha256_end(&hash, hex);
		if (size != NULL)
			*size = total;
	}
	close_quietly(fd);
	return rc;
}

int fm_fs_write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fm_fail_errno("write");
		if (n == 0)
			return fm_fail(FM_ERR_DISK, "write: no byte was taken");
		p += n;
		len -= (size_t)n;
	}
	return FM_OK;
}

/* Creates parent/name, which must not be there, with these bytes on disk. On an error nothing is
 * left behind. */
static int write_new(int parent, const char *name, const void *bytes, size_t len, mode_t mode)
{
	int rc = FM_OK, saved;
	int fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0)
		return fm_fail_errno("create %s", name);
	if (fchmod(fd, mode) != 0)
		rc = fm_fail_errno("mode of %s", name);
	else if ((rc = fm_fs_write_all(fd, bytes, len)) != FM_OK)
		fm_wrap(rc, "%s", name);
	else if (fsync(fd) != 0)
		rc = fm_fail_errno("fsync %s", name);
	saved = errno;
	if (close(fd) != 0 && rc == FM_OK) {
		rc = fm_fail_errno("close %s", name);
		saved = errno;
	}
	if (rc != FM_OK)
		unlinkat(parent, name, 0);
	errno = saved;
	return rc;
}

static int sync_folder(int parent, const char *path)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FM_OK;

	if (fd < 0 || fsync(fd) != 0)
		rc = fm_fail_errno("fsync of the folder of %s", path);
	close_quietly(fd);
	return rc;
}

/* The temporary name begins with a dot, so no manifest ever names it, and is always the same, so a
 * later write clears what a crash left. */
static int replace(
        int dirfd, const char *path, const void *bytes, size_t len, mode_t mode, int above)
{
	struct fm_fs_parent parent;
	char fresh[280];
	int rc;

	if ((rc = fm_fs_parent_open(&parent, dirfd, path, above)) != FM_OK)
		return rc;
	snprintf(fresh, sizeof fresh, ".%s.new", parent.name);
	if (unlinkat(parent.fd, fresh, 0) != 0 && errno != ENOENT)
		rc = fm_fail_errno("remove %s", fresh);
	else if ((rc = write_new(parent.fd, fresh, bytes, len, mode)) != FM_OK)
		fm_wrap(rc, "%s", path);
	else if (renameat(parent.fd, fresh, parent.fd, parent.name) != 0) {
		rc = fm_fail_errno("rename %s", path);
		unlinkat(parent.fd, fresh, 0);
	} else
		rc = sync_folder(parent.fd, path);
	fm_fs_parent_close(&parent);
	return rc;
}

int fm_fs_write(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode)
{
	return replace(dirfd, path, bytes, len, mode, -1);
}

int fm_fs_write_deep(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode)
{
	return replace(dirfd, path, bytes, len, mode, 0755);
}

int fm_fs_create(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode)
{
	struct fm_fs_parent parent;
	int rc;

	if ((rc = fm_fs_parent_open(&parent, dirfd, path, -1)) != FM_OK)
		return rc;
	if ((rc = write_new(parent.fd, parent.name, bytes, len, mode)) != FM_OK)
		fm_wrap(rc, "%s", path);
	else
		rc = sync_folder(parent.fd, path);
	fm_fs_parent_close(&parent);
	return rc;
}

int fm_fs_rename(int dirfd, const char *from, const char *to)
{
	struct fm_fs_parent source, target;
	int rc;

	if ((rc = fm_fs_parent_open(&source, dirfd, from, -1)) != FM_OK)
		return rc;
	if ((rc = fm_fs_parent_open(&target, dirfd, to, -1)) == FM_OK) {
		if (renameat(source.fd, source.name, target.fd, target.name) != 0)
			rc = fm_fail_errno("rename %s to %s", from, to);
		else if ((rc = sync_folder(target.fd, to)) == FM_OK)
			rc = sync_folder(source.fd, from);
		fm_fs_parent_close(&target);
	}
	fm_fs_parent_close(&source);
	return rc;
}

int fm_fs_lock(int dirfd, const char *path, int *fd)
{
	struct fm_fs_parent parent;
	int rc;

	*fd = -1;
	if ((rc = fm_fs_parent_open(&parent, dirfd, path, -1)) != FM_OK)
		return rc;
	*fd = openat(parent.fd, parent.name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (*fd < 0)
		rc = fm_fail_errno("lock %s", path);
	else if (flock(*fd, LOCK_EX | LOCK_NB) != 0) {
		rc = errno == EWOULDBLOCK
		             ? fm_fail(FM_ERR_LOCKED, "%s: another process holds this lock", path)
		             : fm_fail_errno("lock %s", path);
		close_quietly(*fd);
		*fd = -1;
	}
	fm_fs_parent_close(&parent);
	return rc;
}
