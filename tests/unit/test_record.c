/* test_record.c: published timing records read, recomputed and written again byte for byte; what a
 * reader must refuse. */
#include "orchestrator/jsonr.h"
#include "orchestrator/record.h"
#include "tests/unit/scratch.h"
#include <math.h>

#define DATA FM_TEST_ROOT "/tests/data/published/data"
#define GOOD DATA "/arm_1/records/hash-31/ZC-DMC-1280-512__hash_32.json"

static size_t records, statistics;

static int one_file(void *arg, const char *path, const struct stat *st)
{
	int dirfd = *(int *)arg;
	struct fm_buf in, out = FM_BUF_INIT(FM_RECORD_MAX);
	struct fm_record r;

	if (!S_ISREG(st->st_mode) || strstr(path, "/records/") == NULL)
		return FM_OK;
	assert_int_equal(fm_fs_read(dirfd, path, FM_RECORD_MAX, &in), FM_OK);
	if (fm_record_read(path, in.data, in.len, &r) != FM_OK)
		fail_msg("%s", fm_error_text());
	assert_int_equal(fm_record_write(&r, NULL, NULL, &out), FM_OK);
	assert_int_equal(in.len, out.len);
	assert_memory_equal(in.data, out.data, in.len);
	records++;
	statistics += 12; /* fm_record_read compares this many with the trials, bit for bit */
	fm_record_free(&r);
	fm_buf_free(&in);
	fm_buf_free(&out);
	return FM_OK;
}

static void all_published(void **state)
{
	int fd = open(DATA, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fm_fs_walk(fd, 1000, one_file, &fd), FM_OK);
	close(fd);
	assert_int_equal(records, 23);
	assert_int_equal(statistics, 276);
}

/* The good record with one text replaced; returns what the reader says. */
static int changed(const char *from, const char *to, char *text, size_t size)
{
	struct fm_buf in, out = FM_BUF_INIT(FM_RECORD_MAX);
	struct fm_record r;
	char *at;
	int rc;

	assert_int_equal(fm_fs_read(AT_FDCWD, GOOD, FM_RECORD_MAX, &in), FM_OK);
	at = strstr(in.data, from);
	assert_non_null(at);
	assert_int_equal(fm_buf_put(&out, in.data, (size_t)(at - in.data)), FM_OK);
	assert_int_equal(fm_buf_puts(&out, to), FM_OK);
	assert_int_equal(fm_buf_puts(&out, at + strlen(from)), FM_OK);
	rc = fm_record_read("r.json", out.data, out.len, &r);
	snprintf(text, size, "%s", rc == FM_OK ? "" : fm_error_text());
	if (rc == FM_OK)
		fm_record_free(&r);
	fm_buf_free(&in);
	fm_buf_free(&out);
	return rc;
}

static void bad_records(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} bad[] = {
	        {"\"schema\": 2", "\"schema\": 3", "schema"},
	        {"\"complete\"", "\"done\"", "status"},
	        {"\"label\": \"ZC-DMC-1280-512\",", "", "label"},
	        {"\"mean_cycles\": 3302.82892", "\"mean_cycles\": 3302.82893", "mean_cycles"},
	        {"\"mean_seconds\": 1.2272177100000002e-06", "\"mean_seconds\": 1.22721771e-06",
	                "mean_seconds"},
	        {"\"mean_cycles\": 3302.82892", "\"mean_cycles\": null", "mean_cycles"},
	        {"\"trials\": 5,", "\"trials\": 4,", "plan.trials"},
	        {"\"cycles\": 66102869", "\"cycles\": 66102868", "trials"},
	        {"\"seconds\": 0.024554583", "\"seconds\": NaN", "r.json"},
	        {"\"cycles\": 66102869", "\"cycles\": 9007199254740993", "cycles"},
	        {"\"measurements\": 100000", "\"measurements\": 100001", "measurements"},
	        {"\"peak_rss_bytes\": 1499136", "\"peak_rss_bytes\": 1499137", "peak_rss_bytes"},
	        {"\"kex\": {}", "\"kex\": {\"a\": 1}", "kex"},
	        {"\"candidate\"", "\"candidates\"", "candidates"},
	        {"\"hostname\": \"vivo\"", "\"hostnames\": \"vivo\"", "hostnames"},
	        {"\"schema\": 2", "\"schema\": 2, \"schema\": 2", "schema"},
	};
	char text[1200];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_not_equal(changed(bad[i].from, bad[i].to, text, sizeof text), FM_OK);
		if (strstr(text, bad[i].says) == NULL || strstr(text, "r.json") == NULL)
			fail_msg("case %zu: %s", i, text);
	}
	assert_int_equal(changed("\"vivo\"", "\"v\\u0069vo\"", text, sizeof text), FM_OK);
}

static void failed_record_has_a_head(void **state)
{
	static const char text[] =
	        "{\"schema\": 2, \"status\": \"failed_or_partial\", \"candidate\": \"c\", "
	        "\"label\": \"l\","
	        "\"instance\": \"l\", \"variant\": \"reference\", \"flags\": \"guide\","
	        "\"operation\": \"hash\", \"input_bytes\": 32}";
	struct fm_record r;
	char key[64];

	(void)state;
	assert_int_equal(fm_record_read("f.json", text, strlen(text), &r), FM_OK);
	assert_false(r.complete);
	assert_string_equal(fm_record_key(&r, key), "hash_32");
	fm_record_free(&r);
}

static void no_cycles_and_empty(void **state)
{
	struct fm_trial t[2] = {{100, 1e-3, 0}, {300, 2e-3, 500}};
	struct fm_record r = {.trials = t, .trial_count = 2, .input_bytes = 32};

	(void)state;
	assert_int_equal(fm_record_statistics(&r, false), FM_OK);
	assert_true(isnan(r.mean_cycles) && isnan(r.median_trial_cycles));
	assert_true(r.measurements == 400 && r.mean_seconds == 3e-3 / 400);
	r.trial_count = 0;
	assert_int_equal(fm_record_statistics(&r, false), FM_ERR_FORM);
	r.trial_count = 1;
	t[0].measurements = 0;
	assert_int_equal(fm_record_statistics(&r, false), FM_ERR_FORM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(all_published),
	        cmocka_unit_test(bad_records),
	        cmocka_unit_test(failed_record_has_a_head),
	        cmocka_unit_test(no_cycles_and_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
