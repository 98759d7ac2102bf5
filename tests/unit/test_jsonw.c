/* test_jsonw.c: the writer's bytes, and everything it refuses. */
#include "protocol/jsonw.h"
#include "tests/unit/scratch.h"

static void every_kind_of_value(void **state)
{
	static const char want[] = "{\n"
	                           "  \"a\": [],\n"
	                           "  \"b\": {},\n"
	                           "  \"c\": [\n"
	                           "    1,\n"
	                           "    \"x\",\n"
	                           "    {\n"
	                           "      \"k\": -9007199254740991\n"
	                           "    }\n"
	                           "  ],\n"
	                           "  \"d\": \"q\\\"b\\\\s /~\",\n"
	                           "  \"e\": \"18446744073709551615\",\n"
	                           "  \"f\": \"host?text?\"\n"
	                           "}\n";
	struct fm_buf b = FM_BUF_INIT(1000);
	struct fm_jsonw w;

	(void)state;
	fm_jsonw_start(&w, &b);
	fm_jsonw_array(&w, "a");
	fm_jsonw_close(&w);
	fm_jsonw_object(&w, "b");
	fm_jsonw_close(&w);
	fm_jsonw_array(&w, "c");
	fm_jsonw_int(&w, NULL, 1);
	fm_jsonw_str(&w, NULL, "x");
	fm_jsonw_object(&w, NULL);
	fm_jsonw_int(&w, "k", -FM_JSON_INT_MAX);
	fm_jsonw_close(&w);
	fm_jsonw_close(&w);
	fm_jsonw_str(&w, "d", "q\"b\\s /~");
	fm_jsonw_u64(&w, "e", UINT64_MAX);
	fm_jsonw_text(&w, "f", "host\ntext\x7f");
	assert_ok(fm_jsonw_end(&w));
	assert_string_equal(b.data, want);
	b.len = 0;
	fm_jsonw_start(&w, &b);
	assert_ok(fm_jsonw_end(&w));
	assert_string_equal(b.data, "{}\n");
	fm_buf_free(&b);
}

/* Each spoils a fresh document. */
static void unsorted(struct fm_jsonw *w)
{
	fm_jsonw_int(w, "b", 1);
	fm_jsonw_int(w, "a", 1);
}
static void doubled(struct fm_jsonw *w)
{
	fm_jsonw_int(w, "a", 1);
	fm_jsonw_int(w, "a", 1);
}
static void upper_case_key(struct fm_jsonw *w)
{
	fm_jsonw_int(w, "A", 1);
}
static void key_in_array(struct fm_jsonw *w)
{
	fm_jsonw_array(w, "a");
	fm_jsonw_int(w, "b", 1);
	fm_jsonw_close(w);
}
static void no_key_in_object(struct fm_jsonw *w)
{
	fm_jsonw_int(w, NULL, 1);
}
static void not_closed(struct fm_jsonw *w)
{
	fm_jsonw_object(w, "a");
}
static void closed_too_often(struct fm_jsonw *w)
{
	fm_jsonw_close(w);
	fm_jsonw_close(w);
}
static void large_number(struct fm_jsonw *w)
{
	fm_jsonw_int(w, "a", FM_JSON_INT_MAX + 1);
}
static void large_negative(struct fm_jsonw *w)
{
	fm_jsonw_int(w, "a", -FM_JSON_INT_MAX - 1);
}
static void line_end_in_text(struct fm_jsonw *w)
{
	fm_jsonw_str(w, "a", "x\n");
}
static void no_ascii(struct fm_jsonw *w)
{
	fm_jsonw_str(w, "a", "\xc3\xbc");
}
static void too_deep(struct fm_jsonw *w)
{
	fm_jsonw_array(w, "a");
	for (int i = 3; i <= FM_JSON_DEPTH + 1; i++)
		fm_jsonw_array(w, NULL);
	for (int i = 3; i <= FM_JSON_DEPTH + 2; i++)
		fm_jsonw_close(w);
}
static void long_key(struct fm_jsonw *w)
{
	fm_jsonw_int(w, "a123456789a123456789a123456789a123456789a123456789a123456789a123", 1);
}

static void everything_else_is_refused(void **state)
{
	static const struct {
		void (*spoil)(struct fm_jsonw *w);
		int code;
		const char *words;
	} cases[] = {
	        {unsorted, FM_ERR_INTERNAL, "key 'a' behind 'b'"},
	        {doubled, FM_ERR_INTERNAL, "key 'a' behind 'a'"},
	        {upper_case_key, FM_ERR_INTERNAL, "key 'A'"},
	        {key_in_array, FM_ERR_INTERNAL, "key 'b'"},
	        {no_key_in_object, FM_ERR_INTERNAL, "key ''"},
	        {not_closed, FM_ERR_INTERNAL, "depth 2"},
	        {closed_too_often, FM_ERR_INTERNAL, "nothing is open"},
	        {large_number, FM_ERR_FORM, "2^53"},
	        {large_negative, FM_ERR_FORM, "2^53"},
	        {line_end_in_text, FM_ERR_FORM, "printable"},
	        {no_ascii, FM_ERR_FORM, "printable"},
	        {too_deep, FM_ERR_FORM, "deeper than 8"},
	        {long_key, FM_ERR_INTERNAL, "key 'a12"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fm_buf b = FM_BUF_INIT(10000);
		struct fm_jsonw w;

		fm_jsonw_start(&w, &b);
		cases[i].spoil(&w);
		assert_fails(cases[i].code, cases[i].words, fm_jsonw_end(&w));
		fm_buf_free(&b);
	}
}

static void depth_and_size_at_their_limits(void **state)
{
	struct fm_buf b = FM_BUF_INIT(1000);
	struct fm_jsonw w;
	char text[300];

	(void)state;
	fm_jsonw_start(&w, &b);
	fm_jsonw_array(&w, "a");
	for (int i = 3; i <= FM_JSON_DEPTH; i++)
		fm_jsonw_array(&w, NULL);
	for (int i = 2; i <= FM_JSON_DEPTH; i++)
		fm_jsonw_close(&w);
	memset(text, 'h', sizeof text);
	text[299] = '\0';
	fm_jsonw_text(&w, "b", text);
	assert_ok(fm_jsonw_end(&w));
	assert_non_null(strstr(b.data, "hhh\"\n}\n"));
	assert_int_equal(strlen(strstr(b.data, "hhh")), 200 + 4);
	fm_buf_free(&b);
	b = FM_BUF_INIT(10);
	fm_jsonw_start(&w, &b);
	fm_jsonw_str(&w, "a", "more than ten bytes");
	assert_int_equal(fm_jsonw_end(&w), FM_ERR_SIZE);
	fm_buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(every_kind_of_value),
	        cmocka_unit_test(everything_else_is_refused),
	        cmocka_unit_test(depth_and_size_at_their_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
