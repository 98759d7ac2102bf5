/* test_path.c: names, paths, digests and stamps at and beyond their limits. */
#include "protocol/path.h"
#include "tests/unit/scratch.h"

static void names(void **state)
{
	static const char *const bad[] = {
	        "", ".a", "-a", "_a", "a/b", "a b", "a*", "a\n", "..", "\xc3\xbc"};
	char name[67];

	(void)state;
	assert_true(fm_name_ok("ZC-DMC-1280_512.x"));
	assert_true(fm_name_ok("0"));
	assert_false(fm_name_ok(NULL));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(fm_name_ok(bad[i]));
	memset(name, 'n', sizeof name);
	name[64] = '\0';
	assert_true(fm_name_ok(name));
	assert_ok(fm_name_check("system", name));
	name[64] = 'n';
	name[65] = '\0';
	assert_false(fm_name_ok(name));
	assert_fails(FM_ERR_NAME, "system: read 'nnn", fm_name_check("system", name));
	assert_fails(FM_ERR_NAME, "read 'a\\x0a'", fm_name_check("system", "a\n"));
	assert_fails(FM_ERR_NAME, "read ''", fm_name_check("system", NULL));
}

static void paths(void **state)
{
	static const char *const bad[] = {"", "/a", "a/", "a//b", "../a", "a/..", "a/./b",
	        ".hidden", "a/-b", "+a", "a b", "a\\b", "a\nb", "1/2/3/4/5/6/7/8/9/10/11/12/13"};
	char path[402];

	(void)state;
	assert_true(fm_path_ok("_a/b+c-d.e/0"));
	assert_true(fm_path_ok("1/2/3/4/5/6/7/8/9/10/11/12"));
	assert_false(fm_path_ok(NULL));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(fm_path_ok(bad[i]));
	memset(path, 'p', sizeof path);
	path[200] = '\0';
	assert_true(fm_path_ok(path));
	path[200] = 'p';
	path[201] = '\0';
	assert_false(fm_path_ok(path));
	memset(path, 'p', sizeof path);
	path[100] = path[200] = path[300] = '/';
	path[400] = '\0';
	assert_true(fm_path_ok(path));
	path[400] = 'p';
	path[401] = '\0';
	assert_false(fm_path_ok(path));
}

static void digests(void **state)
{
	char hex[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

	(void)state;
	assert_true(fm_hex64_ok(hex));
	assert_false(fm_hex64_ok(hex + 1));
	assert_false(fm_hex64_ok(NULL));
	hex[3] = 'B';
	assert_false(fm_hex64_ok(hex));
	assert_false(
	        fm_hex64_ok("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8550"));
}

static void stamps(void **state)
{
	static const char *const bad[] = {"", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z",
	        "2026-1-02T03:04:05Z", "2026-13-02T03:04:05Z", "2026-00-02T03:04:05Z",
	        "2026-04-31T03:04:05Z", "2026-01-00T03:04:05Z", "2026-01-02T24:04:05Z",
	        "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z", "1969-12-31T23:59:59Z",
	        "2025-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2026-01-02T03:04:05Z "};
	char out[21];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(fm_stamp_ok(bad[i]));
	assert_false(fm_stamp_ok(NULL));
	assert_true(fm_stamp_ok("2024-02-29T00:00:00Z"));
	assert_true(fm_stamp_ok("2000-02-29T00:00:00Z"));
	fm_stamp_at(0, out);
	assert_string_equal(out, "1970-01-01T00:00:00Z");
	fm_stamp_at(-5, out);
	assert_string_equal(out, "1970-01-01T00:00:00Z");
	fm_stamp_at(1767322985, out);
	assert_string_equal(out, "2026-01-02T03:03:05Z");
	assert_true(fm_stamp_seconds(out) == 1767322985);
	fm_stamp_at(INT64_MAX, out);
	assert_string_equal(out, "9999-12-31T23:59:59Z");
	assert_true(fm_stamp_seconds(out) == 253402300799LL);
	fm_stamp_now(out);
	assert_true(fm_stamp_ok(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(names),
	        cmocka_unit_test(paths),
	        cmocka_unit_test(digests),
	        cmocka_unit_test(stamps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
