/* test_jsonr.c: only the fixed form gets in; hostile texts, places in messages, foreign documents.
 */
#include "orchestrator/jsonr.h"
#include "tests/unit/scratch.h"

#define MAX 65536

static int read_fixed(const char *text, size_t len)
{
	struct fm_json *d = NULL;
	int rc = fm_json_read("f.json", text, len, MAX, &d);

	if (rc != FM_OK)
		assert_null(d);
	fm_json_free(d);
	return rc;
}

static const char good[] = "{\n"
                           "  \"a\": [\n"
                           "    {\n"
                           "      \"name\": \"x \\\"y\\\" \\\\ z\",\n"
                           "      \"number\": -9007199254740991\n"
                           "    },\n"
                           "    [],\n"
                           "    {}\n"
                           "  ],\n"
                           "  \"b\": 0,\n"
                           "  \"c\": \"\"\n"
                           "}\n";

static void the_fixed_form_is_read(void **state)
{
	const struct fm_json_node *root, *a, *first;
	struct fm_json *d = NULL;
	const char *text = NULL;
	int64_t number = 0;

	(void)state;
	assert_ok(fm_json_read("f.json", good, strlen(good), MAX, &d));
	root = fm_json_root(d);
	assert_ok(fm_json_only(root, "a b c"));
	assert_ok(fm_json_array(root, "a", &a));
	assert_int_equal(fm_json_count(a), 3);
	first = fm_json_first(a);
	assert_ok(fm_json_str(first, "name", &text));
	assert_string_equal(text, "x \"y\" \\ z");
	assert_ok(fm_json_int(first, "number", &number));
	assert_int_equal(number, -9007199254740991);
	assert_ok(fm_json_int(root, "b", &number));
	assert_int_equal(number, 0);
	assert_true(fm_json_has(root, "c") && !fm_json_has(root, "C"));
	assert_null(fm_json_text(fm_json_next(first)));
	assert_string_equal(fm_json_key(fm_json_first(root)), "a");
	fm_json_free(d);
}

static void messages_name_the_place(void **state)
{
	const struct fm_json_node *root, *a;
	struct fm_json *d = NULL;
	const char *text = NULL;
	int64_t number;

	(void)state;
	assert_ok(fm_json_read("f.json", good, strlen(good), MAX, &d));
	root = fm_json_root(d);
	assert_ok(fm_json_array(root, "a", &a));
	assert_fails(FM_ERR_FORM, "f.json: a[0].number: must be a string",
	        fm_json_str(fm_json_first(a), "number", &text));
	assert_fails(FM_ERR_FORM, "f.json: a[2].key: missing",
	        fm_json_str(fm_json_next(fm_json_next(fm_json_first(a))), "key", &text));
	assert_fails(FM_ERR_FORM, "f.json: c: must be a number", fm_json_int(root, "c", &number));
	assert_fails(FM_ERR_FORM, "f.json: b: must be an object", fm_json_object(root, "b", &a));
	assert_fails(FM_ERR_FORM, "f.json: b: must be an array", fm_json_array(root, "b", &a));
	assert_fails(FM_ERR_FORM, "f.json: c: unknown key", fm_json_only(root, "a b cc"));
	fm_json_free(d);
}

/* Each is refused; most of them pass the strict call of the library behind. */
static void hostile_texts_are_refused(void **state)
{
	static const struct {
		const char *what, *text;
		size_t len; /* 0: strlen */
	} bad[] = {
	        {"empty", "", 0},
	        {"no final line feed", "{\n  \"a\": 1\n}", 0},
	        {"two final line feeds", "{}\n\n", 0},
	        {"text behind", "{}\n{}\n", 0},
	        {"an array", "[]\n", 0},
	        {"a string", "\"a\"\n", 0},
	        {"doubled key", "{\n  \"a\": 1,\n  \"a\": 2\n}\n", 0},
	        {"keys out of order", "{\n  \"b\": 1,\n  \"a\": 2\n}\n", 0},
	        {"upper-case key", "{\n  \"A\": 1\n}\n", 0},
	        {"empty key", "{\n  \"\": 1\n}\n", 0},
	        {"leading zero", "{\n  \"a\": 0123\n}\n", 0},
	        {"minus zero", "{\n  \"a\": -0\n}\n", 0},
	        {"fraction", "{\n  \"a\": 1.5\n}\n", 0},
	        {"fraction of nothing", "{\n  \"a\": 1.0\n}\n", 0},
	        {"open fraction", "{\n  \"a\": 1.\n}\n", 0},
	        {"exponent", "{\n  \"a\": 1e3\n}\n", 0},
	        {"infinite", "{\n  \"a\": 1e999\n}\n", 0},
	        {"2^53", "{\n  \"a\": 9007199254740992\n}\n", 0},
	        {"2^53 + 1", "{\n  \"a\": 9007199254740993\n}\n", 0},
	        {"2^64 - 1", "{\n  \"a\": 18446744073709551615\n}\n", 0},
	        {"true", "{\n  \"a\": true\n}\n", 0},
	        {"null", "{\n  \"a\": null\n}\n", 0},
	        {"NaN", "{\n  \"a\": NaN\n}\n", 0},
	        {"byte order mark", "\xef\xbb\xbf{}\n", 0},
	        {"UTF-8", "{\n  \"a\": \"\xc3\xa4\"\n}\n", 0},
	        {"broken UTF-8", "{\n  \"a\": \"\xc3\"\n}\n", 0},
	        {"raw control byte", "{\n  \"a\": \"\x01\"\n}\n", 0},
	        {"raw tab", "{\n  \"a\": \"\t\"\n}\n", 0},
	        {"escaped NUL", "{\n  \"a\": \"x\\u0000y\"\n}\n", 0},
	        {"escaped letter", "{\n  \"a\": \"\\u0041\"\n}\n", 0},
	        {"escaped slash", "{\n  \"a\": \"\\/\"\n}\n", 0},
	        {"unknown escape", "{\n  \"a\": \"\\x\"\n}\n", 0},
	        {"escape of NUL byte", "{\n  \"a\": \"\\\0\"\n}\n", 16},
	        {"NUL byte behind", "{}\n\0", 4},
	        {"NUL byte inside", "{\0}\n", 4},
	        {"vertical tab", "{\v}\n", 0},
	        {"other indent", "{\n \"a\": 1\n}\n", 0},
	        {"tight", "{\"a\":1}\n", 0},
	        {"carriage returns", "{\r\n  \"a\": 1\r\n}\r\n", 0},
	        {"comma behind the last", "{\n  \"a\": 1,\n}\n", 0},
	        {"cut", "{\n  \"a\": \"", 0},
	        {"comment", "{\n  // a\n}\n", 0},
	        {"single quotes", "{\n  'a': 1\n}\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		size_t len = bad[i].len != 0 ? bad[i].len : strlen(bad[i].text);

		if (read_fixed(bad[i].text, len) != FM_ERR_FORM)
			fail_msg("accepted, or another error: %s", bad[i].what);
		assert_non_null(strstr(fm_error_text(), "f.json"));
	}
	assert_int_equal(read_fixed(good, strlen(good)), FM_OK);
}

/* Depth 8 is the last that fits; thousands do not overflow the stack. */
static void depth_is_limited(void **state)
{
	char *deep = malloc(200001);
	struct fm_json *d = NULL;

	(void)state;
	assert_int_equal(read_fixed("{\n  \"a\": {\n    \"a\": {\n      \"a\": {\n        \"a\": "
	                            "{\n          \"a\": {\n"
	                            "            \"a\": {\n              \"a\": {}\n            "
	                            "}\n          }\n        }\n"
	                            "      }\n    }\n  }\n}\n",
	                         strlen("{\n  \"a\": {\n    \"a\": {\n      \"a\": {\n        "
	                                "\"a\": {\n          \"a\": {\n"
	                                "            \"a\": {\n              \"a\": {}\n           "
	                                " }\n          }\n        }\n"
	                                "      }\n    }\n  }\n}\n")),
	        FM_OK);
	memset(deep, '[', 200000);
	deep[200000] = '\0';
	memcpy(deep, "{\"a\":", 5);
	assert_fails(
	        FM_ERR_FORM, "nested too deeply", fm_json_read("f.json", deep, 200000, 300000, &d));
	assert_fails(FM_ERR_FORM, "nested too deeply",
	        fm_json_read_foreign("f.json", deep, 200000, 300000, &d));
	free(deep);
}

static void size_is_limited(void **state)
{
	struct fm_json *d = NULL;

	(void)state;
	assert_fails(FM_ERR_SIZE, "f.json",
	        fm_json_read("f.json", good, strlen(good), strlen(good) - 1, &d));
	assert_ok(fm_json_read("f.json", good, strlen(good), strlen(good), &d));
	fm_json_free(d);
}

static void the_line_of_a_difference_is_named(void **state)
{
	(void)state;
	assert_fails(FM_ERR_FORM, "line 3", read_fixed("{\n  \"a\": 1,\n  \"b\":  2\n}\n", 24));
}

static int read_foreign(const char *text)
{
	struct fm_json *d = NULL;
	int rc = fm_json_read_foreign("g.json", text, strlen(text), MAX, &d);

	fm_json_free(d);
	return rc;
}

static void foreign_documents(void **state)
{
	const char text[] =
	        "{\"a\": 1.5, \"b\": null, \"c\": true, \"d\": \"\xc3\xa4\\u00e4\", \"e\": 1e3}";
	struct fm_json *d = NULL;
	const struct fm_json_node *root;
	double number;
	int64_t integer;

	(void)state;
	assert_ok(fm_json_read_foreign("g.json", text, strlen(text), MAX, &d));
	root = fm_json_root(d);
	assert_ok(fm_json_double(root, "a", &number));
	assert_true(number == 1.5);
	assert_fails(FM_ERR_FORM, "integer", fm_json_int(root, "a", &integer));
	assert_ok(fm_json_int(root, "e", &integer));
	assert_int_equal(integer, 1000);
	assert_true(fm_json_is_null(root, "b") && fm_json_is_null(root, "absent") &&
	            !fm_json_is_null(root, "a"));
	fm_json_free(d);
	assert_fails(FM_ERR_FORM, "'a' stands twice",
	        read_foreign("{\"x\": [{\"a\": 1, \"b\": 2, \"a\": 3}]}"));
	assert_fails(FM_ERR_FORM, "double", read_foreign("{\"a\": 1e999}"));
	assert_int_equal(read_foreign("{\"a\": 01}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{\"a\": 1.}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{\"a\": +1}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{\"a\": \"\\ud800\"}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{\"a\": \"\\udc00\"}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{\"a\": \"\\ud83d\\ude00\"}"), FM_OK);
	assert_int_equal(read_foreign("{\"a\": \"\xed\xa0\x80\"}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{\"a\": \"\xf4\x90\x80\x80\"}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{\"a\": \"\xc0\x80\"}"), FM_ERR_FORM);
	assert_int_equal(read_foreign("[]"), FM_ERR_FORM);
	assert_int_equal(read_foreign("{} x"), FM_ERR_FORM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_fixed_form_is_read),
	        cmocka_unit_test(messages_name_the_place),
	        cmocka_unit_test(hostile_texts_are_refused),
	        cmocka_unit_test(depth_is_limited),
	        cmocka_unit_test(size_is_limited),
	        cmocka_unit_test(the_line_of_a_difference_is_named),
	        cmocka_unit_test(foreign_documents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
