/* test_fs.c: files are never read or written through a link, never left half-written; walks are in
 * byte order. */
#include "tests/unit/scratch.h"
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void write_and_read(void **state)
{
	struct fm_buf b;
	struct scratch s;
	struct stat st;
	off_t size;
	char hex[65];

	(void)state;
	scratch_open(&s);
	umask(077);
	assert_ok(fm_fs_write(s.fd, "f", "abc", 3, 0644));
	umask(022);
	assert_int_equal(fstatat(s.fd, "f", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_ok(fm_fs_write(s.fd, "f", "longer", 6, 0600));
	scratch_is(&s, "f", "longer");
	assert_ok(fm_fs_write(s.fd, "f", "abc", 3, 0600));
	scratch_is(&s, "f", "abc");
	scratch_missing(&s, ".f.new");
	assert_ok(fm_fs_sha256(s.fd, "f", hex, &size));
	assert_int_equal(size, 3);
	assert_string_equal(
	        hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	assert_ok(fm_fs_sha256(s.fd, "f", hex, NULL));
	assert_ok(fm_fs_sha256_max(s.fd, "f", 3, hex, NULL));
	assert_fails(FM_ERR_SIZE, "f: has 3 bytes, allowed are 2",
	        fm_fs_sha256_max(s.fd, "f", 2, hex, NULL));
	assert_ok(fm_fs_read(s.fd, "f", 3, &b));
	fm_buf_free(&b);
	assert_fails(FM_ERR_SIZE, "f: has 3 bytes, allowed are 2", fm_fs_read(s.fd, "f", 2, &b));
	assert_null(b.data);
	assert_ok(fm_fs_write(s.fd, "empty", "", 0, 0600));
	assert_ok(fm_fs_read(s.fd, "empty", 0, &b));
	assert_string_equal(b.data, "");
	fm_buf_free(&b);
	assert_fails(FM_ERR_SYSTEM, "No such file", fm_fs_read(s.fd, "none", 9, &b));
	assert_int_equal(errno, ENOENT);
	assert_fails(FM_ERR_SYSTEM, "No such file", fm_fs_read(s.fd, "none/none", 9, &b));
	assert_int_equal(errno, ENOENT);
	assert_fails(FM_ERR_SYSTEM, "No such file", fm_fs_write(s.fd, "none/f", "x", 1, 0600));
	assert_ok(fm_fs_write_deep(s.fd, "new/deep/f", "x", 1, 0600));
	scratch_is(&s, "new/deep/f", "x");
	assert_ok(fm_fs_create(s.fd, "once", "1", 1, 0600));
	assert_fails(FM_ERR_SYSTEM, "exists", fm_fs_create(s.fd, "once", "2", 1, 0600));
	assert_int_equal(errno, EEXIST);
	scratch_is(&s, "once", "1");
	assert_ok(fm_fs_rename(s.fd, "once", "new/once"));
	scratch_is(&s, "new/once", "1");
	scratch_missing(&s, "once");
	scratch_close(&s);
}

/* What the kernel makes up has no size beforehand. */
static void files_without_a_size(void **state)
{
	struct fm_buf b;

	(void)state;
	assert_ok(fm_fs_read(AT_FDCWD, "/proc/self/status", 1 << 20, &b));
	assert_true(b.len > 100);
	fm_buf_free(&b);
	assert_fails(FM_ERR_SIZE, "allowed", fm_fs_read(AT_FDCWD, "/proc/self/status", 10, &b));
}

static void links_are_not_followed(void **state)
{
	struct fm_buf b;
	struct scratch s;
	struct stat st;
	char hex[65];
	int fd;

	(void)state;
	scratch_open(&s);
	scratch_put(&s, "dir/f", "inside");
	assert_int_equal(symlinkat("dir", s.fd, "dirlink"), 0);
	assert_int_equal(symlinkat("dir/f", s.fd, "link"), 0);
	assert_int_equal(mkfifoat(s.fd, "fifo", 0600), 0);
	assert_fails(FM_ERR_FORM, "no plain file", fm_fs_read(s.fd, "link", 9, &b));
	assert_fails(FM_ERR_FORM, "no plain file", fm_fs_read(s.fd, "fifo", 9, &b));
	assert_fails(FM_ERR_FORM, "no plain file", fm_fs_read(s.fd, "dir", 9, &b));
	assert_fails(FM_ERR_FORM, "no plain file", fm_fs_read(AT_FDCWD, "/dev/null", 9, &b));
	assert_fails(FM_ERR_FORM, "no plain file", fm_fs_sha256(s.fd, "fifo", hex, NULL));
	assert_string_equal(hex, "");
	assert_fails(FM_ERR_SYSTEM, "dirlink", fm_fs_read(s.fd, "dirlink/f", 9, &b));
	assert_fails(FM_ERR_SYSTEM, "dirlink", fm_fs_write(s.fd, "dirlink/f", "x", 1, 0600));
	assert_fails(FM_ERR_SYSTEM, "dirlink", fm_fs_write_deep(s.fd, "dirlink/a/f", "x", 1, 0600));
	assert_fails(FM_ERR_SYSTEM, "dirlink", fm_fs_dir(s.fd, "dirlink", &fd));
	assert_int_equal(fd, -1);
	assert_fails(FM_ERR_SYSTEM, "dirlink", fm_fs_mkdirs(s.fd, "dirlink", 0700, &fd));
	assert_fails(FM_ERR_SYSTEM, "dirlink", fm_fs_mkdirs(s.fd, "dirlink/x", 0700, &fd));
	/* A write replaces the link, not what it points to. */
	assert_ok(fm_fs_write(s.fd, "link", "new", 3, 0600));
	scratch_is(&s, "dir/f", "inside");
	scratch_is(&s, "link", "new");
	/* So does a planted temporary name. */
	assert_int_equal(symlinkat("dir/f", s.fd, ".t.new"), 0);
	assert_ok(fm_fs_write(s.fd, "t", "new", 3, 0600));
	scratch_is(&s, "dir/f", "inside");
	assert_fails(FM_ERR_SYSTEM, "exists", fm_fs_create(s.fd, "dirlink", "x", 1, 0600));
	assert_fails(FM_ERR_SYSTEM, "dirlink", fm_fs_lock(s.fd, "dirlink", &fd));
	assert_ok(fm_fs_remove(s.fd, "dirlink"));
	assert_int_equal(fstatat(s.fd, "dir/f", &st, 0), 0);
	scratch_close(&s);
}

static void paths_stay_beneath(void **state)
{
	static const char *const bad[] = {"../x", "a/../x", "/tmp/x", "", "a//", "..", "./x"};
	struct scratch s;
	struct fm_buf b;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_fs_write_deep(s.fd, "a/x", "", 0, 0600));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_not_equal(fm_fs_read(s.fd, bad[i], 9, &b), FM_OK);
		assert_int_not_equal(fm_fs_write(s.fd, bad[i], "x", 1, 0600), FM_OK);
		assert_int_not_equal(fm_fs_create(s.fd, bad[i], "x", 1, 0600), FM_OK);
		if (strcmp(bad[i], "a//") != 0)
			assert_int_not_equal(fm_fs_remove(s.fd, bad[i]), FM_OK);
	}
	assert_ok(fm_fs_write_deep(s.fd, "a/x", "", 0, 0600));
	scratch_is(&s, "a/x", "");
	scratch_close(&s);
}

static void folders(void **state)
{
	char path[200], here[200];
	struct scratch s;
	int fd;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_fs_mkdirs(s.fd, "a/b/c", 0700, &fd));
	close(fd);
	assert_ok(fm_fs_mkdirs(s.fd, "a/b/c/", 0700, &fd));
	close(fd);
	assert_ok(fm_fs_dir(s.fd, ".", &fd));
	close(fd);
	snprintf(path, sizeof path, "%s/x/y", s.path);
	assert_ok(fm_fs_mkdirs(AT_FDCWD, path, 0700, &fd));
	close(fd);
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(path), 0);
	assert_ok(fm_fs_dir(AT_FDCWD, "..", &fd));
	assert_int_equal(faccessat(fd, "y", F_OK, 0), 0);
	close(fd);
	assert_ok(fm_fs_mkdirs(AT_FDCWD, "../../z", 0700, &fd));
	close(fd);
	assert_ok(fm_fs_dir(AT_FDCWD, "/", &fd));
	close(fd);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(faccessat(s.fd, "z", F_OK, 0), 0);
	scratch_put(&s, "file", "");
	assert_fails(FM_ERR_SYSTEM, "file", fm_fs_mkdirs(s.fd, "file", 0700, &fd));
	assert_fails(FM_ERR_SYSTEM, "file", fm_fs_mkdirs(s.fd, "file/x", 0700, &fd));
	scratch_close(&s);
}

struct walked {
	struct fm_buf paths;
	const char *skip, *stop;
};

static int visit(void *arg, const char *path, const struct stat *st)
{
	struct walked *w = arg;

	assert_ok(fm_buf_printf(&w->paths, "%s%s ", path,
	        S_ISDIR(st->st_mode)   ? "/"
	        : S_ISLNK(st->st_mode) ? "@"
	                               : ""));
	if (fm_streq(path, w->stop))
		return FM_ERR_REPLAY;
	return fm_streq(path, w->skip) ? FM_FS_SKIP : FM_OK;
}

static void walks_in_byte_order(void **state)
{
	struct walked w = {FM_BUF_INIT(10000), NULL, NULL};
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_fs_walk(s.fd, 0, visit, &w));
	scratch_put(&s, "a/x", "");
	scratch_put(&s, "a/sub/y", "");
	scratch_put(&s, "a.b", "");
	scratch_put(&s, "a0", "");
	scratch_put(&s, "B", "");
	assert_int_equal(symlinkat("..", s.fd, "a/up"), 0);
	assert_ok(fm_fs_walk(s.fd, 8, visit, &w));
	assert_string_equal(w.paths.data, "B a/ a.b a/sub/ a/sub/y a/up@ a/x a0 ");
	assert_fails(FM_ERR_SIZE, "more entries", fm_fs_walk(s.fd, 7, visit, &w));
	w.paths.len = 0;
	w.skip = "a";
	assert_ok(fm_fs_walk(s.fd, 100, visit, &w));
	assert_string_equal(w.paths.data, "B a/ a.b a0 ");
	w.paths.len = 0;
	w.skip = "a.b"; /* no folder: nothing to leave out */
	w.stop = "a/sub/y";
	assert_int_equal(fm_fs_walk(s.fd, 100, visit, &w), FM_ERR_REPLAY);
	assert_string_equal(w.paths.data, "B a/ a.b a/sub/ a/sub/y ");
	fm_buf_free(&w.paths);
	scratch_close(&s);
}

static void walks_end_at_their_depth(void **state)
{
	struct walked w = {FM_BUF_INIT(10000), NULL, NULL};
	struct scratch s;
	int fd;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_fs_mkdirs(s.fd, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15", 0700, &fd));
	close(fd);
	assert_ok(fm_fs_walk(s.fd, 100, visit, &w));
	assert_ok(fm_fs_mkdirs(s.fd, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", 0700, &fd));
	close(fd);
	assert_fails(FM_ERR_FORM, "deeper than 16", fm_fs_walk(s.fd, 100, visit, &w));
	fm_buf_free(&w.paths);
	scratch_close(&s);
}

static void removal(void **state)
{
	char above[100];
	struct scratch s;
	int fd;

	(void)state;
	scratch_open(&s);
	scratch_put(&s, "keep/f", "kept");
	scratch_put(&s, "t/a/b/c", "");
	scratch_put(&s, "t/f", "");
	assert_int_equal(symlinkat("../keep", s.fd, "t/link"), 0);
	assert_int_equal(mkfifoat(s.fd, "t/fifo", 0), 0);
	assert_ok(fm_fs_dir(s.fd, "t/a/b", &fd));
	assert_int_equal(fchmod(fd, 0500), 0);
	close(fd);
	assert_int_equal(fchmodat(s.fd, "t/a", 0, 0), 0);
	assert_ok(fm_fs_remove(s.fd, "t"));
	scratch_missing(&s, "t");
	scratch_is(&s, "keep/f", "kept");
	assert_ok(fm_fs_remove(s.fd, "t"));
	assert_ok(fm_fs_remove(s.fd, "t/u/v"));
	assert_fails(FM_ERR_FORM, "not allowed", fm_fs_remove(s.fd, "."));
	snprintf(above, sizeof above, "%s/keep/..", s.path);
	assert_fails(FM_ERR_FORM, "not allowed", fm_fs_remove(AT_FDCWD, above));
	scratch_close(&s);
}

static void one_lock(void **state)
{
	struct scratch s;
	int one, two;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_fs_lock(s.fd, "lock", &one));
	assert_fails(FM_ERR_LOCKED, "another process", fm_fs_lock(s.fd, "lock", &two));
	assert_int_equal(two, -1);
	close(one);
	assert_ok(fm_fs_lock(s.fd, "lock", &two));
	close(two);
	scratch_close(&s);
}

static void full_disks(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct rlimit old, small;
	struct scratch s;

	(void)state;
	assert_true(fd >= 0);
	assert_fails(FM_ERR_DISK, "No space", fm_fs_write_all(fd, "x", 1));
	close(fd);
	scratch_open(&s);
	assert_ok(fm_fs_write(s.fd, "f", "old", 3, 0600));
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = old;
	small.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_fails(FM_ERR_SYSTEM, "f: ", fm_fs_write(s.fd, "f", "more than ten bytes", 19, 0600));
	assert_fails(
	        FM_ERR_SYSTEM, "g: ", fm_fs_create(s.fd, "g", "more than ten bytes", 19, 0600));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	scratch_is(&s, "f", "old");
	scratch_missing(&s, ".f.new");
	scratch_missing(&s, "g");
	scratch_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(write_and_read),
	        cmocka_unit_test(files_without_a_size),
	        cmocka_unit_test(links_are_not_followed),
	        cmocka_unit_test(paths_stay_beneath),
	        cmocka_unit_test(folders),
	        cmocka_unit_test(walks_in_byte_order),
	        cmocka_unit_test(walks_end_at_their_depth),
	        cmocka_unit_test(removal),
	        cmocka_unit_test(one_lock),
	        cmocka_unit_test(full_disks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
