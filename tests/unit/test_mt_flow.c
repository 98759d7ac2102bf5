/* test_mt_flow.c: tests of the measuring that need a whole campaign, on made-up machines. */
#include "tests/unit/mt.h"

#include "agent/facts.h"
#include "agent/order.h"
#include "orchestrator/stats.h"

#include <math.h>

#define HASH_32   "Toy-256__reference__hash_32"
#define HASH_1024 "Toy-256__reference__hash_1024"

static const struct instance toys[] = {
        {"Toy-256", 256, "toy.c", "TOY_START=7", "", "operation hash_32\noperation hash_1024\n"}};
static const struct instance one[] = {
        {"Toy-256", 256, "toy.c", "TOY_START=7", "", "operation hash_32\n"}};

static void is(const struct fm_samples *s, size_t n, enum fm_proc_state state, int reason)
{
	const struct fm_proc *p = mt_process(s, n);

	if (mt_column(p, STATE) != (int64_t)state || mt_column(p, REASON) != reason)
		fail_msg("process %zu: state %lld, reason %s", n, (long long)mt_column(p, STATE),
		        fm_reason_name[mt_column(p, REASON)]);
}

static const struct fm_ev_cell *outcome(const struct mt *m, const char *operation)
{
	for (size_t i = 0; i < m->e.cell_count; i++)
		if (strcmp(m->e.cells[i].operation, operation) == 0)
			return &m->e.cells[i];
	fail_msg("no cell %s", operation);
	return NULL;
}

/* The counter ran for part of the time, for none, for more than there was: never a number. */
static void mt_09_not_counted(void **state)
{
	struct fm_samples s;
	struct mt m;

	(void)state;
	mt_open(&m, "guide",
	        "fleetmark-world 1\nopen perf_read ok\nrunning_permille 999 2 0 1001\nend\n", toys,
	        1);
	mt_run(&m);
	for (size_t i = 0; i < 2; i++) {
		const char *operation = i == 0 ? "hash_32" : "hash_1024";

		assert_string_equal(outcome(&m, operation)->status, "failed");
		assert_non_null(strstr(outcome(&m, operation)->text,
		        "three invalid processes in a row: counter_stopped"));
		s = mt_samples(&m, i == 0 ? HASH_32 : HASH_1024);
		for (size_t n = 0; n < 3; n++)
			is(&s, n, FM_STATE_INVALID, 10);
		fm_samples_free(&s);
	}
	mt_close(&m);
}

/* One event that did not always count: exactly that process is invalid, kept and replaced. */
static void mt_10_multiplexed(void **state)
{
	struct fm_samples s;
	struct mt m;

	(void)state;
	mt_open(&m, "guide",
	        "fleetmark-world 1\nopen perf_read ok\nrunning_permille 1000 1000 500 1000\n"
	        "cost hash_32 1000\nend\n",
	        toys, 1);
	mt_run(&m);
	assert_string_equal(m.e.counter.label, "core_cycles");
	assert_string_equal(m.e.counter.source, "perf_read");
	assert_int_equal(strlen(m.e.test_world), 64);
	s = mt_samples(&m, HASH_32);
	for (size_t i = 0; i < 6; i++)
		is(&s, i, i == 2 ? FM_STATE_INVALID : FM_STATE_ACCEPTED, i == 2 ? 10 : 0);
	assert_int_equal(
	        mt_column(mt_process(&s, 2), REPLACED_BY), mt_column(mt_process(&s, 3), PROCESS));
	assert_true(mt_process(&s, 2)->windows > 0);
	assert_true(s.events[mt_process(&s, 2)->first] & 64);
	assert_int_equal(mt_process(&s, 0)->calls, 20000);
	assert_int_equal(mt_process(&s, 0)->count,
	        20000 * 1000 + 16 * mt_process(&s, 0)->windows); /* a reading costs 16 */
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->accepted, 5);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->invalid, 1);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_1024")->invalid, 0);
	fm_samples_free(&s);
	mt_close(&m);
}

/* Ticks of 24 MHz are no ns, and a counter that steps by 41 is read over at least 100 steps. */
static void mt_16_ticks_to_ns(void **state)
{
	struct fm_samples s;
	const struct fm_proc *p;
	struct mt m;
	double ns;

	(void)state;
	mt_open(&m, "smoke",
	        "fleetmark-world 1\nopen tsc ok\ncore_hz 3000000000\ntick_hz 24000000\n"
	        "cost hash_32 3000000\nend\n",
	        one, 1);
	mt_run(&m);
	assert_string_equal(m.e.counter.label, "ref_ticks");
	assert_in_range(m.e.counter.hz, 23997600, 24002400);
	s = mt_samples(&m, HASH_32);
	p = mt_process(&s, 0);
	/* 3,000,000 cycles of 3 GHz are 1 ms; a window is off by a step, 42 ns, at most */
	ns = (double)p->count * 1e9 / (double)m.e.counter.hz / (double)p->calls;
	assert_true(ns > 999000 && ns < 1001000);
	assert_true(
	        (double)p->count < 0.03 * (double)p->ns); /* taken for ns they are far too few */
	fm_samples_free(&s);
	mt_close(&m);
}

static void mt_17_coarse_steps(void **state)
{
	struct fm_samples s;
	struct mt m;

	(void)state;
	mt_open(&m, "smoke",
	        "fleetmark-world 1\nopen tsc ok\nstep 41\ntick_hz 1000000000\ncost hash_32 300\n"
	        "end\n",
	        one, 1);
	mt_run(&m);
	assert_int_equal(m.e.counter.resolution, 41);
	assert_in_range(m.e.counter.hz, 999900000, 1000100000);
	s = mt_samples(&m, HASH_32);
	for (size_t i = 0; i < s.windows; i++)
		assert_true(s.count[i] >= 100 * 41);
	fm_samples_free(&s);
	mt_close(&m);
}

/* KAT_2_12 of toy.c with TOY_START=7, as the gate makes it. */
#define HONEST "91d252da776f39cb2edee1d914d5c870a5e0c51fa0eb18c0e25d8f38a9906bb8"

/* What was never done is never timed: the gate stops toys that do nothing, the floor what is too
 * fast to be true. */
static void mt_18_too_fast(void **state)
{
	static const struct instance idle[] = {
	        {"Toy-Fixed", 256, "fixed.c", NULL,
	                "kat_line " HONEST " strict KAT_2_12_Toy-Fixed.txt\n",
	                "operation hash_32\n"},
	        {"Toy-Honest", 256, "toy.c", "TOY_START=7",
	                "kat_line " HONEST " strict KAT_2_12_Toy-Honest.txt\n",
	                "operation hash_32\n"},
	        {"Toy-Nothing", 256, "nothing.c", NULL,
	                "kat_line " HONEST " strict KAT_2_12_Toy-Nothing.txt\n",
	                "operation hash_32\n"},
	        {"Toy-Same", 256, "nothing.c", NULL, "", "operation hash_32\n"},
	        {"Toy-Swift", 256, "toy.c", "TOY_START=7", "", "operation hash_32\n"}};
	struct mt m;

	(void)state;
	mt_open(&m, "smoke",
	        "fleetmark-world 1\nopen perf_read ok\ncost Toy-Swift/hash_32 5\nend\n", idle, 5);
	mt_run(&m);
	assert_int_equal(m.e.measured_count, 1); /* what agrees with the same reference is timed */
	assert_string_equal(m.e.measured[0].instance, "Toy-Honest");
	assert_int_equal(m.e.cell_count, 5);
	assert_string_equal(m.e.cells[0].klass, "kat");
	assert_string_equal(m.e.cells[1].status, "measured");
	assert_string_equal(m.e.cells[2].klass, "kat");
	assert_string_equal(m.e.cells[3].status, "failed"); /* no reference: the digest check */
	assert_string_equal(m.e.cells[4].status, "failed");
	assert_string_equal(m.e.cells[4].reason, "below_physical_floor");
	assert_non_null(
	        strstr(m.e.cells[4].text, "core cycles a call of 32 bytes, possible are 20"));
	mt_close(&m);
}

/* The frame does not depend on the message, and a call that costs what the frame costs nets
 * nothing: nothing is clamped, and net is not shown. */
static void mt_19_null_call(void **state)
{
	static const struct instance null[] = {{"Toy-256", 256, "toy.c", "TOY_START=7", "",
	        "operation hash_32\noperation hash_65536\n"}};
	const struct fm_proc *p, *large;
	struct fm_samples s, other;
	struct mt m;

	(void)state;
	mt_open(&m, "smoke",
	        "fleetmark-world 1\nopen perf_read ok\ncost hash_32 30\nframe 30\nend\n", null, 1);
	mt_run(&m);
	s = mt_samples(&m, HASH_32);
	other = mt_samples(&m, "Toy-256__reference__hash_65536");
	p = mt_process(&s, 0);
	large = mt_process(&other, 0);
	assert_int_equal(mt_column(p, FRAME_MILLI), 30000);
	assert_int_equal(mt_column(large, FRAME_MILLI), 30000);
	assert_int_equal((int64_t)p->count * 1000 -
	                         (int64_t)p->windows * mt_column(p, READ_PAIR_MILLI) -
	                         (int64_t)p->calls * mt_column(p, FRAME_MILLI),
	        0);
	assert_true(mt_marked(mt_cell(&m, "Toy-256", "hash_32"), "overhead_dominated"));
	assert_false(mt_marked(mt_cell(&m, "Toy-256", "hash_65536"), "overhead_dominated"));
	fm_samples_free(&s);
	fm_samples_free(&other);
	mt_close(&m);
}

/* The empty call differs from process to process: said so. */
static void mt_20_frame_spread(void **state)
{
	struct mt m;

	(void)state;
	mt_open(&m, "guide", "fleetmark-world 1\nopen perf_read ok\nframe 8 11 8 11 8\nend\n", one,
	        1);
	mt_run(&m);
	assert_true(mt_marked(mt_cell(&m, "Toy-256", "hash_32"), "frame_spread"));
	mt_close(&m);
	mt_open(&m, "guide", "fleetmark-world 1\nopen perf_read ok\nframe 8 9 8\nend\n", one, 1);
	mt_run(&m);
	assert_false(mt_marked(mt_cell(&m, "Toy-256", "hash_32"), "frame_spread"));
	mt_close(&m);
}

/* Means of the accepted processes in time order. */
static size_t means_of(const struct fm_samples *s, double m[60])
{
	size_t n = 0;

	for (size_t i = 0; i < s->process_count; i++) {
		const struct fm_proc *p = &s->processes[i];

		if (mt_column(p, STATE) == FM_STATE_ACCEPTED) {
			assert_true(n < 60);
			m[n++] = (double)p->count / (double)p->calls;
		}
	}
	return n;
}

/* Mean and half-width of at least so many processes. */
static void interval_of(const struct fm_samples *s, size_t least, double *mean, double *half)
{
	struct fm_estimate e;
	double m[60];
	size_t n = means_of(s, m);

	assert_true(n >= least);
	MUST(fm_estimate(m, n, &e));
	*mean = e.mean;
	*half = e.half;
}

/* Whether the flag for drift is set; below ten processes it cannot be. */
static void drifts(const struct fm_samples *s, bool set)
{
	struct fm_stat_flags flags;
	struct fm_estimate e;
	double m[60];
	size_t n = means_of(s, m);

	MUST(fm_estimate(m, n, &e));
	MUST(fm_stat_flags(m, n, &e, &flags));
	assert_int_equal(flags.drift, set);
	assert_int_equal(isnan(flags.trend_slope) != 0, n < 10);
}

/* A warming machine: with a fixed order the last pays, with random blocks all do alike. */
static void mt_24_drift(void **state)
{
	static const struct instance four[] = {{"Toy-256", 256, "toy.c", "TOY_START=7", "",
	        "operation hash_32\noperation hash_64\noperation hash_96\noperation hash_128\n"}};
	static const char *const names[] = {"hash_128", "hash_32", "hash_64", "hash_96"};
	int64_t started[4][20];
	double mean[4], half[4];
	unsigned fresh = 0;
	size_t turn[4], last[4] = {0};
	struct fm_order order;
	struct mt m;

	(void)state;
	mt_open(&m, "rigorous",
	        "fleetmark-world 1\nopen perf_read ok\ncost hash_32 1000\ncost hash_64 1000\n"
	        "cost hash_96 1000\ncost hash_128 1000\ndrift_ppm 400\nend\n",
	        four, 1);
	mt_run(&m);
	for (size_t i = 0; i < 4; i++) {
		char stem[80];
		struct fm_samples s;
		size_t rounds = 0;

		snprintf(stem, sizeof stem, "Toy-256__reference__%s", names[i]);
		s = mt_samples(&m, stem);
		interval_of(&s, 20, &mean[i], &half[i]);
		drifts(&s, true);
		for (size_t k = 0; k < s.process_count; k++)
			if (mt_column(&s.processes[k], STATE) == FM_STATE_ACCEPTED && rounds < 20) {
				assert_int_equal(mt_column(&s.processes[k], ROUND), rounds + 1);
				started[i][rounds++] = mt_column(&s.processes[k], STARTED_NS);
			}
		assert_int_equal(rounds, 20);
		fm_samples_free(&s);
	}
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 4; k++)
			assert_true(mean[i] - half[i] <= mean[k] + half[k]);
	/* the recorded seed gives the order of every round again */
	fm_order_seed(&order, strtoull(m.e.measure.order_seed, NULL, 16));
	for (size_t round = 0; round < 20; round++) {
		fm_order_permute(&order, turn, 4);
		for (size_t k = 0; k + 1 < 4; k++)
			assert_true(started[turn[k]][round] < started[turn[k + 1]][round]);
		fresh += memcmp(turn, last, sizeof turn) != 0;
		memcpy(last, turn, sizeof turn);
	}
	assert_true(fresh >= 15);
	mt_close(&m);

	/* guide, on the same machine: the documented order, cheapest first and one cell after the
	 * other, so the last pays for the heat; drift is beyond what five processes can tell */
	mt_open(&m, "guide",
	        "fleetmark-world 1\nopen perf_read ok\ncost hash_32 1000\ncost hash_64 1010\n"
	        "cost hash_96 1020\ncost hash_128 1030\ndrift_ppm 5000\nend\n",
	        four, 1);
	mt_run(&m);
	for (size_t i = 0; i < 4; i++) {
		static const char *const rising[] = {"hash_32", "hash_64", "hash_96", "hash_128"};
		struct fm_samples s;
		char stem[80];

		snprintf(stem, sizeof stem, "Toy-256__reference__%s", rising[i]);
		s = mt_samples(&m, stem);
		interval_of(&s, 5, &mean[i], &half[i]);
		started[i][0] = mt_column(mt_process(&s, 0), STARTED_NS);
		started[i][1] = mt_column(mt_process(&s, 4), STARTED_NS);
		drifts(&s, false);
		fm_samples_free(&s);
		if (i > 0)
			assert_true(started[i - 1][1] < started[i][0]);
	}
	assert_true((mean[0] + half[0]) / 1000 < (mean[3] - half[3]) / 1030);
	mt_close(&m);
}

/* Heat: wait until the core is as cool as at the start, try again; still rising: the mark. */
static void mt_25_heat(void **state)
{
	struct fm_samples s;
	char world[600];
	struct mt m;

	(void)state;
	snprintf(world, sizeof world,
	        "fleetmark-world 1\nvalues "
	        "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count 5 5 5 5 6 6 6 "
	        "6 "
	        "7 7 "
	        "7 8\nvalues /sys/class/thermal/thermal_zone0/type x86_pkg_temp\nvalues "
	        "/sys/class/thermal/thermal_zone0/temp 50000 50000 50000 80000 80000 50000 50000 "
	        "80000 50000 50000 80000\nopen perf_read ok\nend\n",
	        fm_facts_cpu_last());
	mt_open(&m, "smoke", world, one, 1);
	mt_run(&m);
	s = mt_samples(&m, HASH_32);
	is(&s, 0, FM_STATE_ACCEPTED, 0);
	is(&s, 1, FM_STATE_REPLACED, 5);
	is(&s, 2, FM_STATE_REPLACED, 5);
	is(&s, 3, FM_STATE_ACCEPTED, 5);
	assert_int_equal(mt_column(mt_process(&s, 1), TEMP_END_MC), 80000);
	assert_int_equal(mt_column(mt_process(&s, 2), TEMP_START_MC), 50000); /* it waited */
	assert_true(mt_process(&s, 1)->windows > 0);
	assert_true(mt_marked(mt_cell(&m, "Toy-256", "hash_32"), "thermal"));
	fm_samples_free(&s);
	mt_close(&m);
}

/* Windows longer than the process: no number of it leaves the spool. */
static void mt_26_impossible(void **state)
{
	struct fm_samples s;
	struct mt m;

	(void)state;
	mt_open(&m, "smoke", "fleetmark-world 1\nopen perf_read ok\nfact wall_ns 1000\nend\n", one,
	        1);
	mt_run(&m);
	assert_string_equal(outcome(&m, "hash_32")->status, "failed");
	s = mt_samples(&m, HASH_32);
	for (size_t i = 0; i < 3; i++) {
		is(&s, i, FM_STATE_INVALID, 17);
		assert_int_equal(mt_process(&s, i)->windows, 0);
	}
	assert_int_equal(s.windows, 0);
	fm_samples_free(&s);
	mt_close(&m);
}

/* Every disturbance of the guide's table that a world can play ends as the table says, and all
 * attempts are kept. */
static void mt_90_disturbances(void **state)
{
	static const struct {
		enum fm_proc_state state;
		int reason;
	} want[] = {{FM_STATE_ACCEPTED, 0}, {FM_STATE_REPLACED, 1}, {FM_STATE_REPLACED, 2},
	        {FM_STATE_ACCEPTED, 4}, {FM_STATE_REPLACED, 6}, {FM_STATE_ACCEPTED, 6},
	        {FM_STATE_INVALID, 9}, {FM_STATE_REPLACED, 7}, {FM_STATE_ACCEPTED, 7},
	        {FM_STATE_ACCEPTED, 8}};
	struct fm_samples s;
	struct mt m;

	(void)state;
	/* process            0 1 2 3 4 5 6 7 8 9 */
	mt_open(&m, "guide",
	        "fleetmark-world 1\nopen perf_read ok\n"
	        "core_hz 3000000000 3000000000 3000000000 3000000000 3000000000 3000000000 "
	        "3000000000 2800000000 2970000000 3030000000\n"
	        "fact nivcsw 0 2 0\n"
	        "fact nvcsw 0 0 1 0\n"
	        "fact steal_ticks 0 0 0 3 0\n"
	        "fact majflt 0 0 0 0 1 1 0\n"
	        "fact cpu -1 -1 -1 -1 -1 -1 77 -1\n"
	        "fact thread_cpu_permille 1000 1000 1000 1000 1000 1000 1000 1000 990 1000\nend\n",
	        one, 1);
	mt_run(&m);
	s = mt_samples(&m, HASH_32);
	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++)
		is(&s, i, want[i].state, want[i].reason);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->accepted, 5);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->replaced, 4);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->invalid, 1);
	assert_true(mt_marked(mt_cell(&m, "Toy-256", "hash_32"), "steal"));
	assert_true(mt_marked(mt_cell(&m, "Toy-256", "hash_32"), "clock_off"));
	fm_samples_free(&s);
	mt_close(&m);
}

/* A neighbour on the other thread of the core: seen by what the core does at once, tried again
 * twice, then marked; a little less at once is no neighbour. */
static void mt_90_shared_core(void **state)
{
	struct fm_samples s;
	struct mt m;

	(void)state;
	mt_open(&m, "guide",
	        "fleetmark-world 1\nopen perf_read ok\n"
	        "fact width_milli 4000 2600 2600 2600 3700 2600 4000\nend\n",
	        one, 1);
	mt_run(&m);
	s = mt_samples(&m, HASH_32);
	is(&s, 0, FM_STATE_ACCEPTED, 0);
	is(&s, 1, FM_STATE_REPLACED, 18);
	is(&s, 2, FM_STATE_REPLACED, 18);
	is(&s, 3, FM_STATE_ACCEPTED, 18);
	is(&s, 4, FM_STATE_ACCEPTED, 0);
	is(&s, 5, FM_STATE_REPLACED, 18);
	is(&s, 6, FM_STATE_ACCEPTED, 0);
	is(&s, 7, FM_STATE_ACCEPTED, 0);
	assert_true(mt_marked(mt_cell(&m, "Toy-256", "hash_32"), "shared_core"));
	fm_samples_free(&s);
	mt_close(&m);
}

/* The text of a file of the job's folder. */
static char *job_file(const struct mt *m, const char *name)
{
	struct fm_buf text;
	char path[200];

	snprintf(path, sizeof path, "%s/jobs/%s/%s", m->c.home, m->p.name, name);
	MUST(fm_fs_read(AT_FDCWD, path, 16u << 20, &text));
	return text.data;
}

/* What all processes took, over what the agent said they would after its planning processes. */
static double over_estimate(const char *profile, const char *costs, size_t clocks)
{
	static const struct instance two[] = {{"Toy-256", 256, "toy.c", "TOY_START=7", "",
	        "operation hash_32\noperation hash_64\n"}};
	static const char words[] = "processes,%20about%20";
	double seconds = 0, said;
	char world[300], *progress;
	const char *at;
	struct mt m;

	snprintf(world, sizeof world, "fleetmark-world 1\nopen perf_read ok\n%send\n", costs);
	mt_open(&m, profile, world, two, 1);
	mt_run(&m);
	progress = job_file(&m, "progress");
	at = strstr(progress, words);
	assert_non_null(at);
	said = strtod(at + sizeof words - 1, NULL);
	free(progress);
	for (size_t i = 0; i < m.e.measured_count; i++) {
		struct fm_samples s;
		char stem[80];

		snprintf(stem, sizeof stem, "Toy-256__reference__%s", m.e.measured[i].operation);
		s = mt_samples(&m, stem);
		for (size_t k = 0; k < s.process_count; k++)
			if (mt_column(&s.processes[k], STATE) != FM_STATE_PLANNING)
				seconds += (double)mt_column(&s.processes[k], WALL_NS) / 1e9;
		fm_samples_free(&s);
	}
	print_message("%zu checks of the clock\n", m.e.clock_count);
	assert_true(m.e.clock_count >= clocks);
	mt_close(&m);
	print_message("%s: %.1f s, said were %.0f s\n", profile, seconds, said);
	assert_true(said > 10);
	return seconds / said;
}

/* On a machine that is not disturbed the agent's own estimate is within a factor 1.5, and a machine
 * that slows down after the planning shows. Between rounds the clock is checked once a minute. */
static void mt_92_estimate(void **state)
{
	static const char steady[] = "cost hash_32 900000000\ncost hash_64 600000000\n";
	double ratio = over_estimate("rigorous", steady, 3);

	(void)state;
	assert_true(ratio > 1 / 1.5 && ratio < 1.5);
	ratio = over_estimate("guide", steady, 2);
	assert_true(ratio > 1 / 1.5 && ratio < 1.5);
	ratio = over_estimate("guide",
	        "cost hash_32 900000000 2700000000\ncost hash_64 600000000 1800000000\n", 2);
	assert_true(ratio > 1.5);
}

/* How often the word stands in the text. */
static size_t times(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return n;
}

/* A rigorous job that is killed inside a round goes on in that round: its finished processes count,
 * none is made twice, every round ends complete. */
static void mt_93_resume_in_a_round(void **state)
{
	static const char *const stems[] = {HASH_32, HASH_1024};
	char *spool = NULL, *again;
	const char *at = NULL;
	size_t before = 0;
	struct mt m;

	(void)state;
	mt_open(&m, "rigorous", "fleetmark-world 1\nopen perf_read ok\nend\n", toys, 1);
	campaign_start(&m.p, &m.c, "toy", 1, CHALLENGE);
	assert_string_equal(m.c.status, "ok");
	assert_string_equal(client_follow(&m.c, "mt", "stage", "stage", "measure"), "seen");
	client_send(&m.c, FM_FRAME_CALL, "fleetmark-call 1\nverb status\ncampaign mt\nend\n", 45);
	client_end_follow(&m.c);
	client_end_follow(&m.c);
	/* two planning processes, some rounds, one process of the next */
	while (before < 7 || before % 2 == 0) {
		free(spool);
		spool = job_file(&m, "spool/toy");
		before = times(spool, " process_end ");
		assert_true(before < 40);
	}
	client_ok(&m.c, "facts", "", NULL, 0);
	at = strstr(client_value(&m.c, "holder"), "pid=");
	assert_non_null(at);
	assert_int_equal(kill((pid_t)strtol(at + 4, NULL, 10), SIGKILL), 0);
	for (int i = 0; i < 500 && strcmp(client_value(&m.c, "state"), "dead") != 0; i++) {
		usleep(20000);
		client_ok(&m.c, "status", "campaign mt\n", NULL, 0);
	}
	assert_string_equal(client_value(&m.c, "state"), "dead");
	mt_run(&m);
	again = job_file(&m, "spool/toy");
	assert_memory_equal(again, spool, (size_t)(strrchr(spool, '\n') - spool));
	assert_int_equal(times(again, " header "), 2);
	free(spool);
	free(again);
	for (size_t i = 0; i < 2; i++) {
		struct fm_samples s = mt_samples(&m, stems[i]);
		size_t of_round[21] = {0}, planning = 0;

		for (size_t k = 0; k < s.process_count; k++) {
			const struct fm_proc *p = &s.processes[k];

			assert_int_equal(mt_column(p, PROCESS), k);
			assert_in_range(mt_column(p, ROUND), 0, 20);
			planning += mt_column(p, STATE) == FM_STATE_PLANNING;
			if (mt_column(p, STATE) == FM_STATE_ACCEPTED)
				of_round[mt_column(p, ROUND)]++;
		}
		assert_int_equal(planning, 1);
		for (size_t round = 1; round <= 20; round++)
			assert_int_equal(of_round[round], 1);
		assert_int_equal(
		        mt_cell(&m, "Toy-256", i == 0 ? "hash_32" : "hash_1024")->accepted, 20);
		fm_samples_free(&s);
	}
	mt_close(&m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mt_09_not_counted),
	        cmocka_unit_test(mt_10_multiplexed), cmocka_unit_test(mt_16_ticks_to_ns),
	        cmocka_unit_test(mt_17_coarse_steps), cmocka_unit_test(mt_18_too_fast),
	        cmocka_unit_test(mt_19_null_call), cmocka_unit_test(mt_20_frame_spread),
	        cmocka_unit_test(mt_24_drift), cmocka_unit_test(mt_25_heat),
	        cmocka_unit_test(mt_26_impossible), cmocka_unit_test(mt_90_disturbances),
	        cmocka_unit_test(mt_90_shared_core), cmocka_unit_test(mt_92_estimate),
	        cmocka_unit_test(mt_93_resume_in_a_round)};

	return mt_main(tests, argc, argv);
}
