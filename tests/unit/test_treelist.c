/* test_treelist.c: the list of a source tree, what it refuses, and which difference it names first.
 */
#include "protocol/digest.h"
#include "protocol/treelist.h"
#include "tests/unit/scratch.h"

#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define TO_F  "0d4b6a2ed4ae6e6a4ae44a0e0e9f8a4c" /* never a digest: 32 digits */

static void make_tree(struct scratch *s)
{
	scratch_open(s);
	scratch_put(s, "a.c", "abc");
	scratch_put(s, "sub/run.sh", "");
	scratch_put(s, "sub.h", "abc");
	assert_int_equal(fchmodat(s->fd, "sub/run.sh", 0711, 0), 0);
	assert_int_equal(symlinkat("../a.c", s->fd, "sub/link"), 0);
}

static void listed(struct scratch *s, struct fm_buf *list)
{
	*list = FM_BUF_INIT(FM_TREELIST_MAX);
	assert_ok(fm_treelist_make(s->fd, list, NULL));
}

static void one_line_per_entry(void **state)
{
	struct fm_buf list, sources = FM_BUF_INIT(1000);
	struct scratch s;
	uint64_t bytes;
	char hex[65], want[1000];

	(void)state;
	make_tree(&s);
	list = FM_BUF_INIT(FM_TREELIST_MAX);
	assert_ok(fm_treelist_make(s.fd, &list, &bytes));
	assert_int_equal(bytes, 6);
	fm_sha256_hex("../a.c", 6, hex);
	snprintf(want, sizeof want,
	        "file 0644 3 " ABC " a.c\ndir 0755 0 - sub\nfile 0644 3 " ABC " sub.h\n"
	        "link 0777 6 %s sub/link\nfile 0755 0 " EMPTY " sub/run.sh\n",
	        hex);
	assert_string_equal(list.data, want);
	assert_ok(fm_treelist_compare(s.fd, list.data, list.len));
	assert_ok(fm_treelist_sources(list.data, list.len, &sources));
	assert_string_equal(sources.data, ABC "  a.c\n" ABC "  sub.h\n" EMPTY "  sub/run.sh\n");
	fm_buf_free(&list);
	fm_buf_free(&sources);
	scratch_close(&s);
}

/* Changes the tree and expects this finding. */
static void changed(void (*change)(struct scratch *s), const char *words)
{
	struct fm_buf list;
	struct scratch s;

	make_tree(&s);
	listed(&s, &list);
	change(&s);
	assert_fails(FM_ERR_SOURCE, words, fm_treelist_compare(s.fd, list.data, list.len));
	fm_buf_free(&list);
	scratch_close(&s);
}

static void extra_first(struct scratch *s)
{
	scratch_put(s, "0", "");
}
static void extra_last(struct scratch *s)
{
	scratch_put(s, "z", "");
}
static void extra_folder(struct scratch *s)
{
	assert_int_equal(mkdirat(s->fd, "sub/empty", 0755), 0);
}
static void missing_first(struct scratch *s)
{
	assert_ok(fm_fs_remove(s->fd, "a.c"));
}
static void missing_last(struct scratch *s)
{
	assert_ok(fm_fs_remove(s->fd, "sub/run.sh"));
}
static void other_mode(struct scratch *s)
{
	assert_int_equal(fchmodat(s->fd, "a.c", 0744, 0), 0);
}
static void other_size(struct scratch *s)
{
	scratch_put(s, "a.c", "abcd");
}
static void other_bytes(struct scratch *s)
{
	scratch_put(s, "a.c", "abd");
}
static void other_target(struct scratch *s)
{
	assert_ok(fm_fs_remove(s->fd, "sub/link"));
	assert_int_equal(symlinkat("../b.c", s->fd, "sub/link"), 0);
}
static void other_type(struct scratch *s)
{
	assert_ok(fm_fs_remove(s->fd, "a.c"));
	assert_int_equal(symlinkat("sub.h", s->fd, "a.c"), 0);
}
static void fifo(struct scratch *s)
{
	assert_int_equal(mkfifoat(s->fd, "fifo", 0600), 0);
}
static void space(struct scratch *s)
{
	scratch_put(s, "a b", "");
}
static void line_end(struct scratch *s)
{
	scratch_put(s, "a\nb", "");
}
static void absolute(struct scratch *s)
{
	assert_int_equal(symlinkat("/etc/passwd", s->fd, "x"), 0);
}
static void escaping(struct scratch *s)
{
	assert_int_equal(symlinkat("../x", s->fd, "x"), 0);
}
static void escaping_from_below(struct scratch *s)
{
	assert_int_equal(symlinkat("../../x", s->fd, "sub/x"), 0);
}
static void escaping_through_a_link(struct scratch *s)
{
	assert_int_equal(symlinkat("sub/link/../../x", s->fd, "x"), 0);
}
static void link_with_space(struct scratch *s)
{
	assert_int_equal(symlinkat("a b", s->fd, "x"), 0);
}

static void every_difference_is_named(void **state)
{
	(void)state;
	changed(extra_first, "0: extra");
	changed(extra_last, "z: extra");
	changed(extra_folder, "sub/empty: extra");
	changed(missing_first, "a.c: missing");
	changed(missing_last, "sub/run.sh: missing");
	changed(other_mode, "a.c: mode");
	changed(other_size, "a.c: size");
	changed(other_bytes, "a.c: digest");
	changed(other_target, "sub/link: target");
	changed(other_type, "a.c: type");
}

static void what_no_list_may_hold(void **state)
{
	(void)state;
	changed(fifo, "fifo: is no file, folder or link");
	changed(space, "a b: allowed are names");
	changed(line_end, "a\\x0ab: allowed are names");
	changed(absolute, "x: links to '/etc/passwd'");
	changed(escaping, "x: links to '../x'");
	changed(escaping_from_below, "sub/x: links to '../../x'");
	changed(escaping_through_a_link, "x: links to");
	changed(link_with_space, "x: links to 'a b'");
}

static void refused(const char *list, size_t len)
{
	struct fm_buf out = FM_BUF_INIT(1000);

	assert_fails(FM_ERR_SOURCE, "tree list", fm_treelist_sources(list, len, &out));
	fm_buf_free(&out);
}
#define REFUSED(list) refused(list, sizeof list - 1)

static void other_spellings_are_refused(void **state)
{
	struct fm_buf out = FM_BUF_INIT(1000);
	struct scratch s;

	(void)state;
	assert_ok(fm_treelist_sources("", 0, &out));
	REFUSED("x\n");
	REFUSED("file 0644 3 " ABC " a");
	REFUSED("file 0644 3 " ABC " a\n\n");
	REFUSED("file 0644 3 " ABC "  a\n");
	REFUSED("file 0644 3 " ABC " a\r\n");
	REFUSED("file 0644 03 " ABC " a\n");
	REFUSED("file 0600 3 " ABC " a\n");
	REFUSED("file 0644 3 - a\n");
	REFUSED("file 0644 3 " TO_F " a\n");
	REFUSED("file 0644 3 " ABC " ../a\n");
	REFUSED("dir 0755 1 - a\n");
	REFUSED("dir 0700 0 - a\n");
	REFUSED("dir 0755 0 " ABC " a\n");
	REFUSED("link 0777 0 " ABC " a\n");
	REFUSED("link 0755 1 " ABC " a\n");
	REFUSED("fifo 0644 3 " ABC " a\n");
	REFUSED("dir 0755 0 - b\ndir 0755 0 - a\n");
	REFUSED("dir 0755 0 - a\ndir 0755 0 - a\n");
	REFUSED("dir 0755 0 - a\0\n");
	scratch_open(&s);
	assert_ok(fm_treelist_compare(s.fd, "", 0));
	assert_fails(
	        FM_ERR_SOURCE, "tree list: not in form", fm_treelist_compare(s.fd, "junk\n", 5));
	assert_fails(
	        FM_ERR_SOURCE, "a: missing", fm_treelist_compare(s.fd, "dir 0755 0 - a\n", 15));
	scratch_close(&s);
	fm_buf_free(&out);
}

static int init(void **state)
{
	(void)state;
	return fm_crypto_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(one_line_per_entry),
	        cmocka_unit_test(every_difference_is_named),
	        cmocka_unit_test(what_no_list_may_hold),
	        cmocka_unit_test(other_spellings_are_refused),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
