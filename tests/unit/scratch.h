/* scratch.h: what unit tests share: cmocka with its includes, a folder of their own, checks that
 * print the error text. */
#ifndef FM_TEST_SCRATCH_H
#define FM_TEST_SCRATCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "protocol/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Which tests a program runs: those whose names match its argument; "rest": those without a number
 * mt_nn; all without an argument. */
static inline void choose_tests(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "rest") == 0)
		cmocka_set_skip_filter("mt_*");
	else if (argc > 1)
		cmocka_set_test_filter(argv[1]);
}

/* The call succeeds; if not, its error text is printed. */
#define assert_ok(call)                                             \
	do {                                                        \
		int rc_ = (call);                                   \
		if (rc_ != FM_OK)                                   \
			fail_msg("%s: %s", #call, fm_error_text()); \
	} while (0)

/* The call fails with this code, and its text says this. */
#define assert_fails(code, words, call)                                                       \
	do {                                                                                  \
		int rc_ = (call);                                                             \
		if (rc_ != (code) || strstr(fm_error_text(), words) == NULL)                  \
			fail_msg("%s: %d '%s'", #call, rc_, rc_ != 0 ? fm_error_text() : ""); \
	} while (0)

struct scratch {
	int fd;
	char path[64];
};

/* A fresh folder under /tmp. */
static inline void scratch_open(struct scratch *s)
{
	snprintf(s->path, sizeof s->path, "/tmp/fm-unit-XXXXXX");
	assert_non_null(mkdtemp(s->path));
	assert_ok(fm_fs_dir(AT_FDCWD, s->path, &s->fd));
}

static inline void scratch_close(struct scratch *s)
{
	close(s->fd);
	assert_ok(fm_fs_remove(AT_FDCWD, s->path));
}

static inline void scratch_put(const struct scratch *s, const char *path, const char *text)
{
	assert_ok(fm_fs_write_deep(s->fd, path, text, strlen(text), 0644));
}

/* The file has exactly these bytes. */
static inline void scratch_is(const struct scratch *s, const char *path, const char *text)
{
	struct fm_buf have;

	assert_ok(fm_fs_read(s->fd, path, 1 << 20, &have));
	assert_string_equal(have.data, text);
	fm_buf_free(&have);
}

static inline void scratch_missing(const struct scratch *s, const char *path)
{
	assert_int_equal(faccessat(s->fd, path, F_OK, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(errno, ENOENT);
}

#endif
