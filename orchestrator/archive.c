/* archive.c: tar streams out and packages in, through libarchive; the only file that sees it. */
#include "orchestrator/archive.h"
#include "protocol/buf.h"
#include "protocol/fs.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
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

/* ---- reading ---- */

struct fm_archive_reader {
	struct archive *in;
	struct archive_entry *entry; /* libarchive's own */
	locale_t utf8;               /* so that names come as UTF-8 whatever the user's locale */
	const char *what;
	char shown[200]; /* the entry's name for messages */
};

/* Names are converted inside these calls, in this thread's locale. */
static locale_t enter(const struct fm_archive_reader *r)
{
	return r->utf8 == (locale_t)0 ? (locale_t)0 : uselocale(r->utf8);
}

static void leave(locale_t before)
{
	if (before != (locale_t)0)
		uselocale(before);
}

static int refuse(const struct fm_archive_reader *r, const char *why)
{
	if (r->shown[0] == '\0')
		return fm_fail(FM_ERR_SOURCE, "%s: %s", r->what, why);
	return fm_fail(FM_ERR_SOURCE, "%s: entry '%s': %s", r->what, r->shown, why);
}

static int unreadable(const struct fm_archive_reader *r)
{
	const char *why = archive_error_string(r->in);
	char text[300];

	if (why == NULL)
		why = "unreadable";
	return refuse(r, fm_escape(why, strlen(why), text, sizeof text));
}

/* Only what libarchive reads by itself: its "all" would start programs for rare forms. */
static bool choose_forms(struct archive *in)
{
	return archive_read_support_filter_gzip(in) == ARCHIVE_OK &&
	       archive_read_support_filter_bzip2(in) == ARCHIVE_OK &&
	       archive_read_support_filter_xz(in) == ARCHIVE_OK &&
	       archive_read_support_filter_zstd(in) == ARCHIVE_OK &&
	       archive_read_support_format_zip_seekable(in) == ARCHIVE_OK &&
	       archive_read_support_format_tar(in) == ARCHIVE_OK &&
	       archive_read_support_format_7zip(in) == ARCHIVE_OK &&
	       archive_read_support_format_rar(in) == ARCHIVE_OK &&
	       archive_read_support_format_rar5(in) == ARCHIVE_OK;
}

int fm_archive_open(struct fm_archive_reader **out, int fd, const char *what)
{
	struct fm_archive_reader *r = fm_alloc(sizeof *r);
	int rc = FM_OK;

	*out = NULL;
	if (r == NULL)
		return FM_ERR_MEMORY;
	r->what = what;
	r->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	if ((r->in = archive_read_new()) == NULL || !choose_forms(r->in))
		rc = fm_fail(FM_ERR_INTERNAL, "libarchive reads no zip or tar here");
	else if (lseek(fd, 0, SEEK_SET) != 0)
		rc = fm_fail_errno("%s", what);
	else if (archive_read_open_fd(r->in, fd, FILE_PIECE) != ARCHIVE_OK)
		rc = unreadable(r);
	if (rc == FM_OK)
		*out = r;
	else
		fm_archive_close(r);
	return rc;
}

void fm_archive_close(struct fm_archive_reader *r)
{
	if (r == NULL)
		return;
	if (r->in != NULL)
		(void)archive_read_free(r->in);
	if (r->utf8 != (locale_t)0)
		freelocale(r->utf8);
	free(r);
}

/* What this entry is, when it may not be in a package. */
static const char *forbidden(struct archive_entry *entry)
{
	unsigned type = archive_entry_filetype(entry);

	if (type == AE_IFLNK || archive_entry_symlink(entry) != NULL)
		return "is a symbolic link";
	if (archive_entry_hardlink(entry) != NULL)
		return "is a hard link";
	if (type != AE_IFREG && type != AE_IFDIR)
		return "is a device, pipe or socket";
	if (archive_entry_is_encrypted(entry))
		return "is encrypted";
	if (type == AE_IFREG &&
	        (!archive_entry_size_is_set(entry) || archive_entry_size(entry) < 0))
		return "states no size";
	return NULL;
}

static int next(struct fm_archive_reader *r, struct fm_archive_entry *e)
{
	int got = archive_read_next_header(r->in, &r->entry);
	const char *name, *why;

	memset(e, 0, sizeof *e);
	if (got == ARCHIVE_EOF)
		return FM_OK;
	if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
		return unreadable(r); /* names the entry before it */
	if ((name = archive_entry_pathname(r->entry)) == NULL)
		name = archive_entry_pathname_utf8(r->entry);
	r->shown[0] = '\0';
	if (name == NULL || name[0] == '\0')
		return refuse(r, "an entry without a readable name");
	fm_escape(name, strlen(name), r->shown, sizeof r->shown);
	if ((why = forbidden(r->entry)) != NULL)
		return refuse(r, why);
	e->name = name;
	e->folder = archive_entry_filetype(r->entry) == AE_IFDIR;
	e->size = e->folder ? 0 : (uint64_t)archive_entry_size(r->entry);
	return FM_OK;
}

int fm_archive_next(struct fm_archive_reader *r, struct fm_archive_entry *e)
{
	locale_t before = enter(r);
	int rc = next(r, e);

	leave(before);
	return rc;
}

int fm_archive_piece(struct fm_archive_reader *r, void *out, size_t size, size_t *got)
{
	la_ssize_t n = archive_read_data(r->in, out, size);

	*got = n > 0 ? (size_t)n : 0;
	return n >= 0 ? FM_OK : unreadable(r);
}
