/* archive.h: writes tar streams. The only file that sees libarchive; nothing that comes from a host is ever unpacked. */
#ifndef FM_ARCHIVE_H
#define FM_ARCHIVE_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fm_archive;

/* Takes the next bytes of the stream; a code other than FM_OK ends it and is what the call returns. */
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

#endif
