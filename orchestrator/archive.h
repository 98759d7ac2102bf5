/* archive.h: writes tar streams and reads packages. The only file that sees libarchive; nothing
 * that comes from a host is ever unpacked. */
#ifndef FM_ARCHIVE_H
#define FM_ARCHIVE_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_archive;

/* Takes the next bytes of the stream; a code other than FM_OK ends it and is what the call returns.
 */
typedef int fm_archive_sink(void *arg, const void *bytes, size_t len);

/* A tar stream (ustar, pax where a name needs it) without times and owners. *out is ended with
 * fm_archive_end or dropped with fm_archive_free. */
FM_CHECK int fm_archive_start(struct fm_archive **out, fm_archive_sink *sink, void *arg);
FM_CHECK int fm_archive_dir(struct fm_archive *a, const char *path);
FM_CHECK int fm_archive_link(struct fm_archive *a, const char *path, const char *target);
FM_CHECK int fm_archive_bytes(
        struct fm_archive *a, const char *path, const void *bytes, size_t len);

/* The plain file dirfd/from under the name path; exactly size bytes, else FM_ERR_SOURCE (it was
 * edited meanwhile). */
FM_CHECK int fm_archive_file(struct fm_archive *a, const char *path, int dirfd, const char *from,
        uint64_t size, bool executable);

/* Writes the end of the stream and frees a, also on an error. */
FM_CHECK int fm_archive_end(struct fm_archive *a);
void fm_archive_free(struct fm_archive *a); /* NULL allowed */

/* A package: zip, tar (plain, gzip, bzip2, xz, zstd), 7z or rar. Nothing external is run to read
 * it. Read front to back: next, then as many pieces as are wanted, next again. Errors are
 * FM_ERR_SOURCE and name the entry. */
struct fm_archive_reader;
struct fm_archive_entry {
	const char *name; /* as packed, any bytes but NUL, UTF-8 where the package says what it is;
	                     NULL: the end */
	uint64_t size;    /* as the package states it */
	bool folder;      /* else a plain file: links, devices and encrypted entries are refused */
};

/* Reads from the beginning of the plain file fd, which stays the caller's; what names the package
 * in errors. */
FM_CHECK int fm_archive_open(struct fm_archive_reader **out, int fd, const char *what);
FM_CHECK int fm_archive_next(struct fm_archive_reader *r, struct fm_archive_entry *e);
/* The next bytes of the entry; *got 0 at its end. */
FM_CHECK int fm_archive_piece(struct fm_archive_reader *r, void *out, size_t size, size_t *got);
void fm_archive_close(struct fm_archive_reader *r); /* NULL allowed */

#endif
