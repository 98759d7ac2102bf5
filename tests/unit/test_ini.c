/* test_ini.c: INI files are read strictly, with file and line; what inih cuts or joins silently
 * comes through whole. */
#include "orchestrator/ini.h"
#include "tests/unit/scratch.h"

static int parse(const char *text)
{
	struct fm_ini *ini = NULL;
	int rc = fm_ini_parse("f.ini", text, strlen(text), &ini);

	if (rc != FM_OK)
		assert_null(ini);
	fm_ini_free(ini);
	return rc;
}

static void entries_come_in_order(void **state)
{
	const char text[] = "; comment\n[a b]\nx = 1 ; why\n\n  y =  two words\t\n# other\n[c] ; "
	                    "behind\nx=http://h/?a=b:c\nz =\n";
	struct fm_ini *ini = NULL;
	char **words;
	size_t count;

	(void)state;
	assert_ok(fm_ini_parse("f.ini", text, strlen(text), &ini));
	assert_int_equal(fm_ini_count(ini), 6);
	assert_string_equal(fm_ini_at(ini, 0)->section, "a b");
	assert_null(fm_ini_at(ini, 0)->key);
	assert_int_equal(fm_ini_at(ini, 0)->line, 2);
	assert_string_equal(fm_ini_at(ini, 1)->value, "1");
	assert_string_equal(
	        fm_ini_at(ini, 2)->key, "y"); /* indented: its own line, not more of x */
	assert_string_equal(fm_ini_at(ini, 2)->value, "two words");
	assert_int_equal(fm_ini_at(ini, 2)->line, 5);
	assert_string_equal(fm_ini_at(ini, 4)->section, "c");
	assert_string_equal(fm_ini_at(ini, 4)->value, "http://h/?a=b:c");
	assert_string_equal(fm_ini_at(ini, 5)->value, "");
	assert_ok(fm_ini_words(ini, fm_ini_at(ini, 2), &words, &count));
	assert_int_equal(count, 2);
	assert_string_equal(words[1], "words");
	free(words);
	assert_ok(fm_ini_words(ini, fm_ini_at(ini, 5), &words, &count));
	assert_int_equal(count, 0);
	free(words);
	fm_ini_free(ini);
}

static void bad_lines_are_named(void **state)
{
	(void)state;
	assert_fails(FM_ERR_CONFIG, "f.ini:3: key 'x' stands already in line 2",
	        parse("[a]\nx = 1\nx = 2\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:3: section [a] stands already in line 1",
	        parse("[a]\nx = 1\n[a]\n"));
	assert_fails(
	        FM_ERR_CONFIG, "f.ini:1: key 'x' before the first [section]", parse("x = 1\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: read 'x'", parse("[a]\nx\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: read 'x : 1'", parse("[a]\nx : 1\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: read 'x:y = 1'", parse("[a]\nx:y = 1\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: read '= 1'", parse("[a]\n= 1\n"));
	assert_fails(FM_ERR_CONFIG, "'x y' is no key", parse("[a]\nx y = 1\n"));
	assert_fails(FM_ERR_CONFIG, "is no key",
	        parse("[a]\nkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk = 1\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:1: the ] that ends", parse("[a\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:1: a section is [name]", parse("[]\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:1: text behind", parse("[a] b\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: control bytes", parse("[a]\nx = \033[31m\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: control bytes", parse("[a]\nx = \xff\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:1: control bytes", parse("[\xc3]\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: control bytes", parse("[a]\nx = a\rb\n"));
	assert_fails(FM_ERR_CONFIG, "f.ini:2: control bytes", parse("[a]\nx = \xc2\x9b\n"));
	assert_int_equal(parse("[a]\nx = \xc3\xa4\n"), FM_OK);
	assert_int_equal(parse("\xef\xbb\xbf[a]\r\nx = 1\r\n"), FM_OK);
	assert_int_equal(parse(""), FM_OK);
	assert_int_equal(parse("[a]"), FM_OK);
}

/* inih cuts sections and keys at 49 bytes and, built so, lines at 199. */
static void long_names_and_lines_come_whole(void **state)
{
	char text[6000], name[65], value[4001];
	struct fm_ini *ini = NULL;

	(void)state;
	memset(name, 'n', 64);
	name[64] = '\0';
	memset(value, 'v', 4000);
	value[4000] = '\0';
	snprintf(text, sizeof text, "[instance %s]\nx = %s\n", name, value);
	assert_ok(fm_ini_parse("f.ini", text, strlen(text), &ini));
	assert_int_equal(strlen(fm_ini_at(ini, 0)->section), 73);
	assert_string_equal(fm_ini_at(ini, 1)->value, value);
	fm_ini_free(ini);
	memset(text, 'v', 4200);
	memcpy(text, "[a]\nx = ", 8);
	text[4200] = '\0';
	assert_fails(FM_ERR_CONFIG, "f.ini:2: a line of 4196 bytes", parse(text));
}

static void numbers_are_strict(void **state)
{
	static const char *const bad[] = {
	        "", "1x", "0x10", "+1", "-0", "1 2", "01", "11", "-3", "9223372036854775808"};
	struct fm_ini *ini = NULL;
	int64_t value;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		char text[80];

		snprintf(text, sizeof text, "[a]\nx = %s\n", bad[i]);
		assert_ok(fm_ini_parse("f.ini", text, strlen(text), &ini));
		assert_fails(FM_ERR_CONFIG, "f.ini:2: x: read '",
		        fm_ini_int(ini, fm_ini_at(ini, 1), -2, 10, &value));
		assert_non_null(strstr(fm_error_text(), "from -2 to 10"));
		fm_ini_free(ini);
	}
	assert_ok(fm_ini_parse("f.ini", "[a]\nx = -2\n", 11, &ini));
	assert_ok(fm_ini_int(ini, fm_ini_at(ini, 1), -2, 10, &value));
	assert_int_equal(value, -2);
	assert_fails(FM_ERR_CONFIG, "f.ini:2: unknown key 'x' in [a]; allowed: y, z",
	        fm_ini_unknown(ini, fm_ini_at(ini, 1), "y, z"));
	fm_ini_free(ini);
}

static void files_are_read(void **state)
{
	struct fm_ini *ini = NULL;
	struct scratch s;
	char path[200];

	(void)state;
	scratch_open(&s);
	scratch_put(&s, "real.ini", "[a]\nx = 1\n");
	assert_int_equal(symlinkat("real.ini", s.fd, "link.ini"), 0);
	snprintf(path, sizeof path, "%s/link.ini", s.path);
	assert_ok(fm_ini_load(path, &ini)); /* people link what they write */
	assert_string_equal(fm_ini_path(ini), path);
	fm_ini_free(ini);
	snprintf(path, sizeof path, "%s/none.ini", s.path);
	assert_fails(FM_ERR_CONFIG, "No such file", fm_ini_load(path, &ini));
	assert_fails(FM_ERR_CONFIG, "", fm_ini_load(s.path, &ini)); /* a folder */
	scratch_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(entries_come_in_order),
	        cmocka_unit_test(bad_lines_are_named),
	        cmocka_unit_test(long_names_and_lines_come_whole),
	        cmocka_unit_test(numbers_are_strict),
	        cmocka_unit_test(files_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
