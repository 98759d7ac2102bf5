/* test_buf.c: the buffer keeps its maximum, numbers are strict, foreign text is escaped. */
#include "tests/unit/scratch.h"

static void put_up_to_the_maximum(void **state)
{
	struct fm_buf b = FM_BUF_INIT(5);

	(void)state;
	assert_ok(fm_buf_puts(&b, "abc"));
	assert_fails(FM_ERR_SIZE, "5 bytes", fm_buf_puts(&b, "def"));
	assert_string_equal(b.data, "abc");
	assert_ok(fm_buf_printf(&b, "%c%c", 'd', 'e'));
	assert_fails(FM_ERR_SIZE, "5 bytes", fm_buf_printf(&b, "%d", 1));
	assert_ok(fm_buf_put(&b, NULL, 0));
	assert_string_equal(b.data, "abcde");
	assert_int_equal(b.len, 5);
	assert_null(fm_buf_room(&b, 1));
	assert_null(fm_buf_room(&b, SIZE_MAX));
	fm_buf_consume(&b, 3);
	assert_string_equal(b.data, "de");
	fm_buf_consume(&b, 9);
	assert_int_equal(b.len, 0);
	fm_buf_free(&b);
	fm_buf_free(&b);
	fm_buf_consume(&b, 1);
	assert_null(b.data);
}

static void room_is_zeroed_and_grows(void **state)
{
	struct fm_buf b = FM_BUF_INIT(100000);
	char *room;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_ok(fm_buf_printf(&b, "%04d", i));
	assert_int_equal(b.len, 4000);
	assert_non_null(room = fm_buf_room(&b, 10));
	memcpy(room, "xyz", 3);
	b.len += 3;
	assert_string_equal(b.data + 3996, "0999xyz");
	fm_buf_free(&b);
}

static void arrays_grow_one_by_one(void **state)
{
	uint32_t *list = NULL;
	size_t count = 0;

	(void)state;
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t *e = fm_grow(&list, &count, sizeof *e);

		assert_non_null(e);
		assert_int_equal(*e, 0);
		*e = i;
	}
	assert_int_equal(count, 100);
	assert_int_equal(list[63], 63);
	assert_int_equal(list[99], 99);
	free(list);
	assert_null(fm_alloc_array(SIZE_MAX / 2, 8));
	list = fm_alloc_array(0, 4);
	assert_non_null(list);
	free(list);
}

static void numbers_are_strict(void **state)
{
	static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "01", "00", "1x", "0x1",
	        "1.0", "18446744073709551616", "99999999999999999999999"};
	uint64_t n = 7;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_fails(FM_ERR_FORM, "allowed is a decimal number",
		        fm_parse_u64(bad[i], UINT64_MAX, &n));
	assert_int_equal(n, 7);
	assert_fails(FM_ERR_FORM, "from 0 to 99", fm_parse_u64("100", 99, &n));
	assert_ok(fm_parse_u64("18446744073709551615", UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
	assert_ok(fm_parse_u64("0", 0, &n));
	assert_int_equal(n, 0);
}

static void escaped(const char *text, const char *want)
{
	char out[200];

	assert_string_equal(fm_escape(text, strlen(text), out, sizeof out), want);
}

static void foreign_text_is_escaped(void **state)
{
	char out[16], exact[9];

	(void)state;
	escaped("plain text", "plain text");
	escaped("a\nb\tc\x1b[31m", "a\\x0ab\\x09c\\x1b[31m");
	escaped("back\\slash", "back\\x5cslash");
	escaped("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	escaped("\xc2\x9b", "\\xc2\\x9b");          /* C1 */
	escaped("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right-to-left override */
	escaped("\xc0\xaf\xff", "\\xc0\\xaf\\xff"); /* overlong, invalid */
	escaped("\xed\xa0\x80", "\\xed\\xa0\\x80"); /* surrogate */
	escaped("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80");
	escaped("cut \xe2\x82", "cut \\xe2\\x82");
	assert_string_equal(
	        fm_escape("0123456789abcdefgh", 18, out, sizeof out), "0123456789ab...");
	assert_string_equal(fm_escape("0123456789abcde", 15, out, sizeof out), "0123456789abcde");
	assert_string_equal(fm_escape("01234567\n\n\n", 11, out, sizeof out), "01234567\\x0a...");
	assert_string_equal(fm_escape("a\0b", 3, out, sizeof out), "a\\x00b");
	assert_string_equal(fm_escape("\n\n\n", 3, exact, sizeof exact), "\\x0a...");
	assert_string_equal(fm_escape("", 0, out, sizeof out), "");
}

static void strings(void **state)
{
	char *text = fm_sprintf("%s-%d", "a", 1);

	(void)state;
	assert_string_equal(text, "a-1");
	free(text);
	text = fm_strdup("copy");
	assert_string_equal(text, "copy");
	free(text);
	assert_true(fm_streq(NULL, NULL));
	assert_false(fm_streq("a", NULL));
	assert_false(fm_streq(NULL, "a"));
	assert_true(fm_streq("a", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(put_up_to_the_maximum),
	        cmocka_unit_test(room_is_zeroed_and_grows),
	        cmocka_unit_test(arrays_grow_one_by_one),
	        cmocka_unit_test(numbers_are_strict),
	        cmocka_unit_test(foreign_text_is_escaped),
	        cmocka_unit_test(strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
