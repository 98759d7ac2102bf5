/* test_package.c: official packages: what is unpacked, under which names, and that every bad
 * package is refused with the cache as it was. */
#include "orchestrator/package.h"
#include "orchestrator/recipe_parts.h"
#include "protocol/digest.h"
#include "tests/unit/makepack.h"

#define CANDIDATE "[candidate]\nid = c1-archive\nname = C\ncategory = hash\norigin = archive\n"
#define INSTANCE  "[instance I-256]\ndigest_bits = 256\nheader = h.h\nsources = "
#define HEX64     "75120ae6e96315d0c24ba7aca77af23ed38218d435194f137e6356a5fa171223"

/* A root, a cache ($FLEETMARK_HOME) and the package of c1-archive. */
struct world {
	struct scratch s;
	char path[128], sha256[65];
};

static void world_open(struct world *w)
{
	char home[128];

	scratch_open(&w->s);
	snprintf(home, sizeof home, "%s/home", w->s.path);
	assert_int_equal(setenv("FLEETMARK_HOME", home, 1), 0);
}

static void recipe(struct world *w, const char *archive, const char *rest)
{
	char ini[2000];

	snprintf(ini, sizeof ini, CANDIDATE "[archive]\nsha256 = %s\n%s" INSTANCE "%s\n", w->sha256,
	        archive, rest);
	scratch_put(&w->s, "algos/c1-archive/candidate.ini", ini);
}

/* The package is ready: into the cache, as fetch does. */
static int keep(struct world *w, const char *name)
{
	char *cache, path[160];
	int fd, rc;

	snprintf(path, sizeof path, "%s/%s", w->s.path, name);
	assert_ok(fm_fs_sha256(AT_FDCWD, path, w->sha256, NULL));
	assert_ok(fm_package_cache(&cache, &fd));
	rc = fm_package_copy(fd, w->sha256, path);
	if (rc == FM_OK)
		rc = fm_package_keep(fd, w->sha256, 0, path);
	close(fd);
	free(cache);
	return rc;
}

static int load(struct world *w, struct fm_candidates *out)
{
	return fm_recipe_load(w->s.path, "c1-archive", out);
}

static int visit(void *arg, const char *path, const struct stat *st)
{
	(void)st;
	return fm_buf_printf(arg, "%s\n", path);
}

/* Every name in the cache. */
static void cache_names(const struct world *w, struct fm_buf *names)
{
	int fd;

	*names = FM_BUF_INIT(1u << 20);
	assert_ok(fm_buf_puts(names, ""));
	assert_ok(fm_fs_dir(w->s.fd, "home/cache", &fd));
	assert_ok(fm_fs_walk(fd, 1000, visit, names));
	close(fd);
}

static void names(void **state)
{
	static const char *const good[][2] = {
	        {"a/b.c", "a/b.c"},
	        {"./a/b/", "a/b"},
	        {"./", ""},
	        {"Implementations and Test_vector/x.c", "Implementations+20and+20Test_vector/x.c"},
	        {"a+b", "a+2Bb"},
	        {".hidden/-x", "_+2Ehidden/_+2Dx"},
	        {"_ x", "_+5F+20x"},
	        {" x", "_+20x"},
	        {"_x", "_x"},
	        {"\xe6\xb5\x8b.c", "_+E6+B5+8B.c"},
	        {"a\\b", "a+5Cb"},
	        {"..a/a..", "_+2E.a/a.."},
	};
	static const char *const bad[][2] = {
	        {"../x", "entry '../x': leads out"},
	        {"a/../../x", "leads out"},
	        {"a\\..\\x", "leads out"},
	        {"..", "leads out"},
	        {"/etc/passwd", "entry '/etc/passwd': is an absolute name"},
	        {"\\\\host\\x", "absolute"},
	        {"C:\\x", "drive letter"},
	        {"a//b", "empty part"},
	        {"a/./b", "part '.'"},
	        {"a\nb", "control bytes"},
	        {"a\x7f", "control bytes"},
	};
	char *safe;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_ok(fm_package_name("p", good[i][0], &safe));
		assert_string_equal(safe, good[i][1]);
		assert_true(safe[0] == '\0' || fm_path_ok(safe));
		free(safe);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_fails(FM_ERR_SOURCE, bad[i][1], fm_package_name("p", bad[i][0], &safe));
		assert_null(safe);
	}
	assert_true(fm_package_word("a/") && fm_package_word("./") && fm_package_word(".../x.c"));
	assert_false(fm_package_word("/") || fm_package_word(".../../x") || fm_package_word("a//"));
}

/* Dragon-like: spaces above, Chinese names and a program beside, CR LF inside. */
static void make_good(struct world *w, const char *form, const char *options)
{
	struct pack p;

	pack_open(&p, &w->s, "good", form, options);
	pack_entry(&p, "P q/", AE_IFDIR, NULL, NULL, 0);
	pack_entry(&p, "P q/", AE_IFDIR, NULL, NULL, 0);
	pack_file(&p, "P q/I-256/hash.c", "int a;\r\n#include \"h.h\"\r\n");
	pack_file(&p, "P q/I-256/h.h", "\r\n");
	pack_file(&p, "P q/I-256/KAT_CryptHash.c", "int main;\n");
	pack_file(&p, "P q/I-256/main_try.c", "int main;\n");
	pack_file(&p, "P q/I-256/drng.c", "int d;\n");
	pack_file(&p, "P q/I-256/drng.h", "int d;\n");
	pack_file(&p, "P q/I-256/Makefile", "all:\n\ttouch /tmp/owned\n");
	pack_entry(&p, "P q/I-256/try", AE_IFREG, NULL, "\177ELF", 4);
	pack_file(&p, "P q/lib/low/z z.c", "int z;\n");
	pack_file(&p, "P q/lib/low/z.h", "\n");
	pack_file(&p, "P q/lib/common/e.h", "\n");
	pack_file(&p, "P q/\xe6\xb5\x8b\xe8\xaf\x95/\xe7\xae\x97.c", "int c;\n");
	pack_file(&p, "P q/\xb2\xe2\xca\xd4.c", "int gbk;\n"); /* in another encoding */
	pack_file(&p, "P q.txt", "not below the root");
	pack_close(&p);
}

static void unpacked(const char *form, const char *options)
{
	struct fm_candidates c;
	const struct fm_instance *i;
	struct world w;
	char path[300];

	world_open(&w);
	make_good(&w, form, options);
	assert_ok(keep(&w, "good"));
	recipe(&w, "root = P+20q\n",
	        "I-256/ .../z+20z.c _+E6+B5+8B_+E8/x.c\ninclude = .../common\n");
	assert_fails(FM_ERR_CONFIG, "source '_+E6+B5+8B_+E8/x.c' is not there; there is: I-256/",
	        load(&w, &c));
	recipe(&w, "root = P+20q\n",
	        "I-256/ .../z+20z.c _+E6+B5+8B+E8+AF+95/_+E7+AE+97.c _+B2+E2+CA+D4.c\n"
	        "include = .../common\n");
	scratch_put(&w.s, "kat/c1/kat.sha256", HEX64 " strict I-256/KAT_2_12_I-256.txt\n");
	assert_ok(load(&w, &c));
	i = &c.list[0].instances[0];
	assert_int_equal(i->version[FM_VERSION_REFERENCE].sources.count, 4);
	assert_string_equal(i->version[FM_VERSION_REFERENCE].sources.word[0], "I-256/hash.c");
	assert_string_equal(i->version[FM_VERSION_REFERENCE].sources.word[1], "lib/low/z+20z.c");
	assert_string_equal(i->version[FM_VERSION_RESOURCE].sources.word[3], "_+B2+E2+CA+D4.c");
	assert_string_equal(i->include.word[0], "lib/common");
	assert_int_equal(i->kat_count, 1);
	assert_null(strstr(c.list[0].sources.data, "Makefile"));
	assert_null(strstr(c.list[0].sources.data, "try"));
	assert_null(strstr(c.list[0].sources.data, "KAT_"));
	assert_non_null(strstr(c.list[0].sources.data, "I-256/drng.h"));
	assert_non_null(strstr(c.list[0].sources.data, "lib/low/z.h"));
	assert_non_null(strstr(c.list[0].sources.data, "lib/common/e.h"));
	snprintf(path, sizeof path, "%s/I-256/hash.c", c.list[0].folder + strlen(w.s.path) + 1);
	scratch_is(&w.s, path, "int a;\r\n#include \"h.h\"\r\n");
	/* changed by somebody: unpacked again */
	scratch_put(&w.s, path, "int evil;\n");
	fm_recipe_free(&c);
	assert_ok(load(&w, &c));
	scratch_is(&w.s, path, "int a;\r\n#include \"h.h\"\r\n");
	fm_recipe_free(&c);
	scratch_close(&w.s);
}

static void wanted_files_are_unpacked(void **state)
{
	(void)state;
	unpacked("zip", NULL);
	unpacked("tar", NULL);
}

static void utf8_zip_names(void **state)
{
	struct fm_package_list l;
	struct scratch s;
	struct pack p;
	struct archive_entry *e;
	int fd;

	(void)state;
	scratch_open(&s);
	pack_open(&p, &s, "u.zip", "zip", "zip:hdrcharset=UTF-8");
	assert_non_null(e = archive_entry_new());
	archive_entry_set_pathname_utf8(e, "\xe6\xb5\x8b.c");
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_size(e, 0);
	assert_int_equal(archive_write_header(p.out, e), ARCHIVE_OK);
	archive_entry_free(e);
	pack_close(&p);
	assert_ok(fm_fs_dir(AT_FDCWD, s.path, &fd));
	close(fd);
	assert_true((fd = open(p.path, O_RDONLY)) >= 0);
	assert_ok(fm_package_scan(fd, "u", &l));
	close(fd);
	assert_int_equal(l.count, 1);
	assert_string_equal(l.file[0].name, "_+E6+B5+8B.c");
	fm_package_list_free(&l);
	scratch_close(&s);
}

/* ---- bad packages ---- */

struct bad {
	const char *form, *words;
	unsigned type;
	const char *name, *target;
};

static void refused(struct world *w, const char *words)
{
	struct fm_buf before, after;
	struct fm_candidates c;

	assert_ok(keep(w, "bad"));
	recipe(w, "", "a.c");
	cache_names(w, &before);
	assert_fails(FM_ERR_SOURCE, words, load(w, &c));
	cache_names(w, &after);
	assert_string_equal(before.data, after.data);
	fm_buf_free(&before);
	fm_buf_free(&after);
}

static void bad_entries(void **state)
{
	static const struct bad bad[] = {
	        {"zip", "entry '../x': leads out", AE_IFREG, "../x", NULL},
	        {"tar", "entry 'a/../../x': leads out", AE_IFREG, "a/../../x", NULL},
	        {"zip", "entry '/etc/x': is an absolute name", AE_IFREG, "/etc/x", NULL},
	        {"zip", "entry 'b.c': is a symbolic link", AE_IFLNK, "b.c", "/etc/passwd"},
	        {"tar", "entry 'b.c': is a symbolic link", AE_IFLNK, "b.c", "a.c"},
	        {"tar", "entry 'b.c': is a hard link", AE_IFREG, "b.c", "a.c"},
	        {"tar", "entry 'fifo': is a device", AE_IFIFO, "fifo", NULL},
	        {"tar", "entry 'null': is a device", AE_IFCHR, "null", NULL},
	        {"zip", "entry 'a.c': stands twice in the package", AE_IFREG, "a.c", NULL},
	        {"zip", "entry 'a.c': stands twice but for", AE_IFREG, "A.c", NULL},
	        {"zip", "entry 'a.c/b': stands below a name that is a file", AE_IFREG, "a.c/b",
	                NULL},
	        {"zip", "entry 'x\\x0ay': has control bytes", AE_IFREG, "x\ny", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct world w;
		struct pack p;

		world_open(&w);
		pack_open(&p, &w.s, "bad", bad[i].form, NULL);
		pack_file(&p, "a.c", "int a;\n");
		pack_file(&p, "h.h", "\n");
		pack_entry(&p, bad[i].name, bad[i].type, bad[i].target, NULL, 0);
		pack_close(&p);
		refused(&w, bad[i].words);
		scratch_close(&w.s);
	}
}

static void bad_sizes(void **state)
{
	const size_t bomb = (size_t)70 << 20, large = (size_t)17 << 20;
	char *zeros = calloc(bomb, 1), name[32];
	struct world w;
	struct pack p;

	(void)state;
	assert_non_null(zeros);
	world_open(&w); /* a bomb, though the recipe does not want it */
	pack_open(&p, &w.s, "bad", "zip", NULL);
	pack_file(&p, "a.c", "int a;\n");
	pack_entry(&p, "zeros", AE_IFREG, NULL, zeros, bomb);
	pack_close(&p);
	refused(&w, "entry 'zeros': a compression bomb");
	scratch_close(&w.s);
	world_open(&w); /* a source that is none */
	pack_open(&p, &w.s, "bad", "zip", NULL);
	pack_entry(&p, "a.c", AE_IFREG, NULL, zeros, large);
	pack_close(&p);
	refused(&w, "entry 'a.c': 17825792 bytes; allowed are 16777216");
	scratch_close(&w.s);
	free(zeros);
	world_open(&w);
	pack_open(&p, &w.s, "bad", "zip", "zip:compression=store");
	for (int i = 0; i <= FM_PACKAGE_ENTRIES; i++) {
		snprintf(name, sizeof name, "f%d", i);
		pack_file(&p, name, "");
	}
	pack_close(&p);
	refused(&w, "entry 'f200000': more than 200000 entries");
	scratch_close(&w.s);
}

static void bad_files(void **state)
{
	struct fm_candidates c;
	struct world w;
	struct pack p;
	char path[128];
	struct stat st;

	(void)state;
	world_open(&w);
	scratch_put(&w.s, "bad", "<html>404</html>\n");
	refused(&w, "c1-archive: Unrecognized archive format");
	scratch_close(&w.s);
	world_open(&w);
	scratch_put(&w.s, "bad", "");
	assert_ok(keep(&w, "bad"));
	recipe(&w, "", "a.c");
	assert_fails(FM_ERR_SOURCE, "c1-archive: ", load(&w, &c));
	scratch_close(&w.s);
	world_open(&w); /* cut: a zip has lost its directory */
	pack_open(&p, &w.s, "bad", "zip", NULL);
	pack_file(&p, "a.c", "int a;\n");
	pack_file(&p, "h.h", "\n");
	pack_close(&p);
	snprintf(path, sizeof path, "%s/bad", w.s.path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size - 40), 0);
	refused(&w, "c1-archive: ");
	scratch_close(&w.s);
	world_open(&w); /* encrypted */
	pack_open(&p, &w.s, "bad", "zip", "zip:encryption=traditional");
	pack_file(&p, "a.c", "int a;\n");
	pack_close(&p);
	refused(&w, "entry 'a.c': is encrypted");
	scratch_close(&w.s);
}

static void cut_tar(void **state)
{
	struct world w;
	struct pack p;
	char path[128];

	(void)state;
	world_open(&w);
	pack_open(&p, &w.s, "bad", "tar", NULL);
	pack_file(&p, "a.c", "int a;\n");
	pack_close(&p);
	snprintf(path, sizeof path, "%s/bad", w.s.path);
	assert_int_equal(truncate(path, 514), 0);
	refused(&w, "c1-archive: ");
	scratch_close(&w.s);
}

/* ---- recipe and package ---- */

static void config_fails(struct world *w, const char *words, const char *archive, const char *rest)
{
	struct fm_buf before, after;
	struct fm_candidates c;

	recipe(w, archive, rest);
	cache_names(w, &before);
	assert_fails(FM_ERR_CONFIG, words, load(w, &c));
	cache_names(w, &after);
	assert_string_equal(before.data, after.data);
	fm_buf_free(&before);
	fm_buf_free(&after);
}

static void recipes_that_do_not_fit(void **state)
{
	struct world w;
	struct pack p;

	(void)state;
	world_open(&w);
	pack_open(&p, &w.s, "good", "zip", NULL);
	pack_file(&p, "R/one/hash.c", "\n");
	pack_file(&p, "R/one/h.h", "\n");
	pack_file(&p, "R/two/hash.c", "\n");
	pack_file(&p, "R/docs/x.txt", "\n");
	pack_close(&p);
	assert_ok(keep(&w, "good"));
	config_fails(&w, "source 'one/hsh.c' is not there; there is: one/h.h, one/hash.c",
	        "root = R\n", "one/hsh.c");
	config_fails(&w, "source 'three/' holds no sources; there is: docs/, one/, two/",
	        "root = R\n", "three/");
	config_fails(&w, "source 'docs/' holds no sources", "root = R\n", "docs/");
	config_fails(&w, "'.../hash.c' can be one/hash.c or two/hash.c; write which in full",
	        "root = R\n", ".../hash.c");
	config_fails(&w, "source '.../x.c' is not there", "root = R\n", ".../x.c");
	config_fails(&w, "include folder '.../inc' is not there", "root = R\n",
	        "one/\ninclude = .../inc");
	config_fails(&w, "root 'R/none' is not there; there is: R/docs/, R/one/, R/two/",
	        "root = R/none\n", "one/");
	recipe(&w, "", "R/two/");
	assert_fails(
	        FM_ERR_CONFIG, "header 'h.h' is not there", load(&w, &(struct fm_candidates){0}));
	scratch_close(&w.s);
}

static void not_fetched(void **state)
{
	struct fm_candidates c;
	struct fm_candidate one;
	struct world w;

	(void)state;
	world_open(&w);
	memcpy(w.sha256, HEX64, 65);
	recipe(&w, "url = https://example.org/p.zip\n", "a.c");
	scratch_put(&w.s, "algos/c1/candidate.ini",
	        "[candidate]\nid = c1\nname = C\ncategory = hash\norigin = own\n" INSTANCE "a.c\n");
	scratch_put(&w.s, "algos/c1/a.c", "\n");
	scratch_put(&w.s, "algos/c1/h.h", "\n");
	assert_fails(FM_ERR_CONFIG,
	        "c1-archive: the official package is not on this machine; fleetmark fetch "
	        "downloads",
	        load(&w, &c));
	recipe(&w, "", "a.c");
	assert_fails(
	        FM_ERR_CONFIG, "machine; fleetmark fetch c1-archive --archive FILE", load(&w, &c));
	/* a glob takes our own where it can; without a pattern there are only those */
	assert_ok(fm_recipe_load(w.s.path, "c1*", &c));
	assert_int_equal(c.count, 1);
	assert_string_equal(c.list[0].id, "c1");
	fm_recipe_free(&c);
	assert_ok(fm_recipe_load(w.s.path, NULL, &c));
	assert_int_equal(c.count, 1);
	fm_recipe_free(&c);
	assert_fails(
	        FM_ERR_CONFIG, "not on this machine", fm_recipe_load(w.s.path, "*-archive", &c));
	/* fetch finds the recipe by either id */
	assert_ok(fm_recipe_archive(w.s.path, "c1", &one));
	assert_string_equal(one.id, "c1-archive");
	fm_candidate_free(&one);
	assert_ok(fm_recipe_archive(w.s.path, "c1-archive", &one));
	fm_candidate_free(&one);
	assert_fails(FM_ERR_USAGE, "no such candidate", fm_recipe_archive(w.s.path, "c2", &one));
	assert_fails(
	        FM_ERR_NAME, "candidate: read '../c1'", fm_recipe_archive(w.s.path, "../c1", &one));
	scratch_close(&w.s);
}

static void recipe_keys(void **state)
{
	struct fm_candidates c;
	struct world w;

	(void)state;
	world_open(&w);
	memcpy(w.sha256, HEX64, 65);
	recipe(&w, "root = a b\n", "a.c");
	assert_fails(FM_ERR_CONFIG, "root: read 'a b', allowed: a folder in safe spelling",
	        load(&w, &c));
	recipe(&w, "bytes = 0\n", "a.c");
	assert_fails(FM_ERR_CONFIG, "bytes: read '0'", load(&w, &c));
	recipe(&w, "", "../a.c");
	assert_fails(FM_ERR_CONFIG, "sources: read '../a.c'", load(&w, &c));
	recipe(&w, "", ".../../a.c");
	assert_fails(FM_ERR_CONFIG, "sources: read '.../../a.c'", load(&w, &c));
	scratch_close(&w.s);
}

static void kept_only_behind_the_digest(void **state)
{
	char *cache, path[160], name[80];
	struct world w;
	bool have;
	int fd;

	(void)state;
	world_open(&w);
	scratch_put(&w.s, "page", "<html>Sorry</html>");
	snprintf(path, sizeof path, "%s/page", w.s.path);
	assert_ok(fm_package_cache(&cache, &fd));
	assert_ok(fm_package_copy(fd, HEX64, path));
	assert_fails(FM_ERR_DIGEST, "begins with '<html>Sorry</html>'; nothing was kept",
	        fm_package_keep(fd, HEX64, 0, path));
	scratch_missing(&w.s, "home/cache/packages/" HEX64 ".part");
	scratch_missing(&w.s, "home/cache/packages/" HEX64);
	assert_ok(keep(&w, "page"));
	assert_ok(fm_package_have(fd, w.sha256, &have));
	assert_true(have);
	assert_ok(fm_package_copy(fd, w.sha256, path));
	assert_fails(FM_ERR_CONFIG, "the recipe says bytes = 17",
	        fm_package_keep(fd, w.sha256, 17, path));
	/* a kept file that was changed is no package any more */
	fm_package_kept(w.sha256, name);
	assert_ok(fm_fs_write(fd, name, "x", 1, 0600));
	assert_ok(fm_package_have(fd, w.sha256, &have));
	assert_false(have);
	/* what a killed process left goes after a day */
	scratch_put(&w.s, "home/cache/sources/.in-new/x", "");
	scratch_put(&w.s, "home/cache/sources/.in-old/x", "");
	assert_int_equal(
	        utimensat(fd, "sources/.in-old", (struct timespec[2]){{1, 0}, {1, 0}}, 0), 0);
	assert_ok(fm_package_tidy(fd));
	scratch_missing(&w.s, "home/cache/sources/.in-old");
	scratch_is(&w.s, "home/cache/sources/.in-new/x", "");
	assert_fails(FM_ERR_CONFIG, "no such", fm_package_copy(fd, HEX64, "/nonexistent/no such"));
	assert_fails(FM_ERR_CONFIG, "is no plain file", fm_package_copy(fd, HEX64, w.s.path));
	close(fd);
	free(cache);
	scratch_close(&w.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(names),
	        cmocka_unit_test(wanted_files_are_unpacked),
	        cmocka_unit_test(utf8_zip_names),
	        cmocka_unit_test(bad_entries),
	        cmocka_unit_test(bad_sizes),
	        cmocka_unit_test(bad_files),
	        cmocka_unit_test(cut_tar),
	        cmocka_unit_test(recipes_that_do_not_fit),
	        cmocka_unit_test(not_fetched),
	        cmocka_unit_test(recipe_keys),
	        cmocka_unit_test(kept_only_behind_the_digest),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
