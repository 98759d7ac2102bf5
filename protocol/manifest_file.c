/* manifest_file.c: passes over a manifest that may be large, line by line out of one small buffer.
 */
#include "protocol/manifest_file.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/manifest_parts.h"
#include "protocol/path.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE 65536

struct fm_manifest_file {
	enum fm_seal_kind kind;
	int fd;
	size_t count, bytes; /* lines; of the file */
	unsigned char sha512[64];
	char sha256[65];
};

/* Bytes [from, till) of piece are not yet given out. */
struct pass {
	const struct fm_manifest_file *file;
	struct fm_sha512 hash;
	off_t offset;
	size_t from, till, number;
	char before[FM_PATH_MAX + 1]; /* path of the line above */
	char piece[PIECE];
};

static void *begin(const void *of)
{
	struct pass *f = fm_alloc(sizeof *f);

	if (f != NULL) {
		f->file = of;
		fm_sha512_start(&f->hash);
	}
	return f;
}

/* Puts more bytes behind those that are left; *got is 0 at the end of the file. */
static int fill(struct pass *f, size_t *got)
{
	ssize_t n;

	memmove(f->piece, f->piece + f->from, f->till - f->from);
	f->till -= f->from;
	f->from = 0;
	do
		n = pread(f->file->fd, f->piece + f->till, sizeof f->piece - f->till, f->offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return fm_fail_errno("read the manifest");
	fm_sha512_add(&f->hash, f->piece + f->till, (size_t)n);
	f->till += (size_t)n;
	f->offset += n;
	*got = (size_t)n;
	return FM_OK;
}

static int changed(void)
{
	return fm_fail(FM_ERR_DIGEST, "manifest: was changed while it was read");
}

static int end_of_pass(struct pass *f)
{
	unsigned char now[64];

	if (f->till > f->from || f->number == 0)
		return fm_fail(FM_ERR_FORM,
		        "manifest: expected at least one line, and LF behind the last");
	fm_sha512_end(&f->hash, now);
	if (memcmp(now, f->file->sha512, sizeof now) != 0)
		return changed();
	return 0;
}

static int next_line(void *pass, struct fm_manifest_entry *e)
{
	struct pass *f = pass;
	char *lf;
	size_t got;
	int rc;

	while ((lf = memchr(f->piece + f->from, '\n', f->till - f->from)) == NULL) {
		if (f->till - f->from > FM_MANIFEST_LINE)
			return fm_fail(FM_ERR_FORM,
			        "manifest line %zu: longer than the %d bytes that are allowed",
			        f->number + 1, FM_MANIFEST_LINE - 1);
		if ((rc = fill(f, &got)) != FM_OK)
			return rc;
		if (got == 0)
			return end_of_pass(f);
	}
	*lf = '\0';
	f->number++;
	rc = fm_manifest_line(f->piece + f->from, (size_t)(lf - f->piece) - f->from, f->number,
	        f->number > 1 ? f->before : NULL, e);
	f->from = (size_t)(lf - f->piece) + 1;
	if (rc != FM_OK)
		return rc;
	memcpy(f->before, e->path, strlen(e->path) + 1);
	return 1;
}

struct fm_manifest_source fm_manifest_file_source(const struct fm_manifest_file *f)
{
	return (struct fm_manifest_source){begin, next_line, free, f, f->count};
}

/* The digests of all its bytes, and how many lines it ends. */
static int first_pass(struct fm_manifest_file *f)
{
	struct pass *p = begin(f);
	struct fm_sha256 hash;
	size_t got = 1;
	int rc = p == NULL ? FM_ERR_MEMORY : FM_OK;

	fm_sha256_start(&hash);
	while (rc == FM_OK && got > 0 && (rc = fill(p, &got)) == FM_OK) {
		fm_sha256_add(&hash, p->piece, got);
		for (const char *at = p->piece, *end = at + got;
		        (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
			f->count++;
		f->bytes += got;
		p->till = 0;
	}
	fm_sha256_end(&hash, f->sha256);
	if (rc == FM_OK)
		fm_sha512_end(&p->hash, f->sha512);
	free(p);
	return rc;
}

int fm_manifest_file_open(
        int dirfd, const char *path, enum fm_seal_kind kind, struct fm_manifest_file **out)
{
	struct fm_manifest_file *f = fm_alloc(sizeof *f);
	int rc = f == NULL ? FM_ERR_MEMORY : FM_OK;

	*out = NULL;
	if (rc != FM_OK)
		return rc;
	f->kind = kind;
	f->fd = -1;
	if ((rc = fm_fs_open(dirfd, path, fm_seal_limits(kind)->files * FM_MANIFEST_LINE,
	             &f->fd)) == FM_OK &&
	        (rc = first_pass(f)) == FM_OK) {
		*out = f;
		f = NULL;
	}
	fm_manifest_file_close(f);
	return rc;
}

void fm_manifest_file_close(struct fm_manifest_file *f)
{
	int saved = errno;

	if (f == NULL)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f);
	errno = saved;
}

const unsigned char *fm_manifest_file_sha512(const struct fm_manifest_file *f)
{
	return f->sha512;
}

const char *fm_manifest_file_sha256(const struct fm_manifest_file *f)
{
	return f->sha256;
}

/* Two names of a folder that may differ only in case are rare: only then all paths are looked at
 * together, in memory. */
static int parse_together(const struct fm_manifest_file *f)
{
	struct fm_buf text = FM_BUF_INIT(f->bytes);
	struct fm_manifest m = {NULL, 0, NULL};
	struct pass *p = begin(f);
	unsigned char now[64];
	size_t got = 1;
	int rc = p == NULL ? FM_ERR_MEMORY : FM_OK;

	while (rc == FM_OK && got > 0 && (rc = fill(p, &got)) == FM_OK) {
		if (got > 0)
			rc = fm_buf_put(&text, p->piece, got);
		p->till = 0;
	}
	if (rc == FM_OK) {
		fm_sha512_end(&p->hash, now);
		rc = memcmp(now, f->sha512, sizeof now) != 0 ? changed() : FM_OK;
	}
	if (rc == FM_OK)
		rc = fm_manifest_take(&text, fm_seal_limits(f->kind)->files, &m);
	fm_manifest_free(&m);
	fm_buf_free(&text);
	free(p);
	return rc;
}

int fm_manifest_file_parse(const struct fm_manifest_file *f)
{
	size_t most = fm_seal_limits(f->kind)->files;
	struct fm_manifest_case *names = NULL;
	struct fm_manifest_entry e;
	struct pass *p = NULL;
	int rc = FM_ERR_MEMORY;

	if (f->count > most)
		return fm_fail(
		        FM_ERR_SIZE, "manifest: has %zu lines, allowed are %zu", f->count, most);
	if ((p = begin(f)) == NULL || (rc = fm_manifest_case_new(&names)) != FM_OK)
		goto out;
	while ((rc = next_line(p, &e)) > 0) {
		if (fm_manifest_outside(f->kind, e.path))
			rc = fm_fail(FM_ERR_FORM,
			        "manifest: names %s, which no manifest of this kind may", e.path);
		else
			rc = fm_manifest_case_add(names, e.path);
		if (rc != FM_OK)
			break;
	}
	if (rc == FM_OK && fm_manifest_case_suspect(names))
		rc = parse_together(f);
out:
	fm_manifest_case_free(names);
	free(p);
	return rc;
}
