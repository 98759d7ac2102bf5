/* test_jsonlong.c: a document read element by element is accepted exactly when it is accepted
 * whole. */
#include "orchestrator/jsonlong.h"
#include "tests/unit/scratch.h"

#define MAX 65536

static const char objects[] = "{\n"
                              "  \"a\": [\n"
                              "    {\n"
                              "      \"name\": \"x \\\"y\\\" [\",\n"
                              "      \"part\": [\n"
                              "        1,\n"
                              "        2\n"
                              "      ]\n"
                              "    },\n"
                              "    {},\n"
                              "    {\n"
                              "      \"name\": \"}\"\n"
                              "    }\n"
                              "  ],\n"
                              "  \"b\": [\n"
                              "    0\n"
                              "  ]\n"
                              "}\n";
static const char strings[] = "{\n"
                              "  \"a\": [\n"
                              "    \"x\",\n"
                              "    \"y{\",\n"
                              "    \"[\"\n"
                              "  ]\n"
                              "}\n";

struct seen {
	size_t count;
	uint64_t offset[16];
	char text[16][32];
};

static int take(void *arg, const struct fm_json_node *element, uint64_t offset)
{
	struct seen *s = arg;
	const char *text = fm_json_text(element);

	if (s->count < 16) {
		s->offset[s->count] = offset;
		snprintf(s->text[s->count], 32, "%s", text == NULL ? "" : text);
	}
	s->count++;
	return FM_OK;
}

static int read_long(struct fm_json_long *d, struct seen *s)
{
	struct fm_json *rest = NULL;
	int rc = fm_json_long_open(d, MAX, &rest);

	memset(s, 0, sizeof *s);
	if (rc == FM_OK)
		rc = fm_json_long_each(d, take, s);
	fm_json_free(rest);
	return rc;
}

static bool both_say(const char *text, size_t len)
{
	struct fm_json_long d = {.what = "f.json", .key = "a", .fd = -1, .bytes = text, .len = len};
	struct fm_json *whole = NULL;
	struct seen s;
	int rc = fm_json_read("f.json", text, len, MAX, &whole), parts = read_long(&d, &s);

	fm_json_free(whole);
	if ((rc == FM_OK) != (parts == FM_OK))
		fail_msg("whole %d, in parts %d (%s): %.*s", rc, parts, fm_error_text(), (int)len,
		        text);
	return rc == FM_OK;
}

/* Every byte changed to each of these, taken out, and doubled; every line taken out and doubled. */
static void spoil(const char *good)
{
	static const char put[] = " \n{}[],:\"x\\0\x01\xc3";
	size_t len = strlen(good), accepted = 0;
	char text[2048];

	for (size_t i = 0; i < len; i++) {
		memcpy(text, good, len);
		for (size_t k = 0; k < sizeof put; k++) {
			text[i] = put[k];
			accepted += both_say(text, len);
		}
		memmove(text + i, good + i + 1, len - i - 1);
		accepted += both_say(text, len - 1);
		memcpy(text, good, i);
		memcpy(text + i, good + i, 1);
		memcpy(text + i + 1, good + i, len - i);
		accepted += both_say(text, len + 1);
		accepted += both_say(good, i);
	}
	for (const char *at = good, *end; *at != '\0'; at = end) {
		end = strchr(at, '\n') + 1;
		memcpy(text, good, (size_t)(at - good));
		memcpy(text + (at - good), end, strlen(end));
		accepted += both_say(text, len - (size_t)(end - at));
		memcpy(text, good, (size_t)(end - good));
		memcpy(text + (end - good), at, strlen(at));
		accepted += both_say(text, len + (size_t)(end - at));
	}
	assert_true(both_say(good, len));
	assert_true(accepted > 10); /* a letter inside a string may be another one */
}

static void the_same_is_accepted(void **state)
{
	(void)state;
	spoil(objects);
	spoil(strings);
	assert_true(both_say("{\n  \"a\": []\n}\n", 14));
	assert_true(both_say("{\n  \"b\": 1\n}\n", 13));
}

static void elements_and_their_places(void **state)
{
	struct fm_json_long d = {
	        .what = "f.json", .key = "a", .fd = -1, .bytes = strings, .len = strlen(strings)};
	struct seen s, one = {0};

	(void)state;
	assert_ok(read_long(&d, &s));
	assert_int_equal(s.count, 3);
	assert_string_equal(s.text[1], "y{");
	assert_int_equal(d.line, 3);
	assert_int_equal(s.offset[0], d.first);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(strings[s.offset[i] + 4], '"');
	assert_ok(fm_json_long_some(&d, s.offset[1], 1, take, &one));
	assert_int_equal(one.count, 1);
	assert_string_equal(one.text[0], "y{");
	assert_int_not_equal(fm_json_long_some(&d, s.offset[1] + 1, 1, take, &one), FM_OK);
}

/* A file of many elements, read through a small window. */
static void a_long_file(void **state)
{
	struct scratch home;
	struct fm_json_long d = {.what = "f.json", .key = "a", .fd = -1};
	struct fm_buf text = FM_BUF_INIT(4u << 20);
	struct seen s;

	(void)state;
	scratch_open(&home);
	assert_ok(fm_buf_puts(&text, "{\n  \"a\": [\n"));
	for (int i = 0; i < 20000; i++)
		assert_ok(fm_buf_printf(&text, "    {\n      \"n\": \"element %d\"\n    }%s\n", i,
		        i < 19999 ? "," : ""));
	assert_ok(fm_buf_puts(&text, "  ]\n}\n"));
	assert_ok(fm_fs_write(home.fd, "f.json", text.data, text.len, 0644));
	assert_ok(fm_fs_open(home.fd, "f.json", 4u << 20, &d.fd));
	assert_ok(read_long(&d, &s));
	assert_int_equal(s.count, 20000);
	close(d.fd);
	assert_fails(FM_ERR_SIZE, "f.json", fm_fs_open(home.fd, "f.json", 1000, &d.fd));
	assert_int_equal(d.fd, -1);
	text.data[text.len / 2] = '\x01';
	assert_ok(fm_fs_write(home.fd, "f.json", text.data, text.len, 0644));
	assert_ok(fm_fs_open(home.fd, "f.json", 4u << 20, &d.fd));
	assert_fails(FM_ERR_FORM, "f.json, line 30417: line 3", read_long(&d, &s));
	close(d.fd);
	fm_buf_free(&text);
	scratch_close(&home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(the_same_is_accepted),
	        cmocka_unit_test(elements_and_their_places),
	        cmocka_unit_test(a_long_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
