/* test_tree.c: what the merge writes into tree.json, and what its reader and the range search do.
 */
#include "orchestrator/range.h"
#include "orchestrator/tree.h"
#include "tests/attack/world.h"
#include "tests/unit/scratch.h"

static struct scratch home;

static int setup(void **state)
{
	(void)state;
	scratch_open(&home);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_close(&home);
	return 0;
}

static const struct fm_tree_job *job(const struct fm_tree *t, size_t i, const char *system,
        const char *candidate, int attempt, const char *status)
{
	const struct fm_tree_job *j = &t->jobs[i];

	assert_true(i < t->job_count);
	assert_string_equal(j->system, system);
	assert_string_equal(j->candidate, candidate);
	assert_int_equal(j->attempt, attempt);
	assert_string_equal(j->status, status);
	return j;
}

static void cell(const struct fm_tree *t, const char *name, const char *status, const char *klass)
{
	for (size_t i = 0; i < t->cell_count; i++)
		if (strcmp(t->cells[i].cell, name) == 0) {
			assert_string_equal(t->cells[i].status, status);
			assert_string_equal(t->cells[i].klass, klass);
			return;
		}
	fail_msg("no cell %s", name);
}

/* Dispatches sorted by system, candidate, attempt, whatever order they were made in. */
static void order(const struct fm_tree *t)
{
	const struct fm_tree_job *j;

	assert_int_equal(t->job_count, 8);
	j = job(t, 0, "arm_1", "tiny-1", 1, "failed");
	assert_string_equal(j->reason, "dropped");
	assert_string_equal(j->received_at, "");
	assert_string_equal(j->manifest_sha256, "");
	job(t, 1, "arm_1", "tiny-1", 2, "failed");
	j = job(t, 2, "arm_1", "tiny-1", 3, "accepted");
	assert_string_equal(j->klass, "");
	assert_string_equal(j->host_key, "local");
	assert_int_equal(strlen(j->manifest_sha256), 64);
	j = job(t, 3, "arm_1", "tiny-2", 1, "failed");
	job(t, 4, "x86_1", "tiny-1", 1, "accepted");
	job(t, 5, "x86_1", "tiny-2", 1, "accepted");
	j = job(t, 6, "x86_2", "tiny-1", 0, "missing");
	assert_string_equal(j->klass, "transport");
	assert_string_equal(j->reason, "connect");
	assert_string_equal(j->job_nonce, "");
	assert_string_equal(j->issued_at, "");
	job(t, 7, "x86_2", "tiny-2", 0, "missing");
}

static void cells(const struct fm_tree *t)
{
	assert_int_equal(t->cell_count, 12);
	for (size_t i = 1; i < t->cell_count; i++)
		assert_true(strcmp(t->cells[i - 1].cell, t->cells[i].cell) < 0);
	cell(t, "arm_1/tiny-1/Tiny-1-001/performance/hash_32", "accepted", "");
	cell(t, "arm_1/tiny-2/Tiny-2-001/reference/hash_32", "missing", "transport");
	cell(t, "x86_1/tiny-1/Tiny-1-001/reference/hash_32", "failed", "kat");
	cell(t, "x86_1/tiny-2/Tiny-2-001/reference/hash_32", "missing", "measure");
	cell(t, "x86_2/tiny-2/Tiny-2-001/reference/hash_32", "missing", "transport");
}

static void merge(void **state)
{
	const struct world_size size = {3, 2, 1, 1, "guide"};
	struct fm_tree t;
	struct world *w;
	char first[65], second[65];

	(void)state;
	assert_ok(world_open(home.path, &size, &w)); /* x86_1, arm_1, x86_2 */
	assert_ok(world_silent(w, 2));
	assert_ok(world_answer(w, 0, 1, WORLD_CELL_MISSING));
	assert_ok(world_fail(w, 1, 0));
	assert_ok(world_fail(w, 1, 0));
	assert_ok(world_fail(w, 1, 1));
	assert_ok(world_answer(w, 1, 0, WORLD_GOOD));
	assert_ok(world_answer(w, 0, 0, WORLD_KAT_FAILED));
	assert_ok(world_seal(w, false, first));
	assert_ok(fm_tree_read(world_tree(w), &t));
	order(&t);
	cells(&t);
	assert_int_equal(t.publish, 1);
	assert_int_equal(t.sequence, 1);
	assert_int_equal(t.trust_version, 4);
	assert_string_equal(t.previous_tree_sha256, "");
	fm_tree_free(&t);

	/* a campaign that goes on is sealed again, and names the tree before */
	assert_ok(world_answer(w, 1, 1, WORLD_GOOD));
	assert_ok(world_seal(w, false, second));
	assert_string_not_equal(first, second);
	assert_ok(fm_tree_read(world_tree(w), &t));
	assert_int_equal(t.sequence, 2);
	assert_string_equal(t.previous_tree_sha256, first);
	job(&t, 4, "arm_1", "tiny-2", 2, "accepted");
	cell(&t, "arm_1/tiny-2/Tiny-2-001/reference/hash_32", "accepted", "");
	fm_tree_free(&t);
	world_close(w);
}

/* A second dispatch before the first is over: the first is worth nothing any more. */
static void superseded(void **state)
{
	const struct world_size size = {1, 1, 1, 1, "smoke"};
	struct fm_tree t;
	struct world *w;
	char sha256[65];

	(void)state;
	assert_ok(world_open(home.path, &size, &w));
	assert_ok(world_leave(w, 0, 0));
	assert_ok(world_answer(w, 0, 0, WORLD_GOOD));
	assert_ok(world_seal(w, false, sha256));
	/* merged before that seal, so its place in the chain is taken: nothing is sealed twice */
	assert_fails(FM_ERR_BUSY, "another tree was sealed", world_seal_late(w, sha256));
	assert_ok(fm_tree_read(world_tree(w), &t));
	assert_int_equal(t.job_count, 2);
	assert_string_equal(job(&t, 0, "x86_1", "tiny-1", 1, "missing")->reason, "superseded");
	job(&t, 1, "x86_1", "tiny-1", 2, "accepted");
	fm_tree_free(&t);
	world_close(w);
}

/* The bundle on disk is not the one that was accepted: nothing is merged. */
static void other_cells(void **state)
{
	const struct world_size size = {1, 1, 1, 1, "smoke"};
	struct fm_buf text = FM_BUF_INIT(0);
	struct world *w;
	char sha256[65];

	(void)state;
	assert_ok(world_open(home.path, &size, &w));
	assert_ok(world_answer(w, 0, 0, WORLD_GOOD));
	assert_ok(fm_fs_read(world_tree(w), "bundles/x86_1/tiny-1/evidence.json", 1 << 20, &text));
	memcpy(strstr(text.data, "\"operation\": \"hash_32\"") + 19, "64", 2);
	assert_ok(fm_fs_write(
	        world_tree(w), "bundles/x86_1/tiny-1/evidence.json", text.data, text.len, 0644));
	assert_fails(FM_ERR_SAMPLES, "not the planned ones", world_seal(w, false, sha256));
	fm_buf_free(&text);
	world_close(w);
}

#define JOB                                                                                   \
	"    {\n      \"attempt\": 0,\n      \"candidate\": \"c\",\n      \"class\": \"\",\n" \
	"      \"host_key\": \"\",\n      \"issued_at\": \"\",\n      \"job_nonce\": \"\",\n" \
	"      \"manifest_sha256\": \"\",\n      \"reason\": \"\",\n      \"received_at\": "  \
	"\"\",\n"                                                                             \
	"      \"status\": \"%s\",\n      \"system\": \"s\",\n      \"text\": \"\"\n    }"
#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TREE                                                                              \
	"{\n  \"campaign\": \"x\",\n  \"cells\": [],\n  \"jobs\": [\n" JOB                \
	"\n  ],\n  \"plan_sha256\": \"" HEX "\",\n  \"previous_tree_sha256\": \"\",\n"    \
	"  \"publish\": %s,\n  \"schema\": \"tree/1\",\n"                                 \
	"  \"sealed_at\": \"2026-01-02T03:04:05Z\",\n  \"sequence\": 9007199254740991,\n" \
	"  \"trust_version\": 1%s\n}\n"

static void put_tree(const char *status, const char *publish, const char *more)
{
	struct fm_buf text = FM_BUF_INIT(1 << 20);

	assert_ok(fm_buf_printf(&text, TREE, status, publish, more));
	assert_ok(fm_fs_write(home.fd, "tree.json", text.data, text.len, 0644));
	fm_buf_free(&text);
}

static void strict(void **state)
{
	struct fm_tree t;

	(void)state;
	put_tree("accepted", "1", "");
	assert_ok(fm_tree_read(home.fd, &t));
	assert_int_equal(t.sequence, 9007199254740991);
	assert_int_equal(t.job_count, 1);
	fm_tree_free(&t);
	put_tree("Accepted", "1", "");
	assert_fails(FM_ERR_FORM, "status", fm_tree_read(home.fd, &t));
	put_tree("accepted", "\"1\"", "");
	assert_fails(FM_ERR_FORM, "publish", fm_tree_read(home.fd, &t));
	put_tree("accepted", "1", ",\n  \"zone\": \"x\"");
	assert_fails(FM_ERR_FORM, "zone", fm_tree_read(home.fd, &t));
	put_tree("accepted", "1", ",\n  \"trust_version_why\": \"x\"");
	assert_fails(FM_ERR_FORM, "trust_version_why", fm_tree_read(home.fd, &t));
	assert_ok(fm_fs_remove(home.fd, "tree.json"));
	assert_int_not_equal(fm_tree_read(home.fd, &t), FM_OK);
	assert_null(t.owner);
}

static void ranges(void **state)
{
	static const char *const names[] = {"a/1", "a/2", "ab/1", "b/1", "b/2", "b/3"};
	struct fm_range r;

	(void)state;
	r = fm_range_find(names, 6, sizeof *names, 0, "a/");
	assert_int_equal(r.first, 0);
	assert_int_equal(r.end, 2);
	r = fm_range_find(names, 6, sizeof *names, 0, "b/");
	assert_int_equal(r.first, 3);
	assert_int_equal(r.end, 6);
	r = fm_range_find(names, 6, sizeof *names, 0, "aa/");
	assert_int_equal(r.first, r.end);
	r = fm_range_find(names, 6, sizeof *names, 0, "c");
	assert_int_equal(r.first, 6);
	assert_int_equal(r.end, 6);
	r = fm_range_find(names, 6, sizeof *names, 0, "");
	assert_int_equal(r.end - r.first, 6);
	r = fm_range_find(NULL, 0, sizeof *names, 0, "a");
	assert_int_equal(r.end, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(merge, setup, teardown),
	        cmocka_unit_test_setup_teardown(superseded, setup, teardown),
	        cmocka_unit_test_setup_teardown(other_cells, setup, teardown),
	        cmocka_unit_test_setup_teardown(strict, setup, teardown), cmocka_unit_test(ranges)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
