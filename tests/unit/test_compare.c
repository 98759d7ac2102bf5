/* test_compare.c: trees against each other: ratios and their intervals, unlike labels kept apart,
 * failed cells named, exit codes. */
#include "orchestrator/compare.h"
#include "tests/unit/scratch.h"

#include "tests/unit/faketree.h"
#include <fcntl.h>
#include <math.h>

enum { PLAIN, AGAIN, SLOWER, TICKS, SMOKE, TREES };
static char folder[TREES][32];

static int make(void **state)
{
	const struct fake how[TREES] = {[PLAIN] = {.processes = 5, .about = ""},
	        [AGAIN] = {.processes = 5, .about = ""},
	        [SLOWER] = {.processes = 6, .about = "", .permille = 200},
	        [TICKS] = {.processes = 5, .about = "", .ticks = true},
	        [SMOKE] = {.processes = 2, .about = "", .smoke = true}};

	(void)state;
	for (int i = 0; i < TREES; i++) {
		struct fake f;
		int fd;
		snprintf(folder[i], sizeof folder[i], "/tmp/fm-compare-XXXXXX");
		if (mkdtemp(folder[i]) == NULL ||
		        (fd = open(folder[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
			return -1;
		fake_tree_as(&f, fd, &how[i]);
		fake_free(&f);
		close(fd);
	}
	return 0;
}

static int drop(void **state)
{
	(void)state;
	for (int i = 0; i < TREES; i++)
		if (fm_fs_remove(AT_FDCWD, folder[i]) != FM_OK)
			return -1;
	return 0;
}

/* A comparison of two trees (b < 0: the systems of one), finished. */
static void compare(struct fm_compare *c, int a, int b, const char *systems)
{
	memset(c, 0, sizeof *c);
	c->systems = systems;
	c->base_version = "reference";
	MUST(fm_input_open(folder[a], NULL, &c->input[c->input_count++]));
	if (b >= 0)
		MUST(fm_input_open(folder[b], NULL, &c->input[c->input_count++]));
	MUST(fm_compare_pairs(c, NULL));
	MUST(fm_compare_cells(c));
	fm_compare_finish(c);
}

static const struct fm_compare_row *row(
        const struct fm_compare *c, const char *system, const char *label, int64_t bytes)
{
	for (size_t i = 0; i < c->row_count; i++)
		if (strcmp(c->pairs[c->rows[i].pair].name[0], system) == 0 &&
		        strcmp(c->rows[i].label[0], label) == 0 && c->rows[i].bytes == bytes)
			return &c->rows[i];
	fail_msg("no row %s %s %lld", system, label, (long long)bytes);
	return NULL;
}

static int status_of(int a, int b, const char *systems, const char *words)
{
	char *operands[] = {folder[a], b >= 0 ? folder[b] : NULL};
	const struct fm_options o = {
	        .argc = b >= 0 ? 2 : 1, .argv = operands, .limit = systems, .quiet = true};
	int status = 0, rc = fm_cmd_compare(&o, &status);

	if (rc == FM_OK)
		return status;
	if (words != NULL)
		assert_non_null(strstr(fm_error_text(), words));
	return fm_error_status(rc);
}

/* Upper points of Student's t as tables print them. */
static void t_points(void **state)
{
	(void)state;
	for (size_t df = 1; df <= 30; df++)
		assert_true(fabs(fm_t_upper(0.025, df) / fm_t975(df) - 1) < 3e-5);
	assert_true(fabs(fm_t_upper(0.005, 4) - 4.604095) < 1e-5);
	assert_true(fabs(fm_t_upper(0.0005, 4) - 8.610302) < 1e-5);
	assert_true(fabs(fm_t_upper(0.0005, 9) - 4.780913) < 1e-5);
	assert_true(fabs(fm_t_upper(0.0001, 1) - 3183.0988) < 1e-3);
	assert_true(fabs(fm_t_upper(0.025, 1000000) - 1.959966) < 1e-4);
	assert_true(isnan(fm_t_upper(0.5, 4)) && isnan(fm_t_upper(1e-10, 4)));
	assert_true(isnan(fm_t_upper(0.025, 0)));
}

static void equal_trees(void **state)
{
	struct fm_compare c;

	(void)state;
	compare(&c, PLAIN, AGAIN, NULL);
	assert_int_equal(c.pair_count, 2);
	assert_int_equal(c.row_count, 18);
	assert_int_equal(c.intervals, 18); /* x86_1: cycles and time of nine cells; arm_1: none */
	assert_int_equal(c.count[FM_VERDICT_LESS] + c.count[FM_VERDICT_MORE], 0);
	assert_int_equal(c.count[FM_VERDICT_UNLIKE], 8); /* arm_1 is emulated */
	assert_int_equal(c.count[FM_VERDICT_INCOMPLETE], 1);
	assert_int_equal(c.unlike, 0);
	const struct fm_compare_row *r = row(&c, "x86_1", "Toy-512", 32);
	assert_true(r->cycles.ratio.r == 1);
	assert_int_equal(r->verdict, FM_VERDICT_SAME);
	assert_string_equal(row(&c, "arm_1", "Toy-512", 32)->why, "not comparable: emulated");
	assert_string_equal(row(&c, "arm_1", "Toy-1024", 65536)->why, "failed in A: measure");
	assert_string_equal(row(&c, "x86_1", "Toy-512", 1024)->flags,
	        "A: outlier 1 of 5; mean \xe2\x89\xa0 "
	        "median; preempted; B: outlier 1 of 5; "
	        "mean \xe2\x89\xa0 median; preempted");
	fm_compare_free(&c);
	assert_int_equal(status_of(PLAIN, AGAIN, NULL, NULL), 0);
}

static void slower_one(void **state)
{
	struct fm_compare c;

	(void)state;
	compare(&c, PLAIN, SLOWER, "x86_1");
	assert_int_equal(c.pair_count, 1);
	const struct fm_compare_row *r = row(&c, "x86_1", "Toy-512", 65536);
	assert_int_equal(r->verdict, FM_VERDICT_MORE);
	assert_true(r->cycles.ratio.low > 1.1 && r->cycles.ratio.high < 1.3);
	assert_int_equal(r->cycles.n[0], 5);
	assert_int_equal(r->cycles.n[1], 6);
	/* wider than the interval of one row alone, by the t of Bonferroni */
	const struct fm_compare_value *v = &r->cycles;
	struct fm_ratio alone = fm_fieller(v->mean[1], v->variance[1] / 6, 6, v->mean[0],
	                        v->variance[0] / 5, 5),
	                together = fm_fieller_at(fm_t_upper(0.025 / 18, 4), v->mean[1],
	                        v->variance[1] / 6, 6, v->mean[0], v->variance[0] / 5, 5);
	assert_true(v->ratio.low < alone.low && v->ratio.high > alone.high);
	assert_true(v->ratio.low == together.low && v->ratio.high == together.high);
	fm_compare_free(&c);
	/* exchanged: every ratio and interval inverts */
	compare(&c, SLOWER, PLAIN, "x86_1");
	const struct fm_compare_row *back = row(&c, "x86_1", "Toy-512", 65536);
	assert_true(fabs(back->cycles.ratio.low * together.high - 1) < 1e-9);
	assert_true(fabs(back->cycles.ratio.high * together.low - 1) < 1e-9);
	fm_compare_free(&c);
	assert_int_equal(status_of(PLAIN, SLOWER, NULL, NULL), 1);
}

/* Counts of unlike labels are never joined, their times are; one message, exit status 2. */
static void mt_03_unlike_labels(void **state)
{
	struct fm_compare c;

	(void)state;
	compare(&c, PLAIN, TICKS, "x86_1");
	assert_int_equal(c.unlike, 9);
	const struct fm_compare_row *r = row(&c, "x86_1", "Toy-1024", 1024);
	assert_string_equal(r->why, "not comparable: core_cycles / ref_ticks");
	assert_true(isnan(r->cycles.ratio.r));
	assert_true(r->seconds.ratio.r == 1);
	assert_int_equal(r->verdict, FM_VERDICT_SAME);
	fm_compare_free(&c);
	assert_int_equal(status_of(PLAIN, TICKS, "x86_1",
	                         "not comparable: core_cycles / ref_ticks (A: x86_1, B: x86_1)"),
	        2);
	/* ticks with ticks: the time alone */
	compare(&c, TICKS, TICKS, "x86_1");
	assert_int_equal(c.unlike, 0);
	assert_true(isnan(row(&c, "x86_1", "Toy-512", 32)->cycles.ratio.r));
	assert_int_equal(c.count[FM_VERDICT_SAME], 9);
	fm_compare_free(&c);
	/* the systems of one tree: a real one and an emulated one */
	assert_int_equal(status_of(PLAIN, -1, NULL, "core_cycles / emulated"), 2);
}

static void smoke_decides_nothing(void **state)
{
	struct fm_compare c;

	(void)state;
	compare(&c, SMOKE, PLAIN, "x86_1");
	assert_int_equal(c.intervals, 0);
	assert_int_equal(c.count[FM_VERDICT_OPEN], 9);
	assert_true(isfinite(row(&c, "x86_1", "Toy-512", 32)->cycles.ratio.r));
	fm_compare_free(&c);
	assert_int_equal(status_of(SMOKE, PLAIN, "x86_1", NULL), 3);
}

static void wrong_usage(void **state)
{
	struct fm_input in;

	(void)state;
	assert_fails(FM_ERR_USAGE, "neither a tree", fm_input_open("/tmp", NULL, &in));
	fm_input_close(&in);
	assert_fails(FM_ERR_USAGE, "compare", fm_input_open("/nowhere", NULL, &in));
	fm_input_close(&in);
	assert_int_equal(status_of(PLAIN, AGAIN, "mips_*", "no system stands in both"), 2);
	assert_true(fm_glob_list("hash-3*,iccs", "hash-31"));
	assert_false(fm_glob_list("hash-3*,iccs", "hash-29"));
	assert_true(fm_glob_list(NULL, "x"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(t_points),
	        cmocka_unit_test(equal_trees),
	        cmocka_unit_test(slower_one),
	        cmocka_unit_test(mt_03_unlike_labels),
	        cmocka_unit_test(smoke_decides_nothing),
	        cmocka_unit_test(wrong_usage),
	};
	choose_tests(argc, argv);
	return cmocka_run_group_tests(tests, make, drop);
}
