/* fs.h: files and folders, never through a link, never half-written. Paths are relative to dirfd
 * (AT_FDCWD allowed). */
#ifndef FM_FS_H
#define FM_FS_H

#include "protocol/buf.h"
#include "protocol/error.h"
#include <sys/stat.h>
#include <sys/types.h>

/* Opens a folder (O_DIRECTORY|O_NOFOLLOW on its last part|O_CLOEXEC); the caller closes *fd, which
 * is -1 on error. */
FM_CHECK int fm_fs_dir(int dirfd, const char *path, int *fd);

/* Makes path and what is missing above it (mode for all), then opens it. */
FM_CHECK int fm_fs_mkdirs(int dirfd, const char *path, mode_t mode, int *fd);

/* Reads a plain file of at most max bytes (else FM_ERR_SIZE) into a fresh *out, which the caller
 * frees. Not through a link, never blocking on a FIFO (FM_ERR_FORM). A missing file is
 * FM_ERR_SYSTEM with errno ENOENT left in errno. */
FM_CHECK int fm_fs_read(int dirfd, const char *path, size_t max, struct fm_buf *out);

/* Opens a plain file of at most max bytes (else FM_ERR_SIZE) for reading, by the same rules; the
 * caller closes *fd, which is -1 on error. */
FM_CHECK int fm_fs_open(int dirfd, const char *path, size_t max, int *fd);

/* Replaces path by these bytes: temporary file beside it, fsync, rename, fsync of the folder.
 * Folders above must exist. */
FM_CHECK int fm_fs_write(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode);

/* The same, but makes missing folders above path (0755). */
FM_CHECK int fm_fs_write_deep(
        int dirfd, const char *path, const void *bytes, size_t len, mode_t mode);

/* Creates path exclusively (FM_ERR_SYSTEM, errno EEXIST if it is there), writes, fsyncs file and
 * folder. */
FM_CHECK int fm_fs_create(int dirfd, const char *path, const void *bytes, size_t len, mode_t mode);

/* SHA-256 of a plain file as 64 hex digits, and its size (size may be NULL). Not through a link. */
FM_CHECK int fm_fs_sha256(int dirfd, const char *path, char hex[65], off_t *size);

/* The same of a file of at most max bytes, else FM_ERR_SIZE, before its first byte is read. */
FM_CHECK int fm_fs_sha256_max(int dirfd, const char *path, uint64_t max, char hex[65], off_t *size);

/* Removes a file or a whole tree; links are removed, not followed. What is not there is no error.
 */
FM_CHECK int fm_fs_remove(int dirfd, const char *path);

/* rename, then fsync of the folder of to. */
FM_CHECK int fm_fs_rename(int dirfd, const char *from, const char *to);

/* Calls visit(arg, path, &st) for every entry below the folder dirfd, in byte order of the paths,
 * folders before what is in them, "incoming" style exclusions left to visit: returning FM_FS_SKIP
 * from a folder leaves it out, another non-zero ends the walk with that code. Links are reported
 * (lstat), never followed. Depth at most 16, at most max entries. */
#define FM_FS_SKIP 1
typedef int fm_fs_visit(void *arg, const char *path, const struct stat *st);
FM_CHECK int fm_fs_walk(int dirfd, size_t max, fm_fs_visit *visit, void *arg);

/* Writes all bytes or fails; a short write to a full disk is FM_ERR_DISK. */
FM_CHECK int fm_fs_write_all(int fd, const void *bytes, size_t len);

/* Takes an exclusive flock on path (created 0600); FM_ERR_LOCKED when another process has it. *fd
 * holds it; close frees. */
FM_CHECK int fm_fs_lock(int dirfd, const char *path, int *fd);

#endif
