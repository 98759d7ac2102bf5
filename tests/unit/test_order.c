/* test_order.c: orders of every task, and everything a wrong one is refused for. */
#include "agent/worker/order.h"
#include "tests/unit/scratch.h"

#define HEX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define LIBRARY                                \
	"library /x/y.so\nlibrary_sha256 " HEX \
	"\ncandidate hash-31\ninstance A-512\ndigest_bits 512\ncpu -1\n"
#define ORDER(task, rest) "fleetmark-order 1\ntask " task "\n" rest "end\n"
#define TIME_TAIL                                                            \
	"calls 20\nwindows 200\nmin_ns 0\nwarm 1\ndigest_sha256 none\nseed " \
	"0123456789abcdef\ncounter auto\n"

static int parse(struct fm_order *o, const char *text)
{
	return fm_order_parse(o, text, strlen(text));
}

static void good(void **state)
{
	struct fm_order o;

	(void)state;
	assert_ok(parse(&o, ORDER("selftest", "")));
	assert_int_equal(o.task, FM_TASK_SELFTEST);
	fm_order_free(&o);
	assert_ok(parse(&o, ORDER("counters", "cpu 3\n")));
	assert_int_equal(o.cpu, 3);
	fm_order_free(&o);
	assert_ok(parse(&o,
	        ORDER("kat", LIBRARY "kat_name A-512\nkat_line " HEX
	                             " strict KAT_2_12_A-512.txt\nkat_line " HEX
	                             " vectors:12 vectors.txt\nvectors_file /v\nseconds 60\n")));
	assert_int_equal(o.kat_count, 2);
	assert_string_equal(o.kat[0].file, "KAT_2_12_A-512.txt");
	assert_int_equal(o.kat[0].vectors, 0);
	assert_int_equal(o.kat[1].vectors, 12);
	assert_string_equal(o.vectors_file, "/v");
	assert_null(o.message_file);
	assert_int_equal(o.seconds, 60);
	assert_int_equal(o.generate_count, 0);
	assert_string_equal(o.token, "");
	fm_order_free(&o);
	assert_ok(parse(
	        &o, ORDER("kat", LIBRARY
	                    "kat_name A-512\nkat_generate KAT_Loop_A-512.txt\nmessage_file /m\n"
	                    "seconds 60\nfile_seconds KAT_Loop 5\nfile_seconds KAT_2_33 1000000\n"
	                    "token 0123456789abcdef\n")));
	assert_int_equal(o.generate_count, 1);
	assert_string_equal(o.generate[0], "KAT_Loop_A-512.txt");
	assert_int_equal(o.limit_count, 2);
	assert_string_equal(o.limits[0].tag, "KAT_Loop");
	assert_int_equal(o.limits[1].seconds, 1000000);
	assert_string_equal(o.token, "0123456789abcdef");
	fm_order_free(&o);
	assert_ok(parse(&o, ORDER("sound", LIBRARY "digest any\nseconds 9\n")));
	assert_int_equal(o.task, FM_TASK_SOUND);
	assert_true(o.any);
	assert_int_equal(o.seconds, 9);
	fm_order_free(&o);
	assert_ok(parse(&o, ORDER("digest", LIBRARY "bytes 32\nbytes 65536\n")));
	assert_int_equal(o.bytes_count, 2);
	assert_int_equal(o.bytes[1], 65536);
	fm_order_free(&o);
	assert_ok(parse(&o, ORDER("time", LIBRARY "bytes 32\n" TIME_TAIL)));
	assert_int_equal(o.seed, 0x0123456789abcdef);
	assert_int_equal(o.windows, 200);
	assert_true(o.warm);
	assert_string_equal(o.digest_sha256, "");
	assert_string_equal(o.counter, "auto");
	fm_order_free(&o);
}

static void bad(void **state)
{
	static const struct {
		const char *words, *text;
	} cases[] = {
	        {"", ""},
	        {"", "fleetmark-plan 1\nend\n"},
	        {"task dance", ORDER("dance", "")},
	        {"cpu", ORDER("counters", "")},
	        {"cpu -2", ORDER("counters", "cpu -2\n")},
	        {"cpu 65536", ORDER("clock", "cpu 65536\n")},
	        {"", ORDER("counters", "cpu 1\ncpu 1\n")},
	        {"", ORDER("selftest", "color blue\n")},
	        {"absolute", ORDER("memory", "library y.so\nlibrary_sha256 " HEX "\n")},
	        {"digest_bits 7", ORDER("memory", "library /y\nlibrary_sha256 " HEX
	                                          "\ncandidate a\ninstance b\ndigest_bits 7\n")},
	        {"", ORDER("memory", "library /y\nlibrary_sha256 " HEX "\ncandidate a/b\n")},
	        {"", ORDER("memory", LIBRARY "bytes 32\nbytes 64\n")},
	        {"bytes 0", ORDER("memory", LIBRARY "bytes 0\n")},
	        {"bytes", ORDER("digest", LIBRARY "bytes 32\nbytes 0\n")},
	        {"bytes", ORDER("digest", LIBRARY "bytes 16777217\n")},
	        {"kat_line must be",
	                ORDER("kat", LIBRARY "kat_name A\nkat_line strict x\nseconds 1\n")},
	        {"kat_line must be", ORDER("kat", LIBRARY "kat_name A\nkat_line " HEX
	                                                  " strict ../x\nseconds 1\n")},
	        {"mode must be", ORDER("kat", LIBRARY "kat_name A\nkat_line " HEX
	                                              " nolen x.txt\nseconds 1\n")},
	        {"vectors:N", ORDER("kat", LIBRARY "kat_name A\nkat_line " HEX
	                                           " vectors:0 vectors.txt\nseconds 1\n")},
	        {"needs vectors_file", ORDER("kat", LIBRARY "kat_name A\nkat_line " HEX
	                                                    " vectors:2 vectors.txt\nseconds 1\n")},
	        {"seconds 0", ORDER("kat", LIBRARY "kat_name A\nseconds 0\n")},
	        {"kat_generate must be",
	                ORDER("kat", LIBRARY "kat_name A\nkat_generate a/b\nseconds 1\n")},
	        {"file_seconds must be",
	                ORDER("kat", LIBRARY "kat_name A\nseconds 1\nfile_seconds KAT_2_12 0\n")},
	        {"file_seconds must be",
	                ORDER("kat", LIBRARY "kat_name A\nseconds 1\nfile_seconds KAT 10\n")},
	        {"token must be",
	                ORDER("kat", LIBRARY "kat_name A\nseconds 1\ntoken 0123456789ABCDEF\n")},
	        {"fixed or any", ORDER("sound", LIBRARY "digest some\nseconds 1\n")},
	        {"seconds", ORDER("sound", LIBRARY "digest any\n")},
	        {"windows", ORDER("time", LIBRARY "bytes 32\ncalls 20\nwindows 201\n")},
	        {"seed must be", ORDER("time", LIBRARY "bytes 32\ncalls 20\nwindows 2\nmin_ns "
	                                               "0\nwarm 1\ndigest_sha256 none\n"
	                                               "seed 123\ncounter auto\n")},
	        {"digest_sha256 must be",
	                ORDER("time", LIBRARY "bytes 32\ncalls 20\nwindows 2\nmin_ns 0\nwarm "
	                                      "1\ndigest_sha256 ABC\n")},
	        {"warm",
	                ORDER("time", LIBRARY "bytes 32\ncalls 20\nwindows 2\nmin_ns 0\nwarm 2\n")},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fm_order o;
		int rc = parse(&o, cases[i].text);

		if (rc == FM_OK || strstr(fm_error_text(), cases[i].words) == NULL)
			fail_msg("case %zu: %d '%s', expected '%s'", i, rc, fm_error_text(),
			        cases[i].words);
		assert_null(o.library);
	}
}

/* Cut anywhere, an order is never obeyed. */
static void cut(void **state)
{
	static const char text[] = ORDER("time", LIBRARY "bytes 32\n" TIME_TAIL);

	(void)state;
	for (size_t len = 0; len < sizeof text - 1; len++) {
		struct fm_order o;

		assert_int_not_equal(fm_order_parse(&o, text, len), FM_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(good), cmocka_unit_test(bad), cmocka_unit_test(cut)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
