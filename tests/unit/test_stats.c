/* test_stats.c: tabulated values, intervals, flags, Fieller's ratio, and the flags of the published
 * records. */
#include "orchestrator/cells.h"
#include "orchestrator/stats.h"
#include "tests/unit/scratch.h"
#include <math.h>

static void near(double have, double want, double within)
{
	if (!(fabs(have - want) <= within))
		fail_msg("%.17g, expected %.17g within %g", have, want, within);
}

static void sums(void **state)
{
	struct fm_sum s = {0, 0};

	(void)state;
	fm_sum_add(&s, 1);
	fm_sum_add(&s, 1e100);
	fm_sum_add(&s, 1);
	fm_sum_add(&s, -1e100);
	assert_true(fm_sum_take(&s) == 2);
}

static void quantiles(void **state)
{
	double x[] = {7, 1, 3, 5}, one[] = {4};

	(void)state;
	fm_sort(x, 4);
	assert_true(fm_median(x, 4) == 4 && fm_median(x, 3) == 3);
	assert_true(fm_quantile(x, 4, 0.25) == 2.5 && fm_quantile(x, 4, 0.75) == 5.5);
	assert_true(fm_quantile(x, 4, 0) == 1 && fm_quantile(x, 4, 1) == 7);
	assert_true(fm_quantile(one, 1, 0.75) == 4);
}

static void t_values(void **state)
{
	(void)state;
	near(fm_t975(1), 12.7062, 0);
	near(fm_t975(4), 2.7764, 0);
	near(fm_t975(30), 2.0423, 0);
	near(fm_t975(40), 2.0211, 0.002 * 2.0211);
	near(fm_t975(59), 2.0010, 0.002 * 2.0010);
	near(fm_t975(1000000), 1.96, 0.0001);
	assert_true(isnan(fm_t975(0)));
}

static void median_ranks(void **state)
{
	static const size_t table[][2] = {
	        {6, 1}, {9, 2}, {12, 3}, {15, 4}, {20, 6}, {30, 10}, {40, 14}, {50, 18}, {60, 22}};

	(void)state;
	for (size_t n = 0; n < 6; n++)
		assert_int_equal(fm_median_rank(n), 0);
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		assert_int_equal(fm_median_rank(table[i][0]), table[i][1]);
	assert_true(fm_median_rank(1000) > 460 && fm_median_rank(1001) < 471);
}

static void estimates(void **state)
{
	double m[] = {10, 12, 11, 13, 9, 14}, steps[] = {1, 2, 3, 4, 5, 6, 7, 8};
	struct fm_estimate e;

	(void)state;
	assert_ok(fm_estimate(m, 6, &e));
	near(e.mean, 11.5, 1e-15);
	near(e.variance, 3.5, 1e-15);
	near(e.half, 2.5706 * sqrt(3.5 / 6), 1e-12);
	assert_true(e.median == 11.5 && e.median_low == 9 && e.median_high == 14);
	assert_true(e.min == 9 && e.max == 14);
	assert_ok(fm_estimate(
	        steps, 8, &e)); /* ranks 9..24, 25..40, 41..56 of 64: values 2 3, 4 5, 6 7 */
	assert_true(e.stable[0] == 2.5 && e.stable[1] == 4.5 && e.stable[2] == 6.5);
	assert_ok(fm_estimate(m, 1, &e));
	assert_true(isnan(e.variance) && isnan(e.half) && isnan(e.median_low) && e.mean == 10 &&
	            e.stable[1] == 10);
	assert_ok(fm_estimate(m, 5, &e));
	assert_true(isnan(e.median_low) && isfinite(e.half));
	assert_fails(FM_ERR_INTERNAL, "statistics", fm_estimate(m, 0, &e));
	near(fm_between(4, 8, 4), 2, 0);
	assert_true(fm_between(1, 8, 4) == 0);
}

static void fieller(void **state)
{
	struct fm_ratio r = fm_fieller(10, 0.04, 5, 20, 0.16, 5),
	                i = fm_fieller(20, 0.16, 5, 10, 0.04, 5);
	double t = 2.7764, g = t * t * 0.16 / 400;

	(void)state;
	near(r.r, 0.5, 0);
	near(r.low, (0.5 - t / 20 * sqrt(0.04 * (1 - g) + 0.25 * 0.16)) / (1 - g), 1e-15);
	near(r.high, (0.5 + t / 20 * sqrt(0.04 * (1 - g) + 0.25 * 0.16)) / (1 - g), 1e-15);
	near(r.low * i.high, 1, 1e-12); /* exchanged, it inverts */
	near(r.high * i.low, 1, 1e-12);
	r = fm_fieller(10, 1, 5, 1, 1, 5); /* the denominator may be 0 */
	assert_true(r.r == 10 && isnan(r.low) && isnan(r.high));
	r = fm_fieller(10, NAN, 1, 20, 0.1, 5);
	assert_true(r.r == 0.5 && isnan(r.low));
	assert_true(isnan(fm_fieller(1, 0, 2, 0, 0, 2).r));
}

static void flag(const double *m, size_t n, struct fm_stat_flags *f)
{
	struct fm_estimate e;
	assert_ok(fm_estimate(m, n, &e));
	assert_ok(fm_stat_flags(m, n, &e, f));
}

static void flags(void **state)
{
	double calm[] = {100, 100.1, 99.9, 100.05, 99.95}, out[] = {100, 270, 99.9, 100.05, 99.95},
	       two[12], rise[12];
	struct fm_stat_flags f;

	(void)state;
	flag(calm, 5, &f);
	assert_true(f.outliers == 0 && !f.gap && !f.bimodal && !f.drift && isnan(f.trend_z));
	flag(out, 5, &f);
	assert_true(f.outliers == 1 && f.gap && f.far == 1);
	flag(out, 2, &f);
	assert_true(f.outliers == 0);
	for (int i = 0; i < 12; i++) {
		two[i] = (i % 4 == 0 ? 107 : 100) + 0.01 * (i * 7 % 12);
		rise[i] = 100 + 0.2 * i;
	}
	flag(two, 12, &f);
	assert_true(f.bimodal && !f.drift);
	near(f.high_share, 0.25, 0);
	near(f.low_mode, 100.05, 0.06);
	near(f.high_mode, 107.04, 0.06);
	flag(rise, 12, &f);
	assert_true(f.drift && !f.bimodal);
	near(f.trend_slope, 0.2, 1e-12);
	near(f.trend_z, 65 / sqrt(12.0 * 11 * 29 / 18), 1e-12);
	flag(rise, 9, &f);
	assert_true(!f.drift);
}

/* The published records: which carry a flag. */
struct seen {
	int fd;
	size_t records, outliers, gaps;
};

static int one_record(void *arg, const char *path, const struct stat *st)
{
	struct seen *s = arg;
	struct fm_cell_fig c = {.cpu = 0};
	struct fm_record r;
	struct fm_buf text;

	if (!S_ISREG(st->st_mode) || strstr(path, "/records/") == NULL)
		return FM_OK;
	assert_ok(fm_fs_read(s->fd, path, FM_RECORD_MAX, &text));
	assert_ok(fm_record_read(path, text.data, text.len, &r));
	assert_ok(fm_cell_from_record(&r, &c));
	s->records++;
	if (c.flags.outliers > 0) {
		s->outliers++;
		assert_true(strstr(path, "XRH-2-512__hash_16384") != NULL ||
		            strstr(path, "ZC-DMC-1280-1024__hash_8192") != NULL);
		assert_true(c.flags.gap);
	}
	if (c.flags.gap) {
		s->gaps++;
		assert_true(
		        c.flags.outliers > 0 || strstr(path, "Eijen-256__hash_128") != NULL ||
		        strstr(path, "x86_1/records/hash-31/ZC-DMC-1280-512__hash_32.") != NULL);
	}
	fm_cell_fig_free(&c);
	fm_record_free(&r);
	fm_buf_free(&text);
	return FM_OK;
}

static void published_flags(void **state)
{
	struct seen s = {-1, 0, 0, 0};

	(void)state;
	assert_ok(fm_fs_dir(AT_FDCWD, FM_TEST_ROOT "/tests/data/published/data", &s.fd));
	assert_ok(fm_fs_walk(s.fd, 1000, one_record, &s));
	close(s.fd);
	assert_int_equal(s.records, 23);
	assert_int_equal(s.outliers, 2);
	assert_int_equal(s.gaps, 4);
}

/* Ratios of cycles arm_1 / x86_1 of ZC-DMC-1280-512 as the guide prints them. */
static void published_ratios(void **state)
{
	static const struct {
		int bytes;
		double r, low, high;
	} all[] = {{32, 0.639, 0.622, 0.657}, {512, 0.696, 0.687, 0.705},
	        {4096, 0.725, 0.715, 0.736}, {16384, 0.737, 0.729, 0.744},
	        {65536, 0.743, 0.738, 0.748}};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct fm_cell_fig c[2] = {{.cpu = 0}, {.cpu = 0}};
		for (int s = 0; s < 2; s++) {
			char path[300];
			struct fm_record r;
			struct fm_buf text;
			snprintf(path, sizeof path,
			        "%s/tests/data/published/data/%s/records/hash-31/"
			        "ZC-DMC-1280-512__hash_%d.json",
			        FM_TEST_ROOT, s == 0 ? "arm_1" : "x86_1", all[i].bytes);
			assert_ok(fm_fs_read(AT_FDCWD, path, FM_RECORD_MAX, &text));
			assert_ok(fm_record_read(path, text.data, text.len, &r));
			assert_ok(fm_cell_from_record(&r, &c[s]));
			fm_record_free(&r);
			fm_buf_free(&text);
		}
		const struct fm_estimate *a = &c[0].counted, *b = &c[1].counted;
		struct fm_ratio q = fm_fieller(a->mean, a->variance / (double)a->n, a->n, b->mean,
		        b->variance / (double)b->n, b->n);
		near(q.r, all[i].r, 0.0005001);
		near(q.low, all[i].low, 0.0005001);
		near(q.high, all[i].high, 0.0005001);
		fm_cell_fig_free(&c[0]);
		fm_cell_fig_free(&c[1]);
	}
}

/* Expected values by the formulas in another program's doubles, written out. */
static void planning(void **state)
{
	(void)state;
	/* sqrt((20 / 0.25)(100 / 4)) = 44.7; the bounds; no variance between processes */
	near(fm_windows_advised(4, 100, 0.25, 20), 45, 0);
	near(fm_windows_advised(100, 1, 1, 1), 8, 0);
	near(fm_windows_advised(0.001, 100, 1, 1000), 200, 0);
	near(fm_windows_advised(0, 100, 1, 1), 200, 0);
	assert_true(isnan(fm_windows_advised(NAN, 100, 1, 1)));
	/* (1.96 / 0.005)^2 105 / 10^6 = 16.1, so 17, then with t(16) = 2.1199: 18.9 */
	near(fm_processes_advised(1000, 100, 100, 20, 0.005), 19, 0);
	near(fm_processes_advised(1000, 0, 0, 20, 0.005), 2, 0);
	near(fm_processes_advised(1, 100, 100, 20, 0.005), 1e6, 0);
	assert_true(isnan(fm_processes_advised(1000, NAN, 1, 1, 0.005)));
}

static void ratio_in_rounds(void **state)
{
	const double a[] = {10.1, 10.3, NAN, 9.9, 10.0, 10.2, 10.05, 3},
	             b[] = {10.0, 10.1, 7, 9.95, 9.9, 10.1, 9.9, 0};
	struct fm_log_ratio l = fm_log_ratio(a, b, 8), turned = fm_log_ratio(b, a, 8);
	struct fm_ratio r = fm_ratio_in_rounds(&l, fm_t975(5)),
	                back = fm_ratio_in_rounds(&turned, fm_t975(5));

	(void)state;
	assert_int_equal(l.n, 6); /* two rounds have not both */
	near(r.r, 1.0099595221579998, 1e-12);
	near(r.low, 1.001208616849041, 1e-12);
	near(r.high, 1.0187869133685352, 1e-12);
	near(back.r * r.r, 1, 1e-12);
	near(back.low * r.high, 1, 1e-12);
	l = fm_log_ratio(a, b, 1);
	r = fm_ratio_in_rounds(&l, 12.7);
	assert_true(isnan(r.low) && isnan(r.high) && r.r > 1);
	l = fm_log_ratio(a, b, 0);
	assert_true(isnan(fm_ratio_in_rounds(&l, 2).r));
}

/* S = 45 of 45 pairs: z = 44 / sqrt(125). Falling with one pair out of order: S = -43. */
static void trend(void **state)
{
	const double up[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	const double down[] = {20, 18, 16, 14, 12, 10, 8, 6, 2, 4}, flat[] = {3, 3, 3};
	double z, slope;

	(void)state;
	assert_ok(fm_trend(up, 10, &z, &slope));
	near(z, 3.9354796403996297, 1e-12);
	near(slope, 1, 0);
	assert_ok(fm_trend(down, 10, &z, &slope));
	near(z, -42 / sqrt(125), 1e-12);
	near(slope, -2, 0);
	assert_ok(fm_trend(flat, 3, &z, &slope));
	near(z, 0, 0);
	near(slope, 0, 0);
	assert_ok(fm_trend(up, 1, &z, &slope));
	assert_true(isnan(z) && isnan(slope));
}

static void size_model(void **state)
{
	const double bytes[] = {32, 128, 512, 1024, 4096}, cost[] = {1000, 1300, 2500, 4200, 13900};
	const double variance[] = {4, 9, 16, 25, 400}, none[] = {4, 0, 1, 1, 1};
	struct fm_size_model m;

	(void)state;
	assert_ok(fm_size_model(bytes, cost, variance, 5, &m));
	near(m.fixed, 894.8852248899374, 1e-9);
	near(m.slope, 3.190299833038273, 1e-12);
	near(m.worst, 0.01120062077781836, 1e-12);
	assert_false(m.poor);
	assert_fails(FM_ERR_CONFIG, "three sizes", fm_size_model(bytes, cost, variance, 2, &m));
	assert_fails(FM_ERR_CONFIG, "spread", fm_size_model(bytes, cost, none, 5, &m));
}

/* The same cost per byte, 100 and 1,900 cycles a call. */
static void mt_27_call_cost_and_slope(void **state)
{
	const double bytes[] = {32, 1024, 65536}, variance[] = {1, 10, 1000};
	double cost[3];
	struct fm_size_model cheap, dear;

	(void)state;
	for (int i = 0; i < 3; i++)
		cost[i] = 100 + 7.5 * bytes[i];
	assert_ok(fm_size_model(bytes, cost, variance, 3, &cheap));
	for (int i = 0; i < 3; i++)
		cost[i] = 1900 + 7.5 * bytes[i];
	assert_ok(fm_size_model(bytes, cost, variance, 3, &dear));
	near(cheap.fixed, 100, 1e-6);
	near(dear.fixed, 1900, 1e-6);
	near(cheap.slope, dear.slope, 1e-9);
	cost[1] *= 1.2;
	assert_ok(fm_size_model(bytes, cost, variance, 3, &dear));
	assert_true(dear.poor && dear.worst > 0.03);
}

/* Calls of a rejection loop: so many turns, each ends with probability p. */
static double turns(uint64_t *seed, double p)
{
	double n = 1;

	for (;; n++) {
		*seed ^= *seed << 13;
		*seed ^= *seed >> 7;
		*seed ^= *seed << 17;
		if ((double)(*seed >> 11) / 9007199254740992.0 < p)
			return n;
	}
}

/* Signing would take turns that differ from call to call, and no kind but hash is measured yet; the
 * interval over calls, which is what such a kind needs, holds the true mean as often as it says,
 * where the median is another number. */
static void mt_29_rejection_loop(void **state)
{
	static double calls[2000];
	const double p = 0.25, one_turn = 1000, truth = one_turn / p;
	unsigned held = 0, near_median = 0;

	(void)state;
	for (uint64_t run = 1; run <= 100; run++) {
		uint64_t seed = run * 0x9e3779b97f4a7c15u;
		struct fm_estimate e;

		for (size_t i = 0; i < 2000; i++)
			calls[i] = one_turn * turns(&seed, p);
		assert_ok(fm_estimate(calls, 2000, &e));
		held += fabs(e.mean - truth) <= e.half;
		near_median += e.median > 0.9 * truth;
	}
	assert_in_range(held, 90, 100);
	assert_int_equal(near_median, 0);
}

/* One call, cold or not, is a number without spread: no interval, no flag, not ranked. */
static void mt_30_one_call(void **state)
{
	const double one[] = {123456};
	struct fm_cell_fig c = {.state = FM_CELL_MEASURED, .trials = 1};
	struct fm_estimate e;
	const char *why;

	(void)state;
	assert_ok(fm_estimate(one, 1, &e));
	assert_true(e.mean == 123456 && e.median == 123456);
	assert_true(isnan(e.variance) && isnan(e.half) && isnan(e.median_low));
	assert_ok(fm_cell_estimate(&c, one, NULL, 1));
	assert_false(fm_cell_flagged(&c));
	assert_false(fm_cell_ranked(&c, &why));
	assert_string_equal(why, "one process");
	c.trials = 2;
	assert_true(fm_cell_ranked(&c, &why));
	fm_cell_fig_free(&c);
}

/* Two builds of one source that differ by 20 % in their layout alone: over the processes of one the
 * interval is narrow and says nothing of the other; over builds, the level above, it is wide. */
static void mt_22_builds_are_a_level(void **state)
{
	double process[2][20], build[2];
	struct fm_estimate over_processes[2], over_builds;

	(void)state;
	for (size_t b = 0; b < 2; b++) {
		for (size_t i = 0; i < 20; i++)
			process[b][i] = (b == 0 ? 1000 : 1200) + (double)(i * 7 % 5);
		assert_ok(fm_estimate(process[b], 20, &over_processes[b]));
		build[b] = over_processes[b].mean;
	}
	assert_ok(fm_estimate(build, 2, &over_builds));
	assert_true(over_builds.half > 100 * over_processes[0].half);
	assert_true(over_processes[0].mean + over_processes[0].half <
	            over_processes[1].mean - over_processes[1].half);
	assert_true(over_builds.mean - over_builds.half < 1000 &&
	            over_builds.mean + over_builds.half > 1200);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(sums),
	        cmocka_unit_test(quantiles),
	        cmocka_unit_test(t_values),
	        cmocka_unit_test(median_ranks),
	        cmocka_unit_test(estimates),
	        cmocka_unit_test(fieller),
	        cmocka_unit_test(flags),
	        cmocka_unit_test(planning),
	        cmocka_unit_test(ratio_in_rounds),
	        cmocka_unit_test(trend),
	        cmocka_unit_test(size_model),
	        cmocka_unit_test(mt_27_call_cost_and_slope),
	        cmocka_unit_test(mt_22_builds_are_a_level),
	        cmocka_unit_test(mt_29_rejection_loop),
	        cmocka_unit_test(mt_30_one_call),
	        cmocka_unit_test(published_flags),
	        cmocka_unit_test(published_ratios),
	};
	choose_tests(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
