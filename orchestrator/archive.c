/* archive.c: tar streams through libarchive; the only file that sees it. */
#include "orchestrator/archive.h"
#include "protocol/buf.h"
#include "protocol/fs.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FILE_PIECE (64u << 10)

struct fm_archive {
	struct archive *tar;
	fm_archive_sink *sink;
	void *arg;
	int failed; /* what the sink said first */
};

static la_ssize_t take(struct archive *tar, void *arg, const void *bytes, size_t len)
{
	struct fm_archive *a = arg;

	if (a->failed == FM_OK)
		a->failed = a->sink(a->arg, bytes, len);
	if (a->failed == FM_OK)
		return (la_ssize_t)len;
	archive_set_error(tar, EIO, "the receiver ended");
	return -1;
}

/* The sink's own error wins over libarchive's words about it. */
static int archive_failed(struct fm_archive *a, const char *path)
{
	if (a->failed != FM_OK)
		return a->failed;
	return fm_fail(FM_ERR_INTERNAL, "tar stream, %s: %s", path,
		archive_error_string(a->tar) != NULL ? archive_error_string(a->tar) : "no reason");
}

int fm_archive_start(struct fm_archive **out, fm_archive_sink *sink, void *arg)
{
	struct fm_archive *a = fm_alloc(sizeof *a);
	int rc;

	*out = NULL;
	if (a == NULL)
		return FM_ERR_MEMORY;
	a->sink = sink;
	a->arg = arg;
	a->tar = archive_write_new();
	if (a->tar == NULL) {
		rc = fm_fail(FM_ERR_MEMORY, "tar stream: out of memory");
		goto out;
	}
	if (archive_write_set_format_pax_restricted(a->tar) != ARCHIVE_OK ||
		archive_write_add_filter_none(a->tar) != ARCHIVE_OK ||
		archive_write_open(a->tar, a, NULL, take, NULL) != ARCHIVE_OK) {
		rc = archive_failed(a, "start");
		goto out;
	}
	*out = a;
	a = NULL;
	rc = FM_OK;
out:
	fm_archive_free(a);
	return rc;
}

static int put_header(struct fm_archive *a, const char *path, unsigned type, mode_t mode,
	uint64_t size, const char *target)
{
	struct archive_entry *entry = archive_entry_new();
	int rc = FM_OK;

	if (entry == NULL)
		return fm_fail(FM_ERR_MEMORY, "tar stream: out of memory");
	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, type);
	archive_entry_set_perm(entry, mode);
	archive_entry_set_size(entry, (la_int64_t)size);
	archive_entry_set_mtime(entry, 0, 0);
	if (target != NULL)
		archive_entry_set_symlink(entry, target);
	if (archive_write_header(a->tar, entry) != ARCHIVE_OK)
		rc = archive_failed(a, path);
	archive_entry_free(entry);
	return rc;
}

int fm_archive_dir(struct fm_archive *a, const char *path)
{
	return put_header(a, path, AE_IFDIR, 0755, 0, NULL);
}

int fm_archive_link(struct fm_archive *a, const char *path, const char *target)
{
	return put_header(a, path, AE_IFLNK, 0777, 0, target);
}

static int put_data(struct fm_archive *a, const char *path, const void *bytes, size_t len)
{
	la_ssize_t done = archive_write_data(a->tar, bytes, len);

	if (done < 0)
		return archive_failed(a, path);
	if ((size_t)done != len)
		return fm_fail(FM_ERR_SOURCE, "%s grew while it was sent", path);
	return FM_OK;
}

int fm_archive_bytes(struct fm_archive *a, const char *path, const void *bytes, size_t len)
{
	int rc = put_header(a, path, AE_IFREG, 0644, len, NULL);

	return rc == FM_OK && len > 0 ? put_data(a, path, bytes, len) : rc;
}

int fm_archive_file(struct fm_archive *a, const char *path, int dirfd, const char *from,
	uint64_t size, bool executable)
{
	int fd = openat(dirfd, from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	char *piece = NULL;
	uint64_t sent = 0;
	int rc;

	if (fd < 0)
		return fm_fail_errno("%s", from);
	piece = fm_alloc(FILE_PIECE);
	if (piece == NULL) {
		rc = FM_ERR_MEMORY;
		goto out;
	}
	rc = put_header(a, path, AE_IFREG, executable ? 0755 : 0644, size, NULL);
	while (rc == FM_OK) {
		ssize_t n = read(fd, piece, FILE_PIECE);

		if (n < 0)
			rc = fm_fail_errno("%s", from);
		if (n <= 0)
			break;
		sent += (uint64_t)n;
		rc = sent > size ? fm_fail(FM_ERR_SOURCE, "%s grew while it was sent", from)
				 : put_data(a, path, piece, (size_t)n);
	}
	if (rc == FM_OK && sent != size)
		rc = fm_fail(FM_ERR_SOURCE, "%s shrank while it was sent", from);
out:
	free(piece);
	close(fd);
	return rc;
}

int fm_archive_end(struct fm_archive *a)
{
	int rc = FM_OK;

	if (archive_write_close(a->tar) != ARCHIVE_OK)
		rc = archive_failed(a, "end");
	else if (a->failed != FM_OK)
		rc = a->failed;
	fm_archive_free(a);
	return rc;
}

void fm_archive_free(struct fm_archive *a)
{
	if (a == NULL)
		return;
	if (a->tar != NULL) {
		if (a->failed == FM_OK)
			a->failed = FM_ERR_INTERRUPTED; /* nothing more to the sink */
		(void)archive_write_free(a->tar);
	}
	free(a);
}
