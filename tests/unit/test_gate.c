/* test_gate.c: limits that come from measured times, orders of the gate for every --kat, and
 * results that are not the worker's own. */
#include "agent/gate_judge.h"
#include "agent/gate_order.h"
#include "agent/worker/order.h"
#include "tests/unit/scratch.h"

#define HEX "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char *lines[] = {HEX " strict KAT_2_12_A-512.txt", HEX " strict KAT_2_23_A-512.txt",
        HEX " vectors:7 vectors.txt"};

/* One candidate with one unit; the agent's folder is /w. */
static struct fm_agent agent;
static struct fm_job job;
static struct fm_jp_candidate candidate;
static struct fm_jp_instance instance;
static struct fm_jp_version version;
static struct fm_candidate_work work;
static struct fm_unit unit;
static char library[] = "/w/lib.so", path[] = "/w";

static int reset(void **state)
{
	(void)state;
	memset(&agent, 0, sizeof agent);
	memset(&job, 0, sizeof job);
	memset(&unit, 0, sizeof unit);
	memset(&work, 0, sizeof work);
	agent.path = path;
	job.agent = &agent;
	job.mandate.plan.kat = "standard";
	job.mandate.plan.profile = "guide";
	snprintf(job.mandate.plan.campaign, sizeof job.mandate.plan.campaign, "c");
	candidate.candidate = "hash-00";
	candidate.vectors_file = "vectors/hash-00.txt";
	instance = (struct fm_jp_instance){.instance = "A-512",
	        .digest = "fixed",
	        .kat_name = "A-512",
	        .digest_bits = 512,
	        .kat_lines = {lines, 3}};
	version.version = "reference";
	work.plan = &candidate;
	unit.instance = &instance;
	unit.version = &version;
	unit.library = library;
	snprintf(unit.library_sha256, sizeof unit.library_sha256, "%s", HEX);
	unit.pace_one_ns = unit.pace_long_ns = -1;
	return 0;
}

static void limits(void **state)
{
	unsigned floor;

	(void)state;
	floor = fm_gate_seconds(&job, &unit, 4097, 1000000);
	assert_in_range(floor, 1, 60);
	/* 1 ms a call and 1 us a byte: 1000 s for a million calls over no bytes, cut at the most */
	unit.pace_one_ns = 1000000;
	unit.pace_long_ns = 1000000 + 4096 * 1000;
	assert_int_equal(fm_gate_seconds(&job, &unit, 1000, 0), floor + 20);
	assert_int_equal(fm_gate_seconds(&job, &unit, 0, 1000000), floor + 20);
	assert_int_equal(fm_gate_seconds(&job, &unit, 1000000, 0), 900);
	job.mandate.plan.kat = "full";
	assert_int_equal(fm_gate_seconds(&job, &unit, 100000, 0), floor + 2000);
	job.emulated = true;
	assert_in_range(fm_gate_seconds(&job, &unit, 0, 0), floor + 1, 10 * floor);
	/* a claim to be faster for longer messages buys nothing and breaks nothing */
	unit.pace_long_ns = 1;
	assert_true(fm_gate_seconds(&job, &unit, 1, 1u << 30) > 0);
}

/* The order's text for this --kat and profile; freed by the caller. */
static char *order(const char *kat, const char *profile, uint64_t *limit_ms)
{
	const struct fm_gate_task task = {FM_GATE_KAT, &work, &unit, NULL};
	struct fm_buf text = FM_BUF_INIT(1u << 16);
	struct fm_order parsed;
	char *copy;

	job.mandate.plan.kat = kat;
	job.mandate.plan.profile = profile;
	assert_ok(fm_gate_order(&job, &task, 0, &text, limit_ms));
	/* what the agent writes is what the worker reads */
	assert_ok(fm_order_parse(&parsed, text.data, text.len));
	assert_int_equal(parsed.kat_count, instance.kat_lines.count);
	assert_string_equal(parsed.token, unit.kat_token);
	assert_int_equal(strlen(parsed.token), 16);
	fm_order_free(&parsed);
	copy = fm_strdup(text.data);
	assert_non_null(copy);
	fm_buf_free(&text);
	return copy;
}

static void orders(void **state)
{
	uint64_t standard, loop, full;
	char *text = order("standard", "guide", &standard);

	(void)state;
	assert_null(strstr(text, "kat_generate"));
	assert_null(strstr(text, "message_file"));
	assert_null(strstr(text, "KAT_Loop"));
	free(text);
	text = order("loop", "guide", &loop);
	assert_non_null(strstr(text, "kat_generate KAT_Loop_A-512.txt\n"));
	assert_null(strstr(text, "KAT_2_33"));
	free(text);
	text = order("standard", "rigorous", &full);
	assert_non_null(strstr(text, "kat_generate KAT_Loop_A-512.txt\n"));
	assert_int_equal(full, loop);
	free(text);
	text = order("full", "smoke", &full);
	assert_non_null(strstr(text, "kat_generate KAT_2_33_A-512.txt\n"));
	assert_non_null(strstr(text, "kat_generate KAT_Loop_A-512.txt\n"));
	assert_non_null(strstr(text, "message_file /w/" FM_GATE_MESSAGE "\n"));
	assert_true(standard < loop && loop < full);
	free(text);
	/* no reference at all: the profile's own files are made */
	instance.kat_lines.count = 0;
	text = order("loop", "guide", &loop);
	assert_non_null(strstr(text, "kat_generate KAT_2_12_A-512.txt\n"));
	assert_non_null(strstr(text, "kat_generate KAT_Loop_A-512.txt\n"));
	free(text);
}

static const char *judged(const char *results)
{
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	struct fm_run run;

	child.results = FM_BUF_INIT(4096);
	assert_ok(fm_buf_puts(&child.results, results));
	assert_ok(fm_run_read(&child, &run));
	unit.kat_missing = false;
	unit.kat_word = NULL;
	fm_gate_judge(&unit, &child, &run);
	fm_run_free(&run);
	fm_child_free(&child);
	return unit.kat_status;
}

static void tokens(void **state)
{
	(void)state;
	snprintf(unit.kat_token, sizeof unit.kat_token, "0123456789abcdef");
	assert_string_equal(judged("fact token 0123456789abcdef\nstatus PASS\nend ok\n"), "PASS");
	assert_string_equal(judged("status PASS\nend ok\n"), "CRASH");
	assert_non_null(strstr(unit.kat_reason, "not the worker's own"));
	assert_string_equal(judged("fact token 0000000000000000\nstatus PASS\nend ok\n"), "CRASH");
	assert_string_equal(judged("status OVERFLOW\nend fail signal\n"), "OVERFLOW");
	assert_string_equal(judged("fact reason little\nend fail memory\n"), "LOADFAIL");
	assert_true(unit.kat_missing);
	assert_string_equal(unit.kat_word, "memory");
	assert_string_equal(judged("end fail pin\n"), "LOADFAIL");
	assert_null(unit.kat_word);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup(limits, reset),
	        cmocka_unit_test_setup(orders, reset), cmocka_unit_test_setup(tokens, reset)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
