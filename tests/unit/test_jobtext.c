/* test_jobtext.c: job text in its one form; every other byte, key or order is an error with its
 * line. */
#include "protocol/jobtext.h"
#include "tests/unit/scratch.h"

#define HEX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void written_and_read(void **state)
{
	struct fm_buf b = FM_BUF_INIT(FM_TEXT_MAX);
	struct fm_text t;
	const char *value;
	char hex[65], name[65];
	uint64_t u;
	int64_t i;

	(void)state;
	assert_ok(fm_text_begin(&b, "job"));
	assert_ok(fm_text_put(&b, "campaign", "%s", "demo"));
	assert_ok(fm_text_put(&b, "digest", "%s", HEX));
	assert_ok(fm_text_put(&b, "count", "%u", 42u));
	assert_ok(fm_text_put(&b, "cpu", "%d", -1));
	assert_ok(fm_text_put(&b, "item", "%s", "a  b"));
	assert_ok(fm_text_put(&b, "item", "%s", "c"));
	assert_ok(fm_text_end(&b));
	assert_ok(fm_text_open(&t, "job", b.data, b.len));
	assert_ok(fm_text_take_name(&t, "campaign", name));
	assert_string_equal(name, "demo");
	assert_ok(fm_text_take_hex(&t, "digest", hex));
	assert_string_equal(hex, HEX);
	assert_ok(fm_text_take_u64(&t, "count", 42, &u));
	assert_int_equal(u, 42);
	assert_ok(fm_text_take_i64(&t, "cpu", &i));
	assert_int_equal(i, -1);
	assert_false(fm_text_maybe(&t, "other", &value));
	assert_fails(FM_ERR_FORM, "job line 6: read 'item', expected 'end'", fm_text_close(&t));
	assert_true(fm_text_maybe(&t, "item", &value));
	assert_string_equal(value, "a  b");
	assert_int_equal(t.line, 6);
	assert_ok(fm_text_take(&t, "item", &value));
	assert_false(fm_text_maybe(&t, "item", &value));
	assert_fails(FM_ERR_FORM, "job line 8: read 'end', expected 'more'",
	        fm_text_take(&t, "more", &value));
	assert_ok(fm_text_close(&t));
	fm_text_free(&t);
	fm_text_free(&t);
	fm_buf_free(&b);
}

static void refused(const char *text, size_t len, const char *words)
{
	struct fm_text t;

	assert_fails(FM_ERR_FORM, words, fm_text_open(&t, "job", text, len));
	assert_null(t.copy);
}
#define REFUSED(text, words) refused(text, sizeof text - 1, words)

static void form_is_checked_at_open(void **state)
{
	char big[1100];

	(void)state;
	REFUSED("", "line 1: expected more lines");
	REFUSED("fleetmark-job 1", "line 1: is cut off");
	REFUSED("fleetmark-plan 1\nend\n", "expected 'fleetmark-job 1'");
	REFUSED("fleetmark-job 2\nend\n", "expected 'fleetmark-job 1'");
	REFUSED("fleetmark-job 1 \nend\n", "expected 'fleetmark-job 1'");
	REFUSED("\xef\xbb\xbf"
	        "fleetmark-job 1\nend\n",
	        "expected 'fleetmark-job 1'");
	REFUSED("fleetmark-job 1\n", "line 2: expected more lines");
	REFUSED("fleetmark-job 1\na b\n", "line 3: expected more lines");
	REFUSED("fleetmark-job 1\nend", "line 2: is cut off");
	REFUSED("fleetmark-job 1\nend\n\n", "line 3: text after 'end'");
	REFUSED("fleetmark-job 1\nend\na b\n", "line 3: text after 'end'");
	REFUSED("fleetmark-job 1\nend x\nend\n", "line 2: 'end' has no value");
	REFUSED("fleetmark-job 1\n\nend\n", "line 2: read ''");
	REFUSED("fleetmark-job 1\na\nend\n", "line 2: read 'a'");
	REFUSED("fleetmark-job 1\na \nend\n", "line 2: key 'a' has an empty value");
	REFUSED("fleetmark-job 1\na  b\nend\n", "space outside");
	REFUSED("fleetmark-job 1\na b \nend\n", "space outside");
	REFUSED("fleetmark-job 1\nA b\nend\n", "line 2: read 'A b'");
	REFUSED("fleetmark-job 1\n1a b\nend\n", "line 2: read '1a b'");
	REFUSED("fleetmark-job 1\na\tb\nend\n", "line 2: read 'a\\x09b'");
	REFUSED("fleetmark-job 1\na b\tc\nend\n", "not printable");
	REFUSED("fleetmark-job 1\na b\r\nend\n", "not printable");
	REFUSED("fleetmark-job 1\na b\0c\nend\n", "not printable");
	REFUSED("fleetmark-job 1\na b\xc3\xbc\nend\n", "not printable");
	REFUSED("fleetmark-job 1\na b\nend\0\n", "line 3: read 'end\\x00'");
	memset(big, 'x', sizeof big);
	memcpy(big, "fleetmark-job 1\na ", 18);
	memcpy(big + 18 + 1001, "\nend\n", 5);
	refused(big, 18 + 1001 + 5, "more than 1000 bytes");
}

static void size_is_capped(void **state)
{
	struct fm_text t;
	char *big = fm_alloc(FM_TEXT_MAX + 1);

	(void)state;
	assert_non_null(big);
	assert_fails(
	        FM_ERR_SIZE, "allowed are 4194304", fm_text_open(&t, "job", big, FM_TEXT_MAX + 1));
	free(big);
}

static void values_are_typed(void **state)
{
	static const char text[] = "fleetmark-job 1\nu 01\nu 5\ni -0\ni 9223372036854775808\n"
	                           "i -9223372036854775807\nh ABC\nn .x\nend\n";
	struct fm_text t;
	char hex[65], name[65];
	uint64_t u;
	int64_t i;

	(void)state;
	assert_ok(fm_text_open(&t, "job", text, strlen(text)));
	assert_fails(FM_ERR_FORM, "job line 2: u: read '01'", fm_text_take_u64(&t, "u", 9, &u));
	assert_fails(FM_ERR_FORM, "job line 3: u: read '5'", fm_text_take_u64(&t, "u", 4, &u));
	assert_fails(FM_ERR_FORM, "job line 4: i: read '-0'", fm_text_take_i64(&t, "i", &i));
	assert_fails(FM_ERR_FORM, "job line 5: i: read", fm_text_take_i64(&t, "i", &i));
	assert_ok(fm_text_take_i64(&t, "i", &i));
	assert_true(i == -INT64_MAX);
	assert_fails(FM_ERR_FORM, "job line 7: h: read 'ABC'", fm_text_take_hex(&t, "h", hex));
	assert_fails(FM_ERR_FORM, "job line 8: n: read '.x'", fm_text_take_name(&t, "n", name));
	fm_text_free(&t);
}

static void writer_refuses_what_the_reader_would(void **state)
{
	struct fm_buf b = FM_BUF_INIT(FM_TEXT_MAX);

	(void)state;
	assert_fails(FM_ERR_FORM, "kind", fm_text_begin(&b, "Job"));
	assert_fails(FM_ERR_FORM, "kind", fm_text_begin(&b, ""));
	assert_ok(fm_text_begin(&b, "job"));
	assert_fails(FM_ERR_FORM, "key of", fm_text_put(&b, "Key", "%s", "x"));
	assert_fails(FM_ERR_FORM, "key of", fm_text_put(&b, "end", "%s", "x"));
	assert_fails(FM_ERR_FORM, "empty", fm_text_put(&b, "key", "%s", ""));
	assert_fails(FM_ERR_FORM, "space outside", fm_text_put(&b, "key", "%s", " x"));
	assert_fails(FM_ERR_FORM, "not printable", fm_text_put(&b, "key", "%s", "x\nend"));
	assert_fails(FM_ERR_FORM, "more than 1000", fm_text_put(&b, "key", "%01001d", 0));
	assert_ok(fm_text_put(&b, "key", "%01000d", 0));
	assert_int_equal(b.len, strlen("fleetmark-job 1\nkey ") + 1000 + 1);
	fm_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(written_and_read),
	        cmocka_unit_test(form_is_checked_at_open),
	        cmocka_unit_test(size_is_capped),
	        cmocka_unit_test(values_are_typed),
	        cmocka_unit_test(writer_refuses_what_the_reader_would),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
