/* makepack.h: packages for tests, good and hostile, written entry by entry with libarchive. */
#ifndef FM_TEST_MAKEPACK_H
#define FM_TEST_MAKEPACK_H

#include "tests/unit/scratch.h"
#include <archive.h>
#include <archive_entry.h>

struct pack {
	struct archive *out;
	char path[160];
};

/* form "zip", or "tar"; options as libarchive takes them, or NULL. */
static inline void pack_open(struct pack *p, const struct scratch *s, const char *name,
        const char *form, const char *options)
{
	snprintf(p->path, sizeof p->path, "%s/%s", s->path, name);
	assert_non_null(p->out = archive_write_new());
	if (strcmp(form, "zip") == 0)
		assert_int_equal(archive_write_set_format_zip(p->out), ARCHIVE_OK);
	else
		assert_int_equal(archive_write_set_format_pax_restricted(p->out), ARCHIVE_OK);
	if (options != NULL && strncmp(options, "zip:encryption", 14) == 0)
		assert_int_equal(archive_write_set_passphrase(p->out, "secret"), ARCHIVE_OK);
	if (options != NULL)
		assert_int_equal(archive_write_set_options(p->out, options), ARCHIVE_OK);
	assert_int_equal(archive_write_open_filename(p->out, p->path), ARCHIVE_OK);
}

/* type AE_IFREG, AE_IFDIR, AE_IFLNK, AE_IFIFO, AE_IFCHR; AE_IFREG with a target: a hard link. */
static inline void pack_entry(struct pack *p, const char *name, unsigned type, const char *target,
        const void *bytes, size_t len)
{
	struct archive_entry *e = archive_entry_new();

	assert_non_null(e);
	archive_entry_set_pathname(e, name);
	archive_entry_set_filetype(e, type);
	archive_entry_set_perm(e, 0755);
	archive_entry_set_size(e, (la_int64_t)len);
	if (type == AE_IFLNK)
		archive_entry_set_symlink(e, target);
	else if (target != NULL)
		archive_entry_set_hardlink(e, target);
	if (archive_write_header(p->out, e) < ARCHIVE_WARN)
		fail_msg("%s: %s", name, archive_error_string(p->out));
	if (len > 0)
		assert_int_equal(archive_write_data(p->out, bytes, len), len);
	archive_entry_free(e);
}

static inline void pack_file(struct pack *p, const char *name, const char *text)
{
	pack_entry(p, name, AE_IFREG, NULL, text, strlen(text));
}

static inline void pack_close(struct pack *p)
{
	assert_int_equal(archive_write_close(p->out), ARCHIVE_OK);
	archive_write_free(p->out);
}

#endif
