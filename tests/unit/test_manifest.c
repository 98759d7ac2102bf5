/* test_manifest.c: the grammar of manifests, line by line, and folders that do not fit theirs. */
#include "protocol/digest.h"
#include "protocol/manifest_file.h"
#include "tests/unit/scratch.h"

#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void parsed(void **state)
{
	static const char text[] =
	        ABC "  A/x\n" EMPTY "  a-b\n" ABC "  a.b\n" ABC "  a/b\n" ABC "  b\n";
	struct fm_manifest m;

	(void)state;
	assert_ok(fm_manifest_parse(text, strlen(text), 5, &m));
	assert_int_equal(m.count, 5);
	assert_string_equal(m.entries[1].path, "a-b");
	assert_string_equal(m.entries[1].hex, EMPTY);
	for (size_t i = 0; i < m.count; i++)
		assert_ptr_equal(fm_manifest_find(&m, m.entries[i].path), &m.entries[i]);
	assert_null(fm_manifest_find(&m, "a"));
	assert_null(fm_manifest_find(&m, "zz"));
	assert_null(fm_manifest_find(&m, ""));
	fm_manifest_free(&m);
	assert_int_equal(m.count, 0);
	assert_null(fm_manifest_find(&m, "a"));
	assert_fails(FM_ERR_SIZE, "5 lines, allowed are 4",
	        fm_manifest_parse(text, strlen(text), 4, &m));
	assert_null(m.text);
}

/* The result of the same text read from a file in passes. */
static int parsed_in_passes(const char *text, size_t len)
{
	struct fm_manifest_file *f;
	struct scratch s;
	int rc;

	scratch_open(&s);
	assert_ok(fm_fs_write(s.fd, "m", text, len, 0600));
	assert_ok(fm_manifest_file_open(s.fd, "m", FM_SEAL_TREE, &f));
	rc = fm_manifest_file_parse(f);
	fm_manifest_file_close(f);
	scratch_close(&s);
	return rc;
}

static void refused(const char *text, size_t len, const char *words)
{
	struct fm_manifest m;

	assert_fails(FM_ERR_FORM, words, fm_manifest_parse(text, len, 100, &m));
	assert_null(m.entries);
	assert_fails(FM_ERR_FORM, words, parsed_in_passes(text, len));
}
#define REFUSED(text, words) refused(text, sizeof text - 1, words)

static void other_spellings_are_refused(void **state)
{
	char path[500], text[700];

	(void)state;
	REFUSED("", "at least one line");
	REFUSED("\n", "line 1: read ''");
	REFUSED(ABC "  a", "LF behind the last");
	REFUSED(ABC "  a\n\n", "line 2: read ''");
	REFUSED("\n" ABC "  a\n", "line 1: read ''");
	REFUSED("# comment\n", "line 1: read '# comment'");
	REFUSED(ABC "  a\r\n", "line 1: read path 'a\\x0d'");
	REFUSED(ABC " *a\n", "two spaces");
	REFUSED(ABC " a\n", "two spaces");
	REFUSED(ABC "\t a\n", "two spaces");
	REFUSED(ABC "  \n", "two spaces");
	REFUSED(ABC "   a\n", "read path ' a'");
	REFUSED("BA7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n",
	        "64 lower-case");
	REFUSED("SHA256 (a) = " ABC "\n", "two spaces");
	REFUSED("\\" ABC "  a\n", "two spaces");
	REFUSED(ABC "  ../a\n", "read path '../a'");
	REFUSED(ABC "  /a\n", "read path '/a'");
	REFUSED(ABC "  a/\n", "read path 'a/'");
	REFUSED(ABC "  a//b\n", "read path 'a//b'");
	REFUSED(ABC "  .a\n", "read path '.a'");
	REFUSED(ABC "  -a\n", "read path '-a'");
	REFUSED(ABC "  a b\n", "read path 'a b'");
	REFUSED(ABC "  a\0b\n", "two spaces");
	REFUSED(ABC "  \xc3\xa4\n", "read path");
	REFUSED(ABC "  b\n" ABC "  a\n", "line 2: ");
	REFUSED(ABC "  a/b\n" ABC "  a.b\n", "is not sorted behind a/b");
	REFUSED(ABC "  a\n" EMPTY "  a\n", "is not sorted behind a");
	REFUSED(ABC "  A\n" ABC "  B\n" ABC "  a\n", "differ only in case");
	memset(path, 'p', sizeof path);
	path[201] = '\0';
	snprintf(text, sizeof text, ABC "  %s\n", path);
	refused(text, strlen(text), "read path");
}

static void limits_and_namespaces(void **state)
{
	(void)state;
	assert_int_equal(fm_seal_limits(FM_SEAL_TRUST)->files, 1024);
	assert_true(fm_seal_limits(FM_SEAL_BUNDLE)->all_bytes == 512u << 20);
	assert_true(fm_seal_limits(FM_SEAL_TREE)->all_bytes == 0);
	assert_string_equal(fm_seal_namespace(FM_SEAL_PLAN), "plan.v1@fleetmark");
	assert_true(fm_manifest_outside(FM_SEAL_PLAN, "MANIFEST.sha256"));
	assert_true(fm_manifest_outside(FM_SEAL_PLAN, "MANIFEST.sha256.sig"));
	assert_true(fm_manifest_outside(FM_SEAL_PLAN, "MANIFEST.sha256.tsr"));
	assert_false(fm_manifest_outside(FM_SEAL_PLAN, "MANIFEST.sha256.bak"));
	assert_false(fm_manifest_outside(FM_SEAL_TREE, "plan/MANIFEST.sha256"));
	assert_true(fm_manifest_outside(FM_SEAL_TREE, "incoming/journal"));
	assert_false(fm_manifest_outside(FM_SEAL_BUNDLE, "incoming/journal"));
	assert_false(fm_manifest_outside(FM_SEAL_TREE, "incoming"));
}

static void make_folder(struct scratch *s)
{
	scratch_open(s);
	scratch_put(s, "a/b", "abc");
	scratch_put(s, "a.b", "");
	scratch_put(s, "MANIFEST.sha256", "old");
	scratch_put(s, "MANIFEST.sha256.sig", "old");
	scratch_put(s, "MANIFEST.sha256.tsr", "old");
	scratch_put(s, "plan/MANIFEST.sha256", "abc");
	scratch_put(s, "incoming/journal", "abc");
	scratch_put(s, "rejected/x", "abc");
}

static void made(void **state)
{
	struct fm_buf out = FM_BUF_INIT(10000);
	struct scratch s;

	(void)state;
	make_folder(&s);
	assert_ok(fm_manifest_make(s.fd, FM_SEAL_TREE, &out));
	assert_string_equal(out.data, EMPTY "  a.b\n" ABC "  a/b\n" ABC "  plan/MANIFEST.sha256\n");
	out.len = 0;
	assert_ok(fm_manifest_make(s.fd, FM_SEAL_BUNDLE, &out));
	assert_string_equal(out.data, EMPTY "  a.b\n" ABC "  a/b\n" ABC "  incoming/journal\n" ABC
	                                    "  plan/MANIFEST.sha256\n" ABC "  rejected/x\n");
	scratch_close(&s);
	scratch_open(&s);
	assert_fails(FM_ERR_FORM, "at least one line", fm_manifest_make(s.fd, FM_SEAL_TREE, &out));
	fm_buf_free(&out);
	scratch_close(&s);
}

static void never_made(void **state)
{
	static const char *const names[] = {"a b", ".hidden", "sub/-dash", "new\nline"};
	struct fm_buf out = FM_BUF_INIT(10000);
	struct scratch s;
	int fd;

	(void)state;
	make_folder(&s);
	assert_int_equal(mkfifoat(s.fd, "a/fifo", 0600), 0);
	assert_fails(FM_ERR_FORM, "a/fifo: is neither", fm_manifest_make(s.fd, FM_SEAL_TREE, &out));
	assert_ok(fm_fs_remove(s.fd, "a/fifo"));
	assert_int_equal(symlinkat("b", s.fd, "a/link"), 0);
	assert_fails(FM_ERR_FORM, "a/link: is neither", fm_manifest_make(s.fd, FM_SEAL_TREE, &out));
	assert_ok(fm_fs_remove(s.fd, "a/link"));
	/* Not even in the place of the manifest itself. */
	assert_ok(fm_fs_remove(s.fd, "MANIFEST.sha256"));
	assert_int_equal(symlinkat("a/b", s.fd, "MANIFEST.sha256"), 0);
	assert_fails(FM_ERR_FORM, "neither", fm_manifest_make(s.fd, FM_SEAL_TREE, &out));
	assert_ok(fm_fs_remove(s.fd, "MANIFEST.sha256"));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		scratch_put(&s, names[i], "");
		assert_fails(FM_ERR_FORM, "a name that no manifest may have",
		        fm_manifest_make(s.fd, FM_SEAL_TREE, &out));
		assert_ok(fm_fs_remove(s.fd, names[i]));
	}
	fd = openat(s.fd, "big", O_WRONLY | O_CREAT, 0600);
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	assert_fails(
	        FM_ERR_SIZE, "big: has 1048577 bytes", fm_manifest_make(s.fd, FM_SEAL_TRUST, &out));
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_ok(fm_manifest_make(s.fd, FM_SEAL_TRUST, &out));
	close(fd);
	fm_buf_free(&out);
	scratch_close(&s);
}

static void totals_are_capped(void **state)
{
	struct fm_buf out = FM_BUF_INIT(1 << 20);
	struct scratch s;
	char name[20];

	(void)state;
	scratch_open(&s);
	for (int i = 0; i <= 1024; i++) {
		int fd;

		snprintf(name, sizeof name, "f%04d", i);
		fd = openat(s.fd, name, O_WRONLY | O_CREAT, 0600);
		assert_int_equal(ftruncate(fd, i < 17 ? 1 << 20 : 0), 0);
		close(fd);
	}
	assert_fails(FM_ERR_SIZE, "16777216 bytes", fm_manifest_make(s.fd, FM_SEAL_TRUST, &out));
	assert_ok(fm_fs_remove(s.fd, "f0003"));
	assert_ok(fm_manifest_make(s.fd, FM_SEAL_TRUST, &out));
	scratch_put(&s, "one", "");
	assert_fails(
	        FM_ERR_SIZE, "1024 that are allowed", fm_manifest_make(s.fd, FM_SEAL_TRUST, &out));
	fm_buf_free(&out);
	scratch_close(&s);
}

static void collect(void *arg, const char *path, const char *what)
{
	assert_ok(fm_buf_printf(arg, "%s=%s ", path, what));
}

static void all_findings_are_told(void **state)
{
	struct fm_buf out = FM_BUF_INIT(10000), told = FM_BUF_INIT(1000);
	struct fm_manifest m;
	struct scratch s;

	(void)state;
	make_folder(&s);
	assert_ok(fm_manifest_make(s.fd, FM_SEAL_TREE, &out));
	assert_ok(fm_manifest_parse(out.data, out.len, 10, &m));
	assert_ok(fm_manifest_check(s.fd, FM_SEAL_TREE, &m, NULL, NULL));
	scratch_put(&s, "0first", "");
	scratch_put(&s, "MANIFEST.sha256.bak", "");
	scratch_put(&s, "a.b", "changed");
	assert_ok(fm_fs_remove(s.fd, "plan"));
	scratch_put(&s, "zlast", "");
	assert_fails(FM_ERR_DIGEST, "0first: extra",
	        fm_manifest_check(s.fd, FM_SEAL_TREE, &m, collect, &told));
	assert_string_equal(told.data, "0first=extra MANIFEST.sha256.bak=extra "
	                               "plan/MANIFEST.sha256=missing zlast=extra a.b=digest ");
	assert_int_equal(mkfifoat(s.fd, "fifo", 0600), 0);
	assert_fails(FM_ERR_FORM, "fifo", fm_manifest_check(s.fd, FM_SEAL_TREE, &m, NULL, NULL));
	fm_manifest_free(&m);
	fm_buf_free(&out);
	fm_buf_free(&told);
	scratch_close(&s);
}

/* Enough bytes for more than one thread; a changed byte in one file is found, and only there. */
static void many_files(void **state)
{
	struct fm_buf out = FM_BUF_INIT(1 << 20), told = FM_BUF_INIT(1000);
	char *bytes = fm_alloc(100000), name[20];
	struct fm_manifest m;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	for (int i = 0; i < 40; i++) {
		bytes[i] = 'x';
		snprintf(name, sizeof name, "f%02d", i);
		assert_ok(fm_fs_write(s.fd, name, bytes, 100000, 0600));
	}
	assert_ok(fm_manifest_make(s.fd, FM_SEAL_BUNDLE, &out));
	assert_ok(fm_manifest_parse(out.data, out.len, 100, &m));
	assert_int_equal(m.count, 40);
	assert_ok(fm_manifest_check(s.fd, FM_SEAL_BUNDLE, &m, NULL, NULL));
	bytes[0] = 'y';
	assert_ok(fm_fs_write(s.fd, "f17", bytes, 100000, 0600));
	assert_fails(FM_ERR_DIGEST, "f17: digest",
	        fm_manifest_check(s.fd, FM_SEAL_BUNDLE, &m, collect, &told));
	assert_string_equal(told.data, "f17=digest ");
	free(bytes);
	fm_manifest_free(&m);
	fm_buf_free(&out);
	fm_buf_free(&told);
	scratch_close(&s);
}

/* Only whole paths count: A/x and a/y are two files wherever they are put. */
static void names_that_differ_in_case(void **state)
{
	static const char apart[] = ABC "  A/x\n" ABC "  a/y\n";
	struct fm_manifest m;

	(void)state;
	assert_ok(fm_manifest_parse(apart, sizeof apart - 1, 9, &m));
	fm_manifest_free(&m);
	assert_ok(parsed_in_passes(apart, sizeof apart - 1));
	REFUSED(ABC "  A/x\n" ABC "  a/x\n", "A/x and a/x differ only in case");
	REFUSED(ABC "  d/A/b/x\n" ABC "  d/B/x\n" ABC "  d/a/B/x\n",
	        "d/A/b/x and d/a/B/x differ only in case");
}

/* n files in three folders, then the same with one name of the last folder in other case. */
static void a_long_manifest(void **state)
{
	enum { FILES = 3000 };
	struct fm_buf text = FM_BUF_INIT(1u << 20);
	struct fm_manifest_source lines;
	struct fm_manifest_file *f;
	struct fm_manifest_entry e;
	struct scratch s;
	size_t seen = 0;
	void *pass;
	int fd;

	(void)state;
	scratch_open(&s);
	for (int i = 0; i < FILES; i++)
		assert_ok(fm_buf_printf(&text, ABC "  d%d/Name%04d\n", i / 1000, i));
	assert_ok(parsed_in_passes(text.data, text.len));
	assert_ok(fm_fs_write(s.fd, "m", text.data, text.len, 0600));
	assert_ok(fm_manifest_file_open(s.fd, "m", FM_SEAL_TREE, &f));
	assert_ok(fm_manifest_file_parse(f));
	lines = fm_manifest_file_source(f);
	assert_int_equal(lines.count, FILES);
	assert_non_null(pass = lines.begin(lines.of));
	while (lines.next(pass, &e) > 0)
		seen++;
	assert_int_equal(seen, FILES);
	lines.end(pass);

	/* digits of the last digest are changed in the open file: that pass ends badly */
	assert_true((fd = openat(s.fd, "m", O_WRONLY)) >= 0);
	assert_int_equal(pwrite(fd, "cccc", 4, (off_t)(text.len - 70)), 4);
	close(fd);
	assert_non_null(pass = lines.begin(lines.of));
	for (seen = 0; lines.next(pass, &e) > 0; seen++)
		;
	assert_int_equal(seen, FILES);
	lines.end(pass);
	assert_fails(FM_ERR_DIGEST, "was changed while it was read", fm_manifest_file_parse(f));
	fm_manifest_file_close(f);

	assert_ok(fm_buf_puts(&text, ABC "  d2/name2500\n"));
	assert_fails(FM_ERR_FORM, "d2/Name2500 and d2/name2500 differ only in case",
	        parsed_in_passes(text.data, text.len));
	fm_buf_free(&text);
	scratch_close(&s);
}

static struct fm_manifest_source unchanged;
static int changing; /* the folder */

/* Behind the last name the file comes to list the digest that its only file really has. */
static int next_and_change(void *pass, struct fm_manifest_entry *e)
{
	int rc = unchanged.next(pass, e), fd;

	if (rc == 0) {
		assert_true((fd = openat(changing, "MANIFEST.sha256", O_WRONLY)) >= 0);
		assert_int_equal(pwrite(fd, EMPTY, 64, 0), 64);
		close(fd);
	}
	return rc;
}

static void a_list_changed_behind_the_names(void **state)
{
	struct fm_manifest_source lines;
	struct fm_manifest_file *f;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_fs_write(s.fd, "a", "", 0, 0600));
	assert_ok(fm_fs_write(s.fd, "MANIFEST.sha256", ABC "  a\n", 68, 0600));
	assert_ok(fm_manifest_file_open(s.fd, "MANIFEST.sha256", FM_SEAL_TREE, &f));
	assert_ok(fm_manifest_file_parse(f));
	lines = unchanged = fm_manifest_file_source(f);
	changing = s.fd;
	assert_fails(FM_ERR_DIGEST, "a: digest",
	        fm_manifest_check_lines(s.fd, FM_SEAL_TREE, &lines, NULL, NULL));
	lines.next = next_and_change;
	assert_fails(FM_ERR_DIGEST, "was changed while its files were read",
	        fm_manifest_check_lines(s.fd, FM_SEAL_TREE, &lines, NULL, NULL));
	fm_manifest_file_close(f);
	scratch_close(&s);
}

static int init(void **state)
{
	(void)state;
	return fm_crypto_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(parsed),
	        cmocka_unit_test(other_spellings_are_refused),
	        cmocka_unit_test(limits_and_namespaces),
	        cmocka_unit_test(made),
	        cmocka_unit_test(never_made),
	        cmocka_unit_test(totals_are_capped),
	        cmocka_unit_test(all_findings_are_told),
	        cmocka_unit_test(many_files),
	        cmocka_unit_test(names_that_differ_in_case),
	        cmocka_unit_test(a_long_manifest),
	        cmocka_unit_test(a_list_changed_behind_the_names),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
