/* test_mt_quiet_flow.c: time to the same quality on a made-up quiet host: hash-31 with the means of
 * the published table and the spreads of the published records, under guide and under rigorous. */
#include "tests/unit/mt.h"

#include <math.h>

#define PUBLISHED FM_TEST_ROOT "/tests/data/published/"
#define RECORDS   PUBLISHED "data/arm_1/records/hash-31/"
#define CORE_HZ   2694810952.0 /* core_clock_hz of those records */
#define TRIALS    5
#define SIZES     8u
#define MOST      60u
#define START_S                                                                           \
	0.001 /* spawning a process and taking it back: what the guide asks of bare metal \
	       */

static const unsigned sizes[SIZES] = {32, 128, 512, 1024, 4096, 8192, 16384, 65536};
static const char operations[] =
        "operation hash_32\noperation hash_128\noperation hash_512\noperation hash_1024\n"
        "operation hash_4096\noperation hash_8192\noperation hash_16384\noperation hash_65536\n";
static const struct instance instances[] = {
        {"ZC-DMC-1280-512", 256, "toy.c", "TOY_START=1", "", operations},
        {"ZC-DMC-1280-768", 256, "toy.c", "TOY_START=2", "", operations},
        {"ZC-DMC-1280-1024", 256, "toy.c", "TOY_START=3", "", operations},
        {"ZC-DMC-1536-512", 256, "toy.c", "TOY_START=4", "", operations},
        {"ZC-DMC-1536-768", 256, "toy.c", "TOY_START=5", "", operations},
        {"ZC-DMC-1536-1024", 256, "toy.c", "TOY_START=6", "", operations}};

/* What a profile took and gave. */
struct taken {
	double seconds, timed, half[6 * SIZES];
	unsigned processes, cells;
};

static void text_of(const char *path, struct fm_buf *out)
{
	struct fm_buf text = FM_BUF_INIT(4u << 20);

	assert_ok(fm_fs_read(AT_FDCWD, path, 4u << 20, &text));
	assert_ok(fm_buf_put(&text, "", 1));
	*out = text;
}

/* Mean cycles of a cell as the published table prints it: 3303, 10.9 k. */
static double table_mean(const char *instance, unsigned bytes)
{
	char key[80], *end, unit;
	const char *line;
	struct fm_buf text;
	double mean;

	text_of(PUBLISHED "tables/arm_1_hash-31.csv", &text);
	snprintf(key, sizeof key, "\n%s,%u,", instance, bytes);
	assert_non_null(line = strstr(text.data, key));
	mean = strtod(line + strlen(key), &end);
	/* the unit stands behind a blank, which is one or two bytes */
	end += strcspn(end, "kM,");
	unit = *end;
	mean *= unit == 'k' ? 1e3 : unit == 'M' ? 1e6 : 1;
	fm_buf_free(&text);
	assert_true(mean > 100);
	return mean;
}

/* The five process means of a record over their mean; false if there is no such record. */
static bool record(const char *instance, unsigned bytes, double relative[TRIALS])
{
	char path[400];
	const char *at;
	double sum = 0;
	struct fm_buf text;

	snprintf(path, sizeof path, RECORDS "%s__hash_%u.json", instance, bytes);
	if (access(path, R_OK) != 0)
		return false;
	text_of(path, &text);
	at = text.data;
	for (unsigned i = 0; i < TRIALS; i++) {
		double calls, cycles;

		assert_non_null(at = strstr(at, "\"measurements\": "));
		calls = strtod(at + 16, NULL);
		assert_non_null(at = strstr(at, "\"cycles\": "));
		cycles = strtod(at + 10, NULL);
		sum += relative[i] = cycles / calls;
	}
	for (unsigned i = 0; i < TRIALS; i++)
		relative[i] *= TRIALS / sum;
	fm_buf_free(&text);
	return true;
}

/* A cell without a record has the spread of the nearest size of the first instance. */
static void spread(const char *instance, unsigned size, double relative[TRIALS])
{
	bool found = record(instance, sizes[size], relative);

	for (unsigned away = 0; !found && away < SIZES; away++)
		found = (size >= away && record(instances[0].name, sizes[size - away], relative)) ||
		        (size + away < SIZES &&
		                record(instances[0].name, sizes[size + away], relative));
	assert_true(found);
}

/* guide sees the five processes as published; rigorous draws its from them, with their variance. */
static void put_costs(
        struct fm_buf *world, const char *instance, unsigned size, bool drawn, uint64_t *random)
{
	const double mean = table_mean(instance, sizes[size]), wider = sqrt(5.0 / 4.0);
	double relative[TRIALS];

	spread(instance, size, relative);
	assert_ok(fm_buf_printf(world, "cost %s/hash_%u", instance, sizes[size]));
	for (unsigned i = 0; i < (drawn ? MOST : TRIALS); i++) {
		double r = relative[i % TRIALS];

		if (drawn) {
			*random = *random * 6364136223846793005u + 1442695040888963407u;
			r = 1 + wider * (relative[(*random >> 33) % TRIALS] - 1);
		}
		assert_ok(fm_buf_printf(world, " %.0f", mean * r));
	}
	assert_ok(fm_buf_puts(world, "\n"));
}

static double half_width(const double *m, unsigned n)
{
	const double t = n == 5 ? 2.776 : 1.96 + 2.4 / (n - 1) + 2.2 / ((n - 1.0) * (n - 1.0));
	double mean = 0, sum = 0;

	for (unsigned i = 0; i < n; i++)
		mean += m[i] / n;
	for (unsigned i = 0; i < n; i++)
		sum += (m[i] - mean) * (m[i] - mean);
	return t * sqrt(sum / (n - 1) / n) / mean;
}

static void take(struct mt *m, const char *stem, struct taken *out)
{
	struct fm_samples s = mt_samples(m, stem);
	double mean[MOST];
	unsigned n = 0;

	for (size_t i = 0; i < s.process_count; i++) {
		const struct fm_proc *p = &s.processes[i];

		out->processes++;
		out->seconds += (double)mt_column(p, WALL_NS) / 1e9;
		if (mt_column(p, STATE) != FM_STATE_ACCEPTED)
			continue;
		assert_true(n < MOST);
		mean[n++] = (double)p->count / (double)p->calls;
		out->timed += (double)p->ns / 1e9;
	}
	assert_true(n >= TRIALS);
	out->half[out->cells++] = half_width(mean, n);
	fm_samples_free(&s);
}

static void campaign_of(const char *profile, size_t count, struct taken *out)
{
	struct fm_buf world = FM_BUF_INIT(1u << 20);
	uint64_t random = 31;
	char stem[100];
	struct mt m;

	memset(out, 0, sizeof *out);
	assert_ok(fm_buf_printf(
	        &world, "fleetmark-world 1\nopen perf_rdpmc ok\ncore_hz %.0f\n", CORE_HZ));
	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < SIZES; k++)
			put_costs(&world, instances[i].name, k, strcmp(profile, "guide") != 0,
			        &random);
	assert_ok(fm_buf_put(&world, "end\n", 5)); /* with its end */
	mt_open(&m, profile, world.data, instances, count);
	mt_run(&m);
	assert_string_equal(m.e.counter.label, "core_cycles");
	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < SIZES; k++) {
			snprintf(stem, sizeof stem, "%s__reference__hash_%u", instances[i].name,
			        sizes[k]);
			take(&m, stem, out);
		}
	mt_close(&m);
	fm_buf_free(&world);
}

/* QUIET_INSTANCES=6 takes all 48 cells, an eighth of the time; the first instance alone is the
 * quickest, and a guide process of it does not reach its second. */
static void mt_92_quiet_host(void **state)
{
	const char *all = getenv("QUIET_INSTANCES");
	const size_t count = all == NULL ? 1 : strtoul(all, NULL, 10);
	struct taken guide, rigorous;
	unsigned wider = 0;
	double ratio;

	(void)state;
	assert_in_range(count, 1, sizeof instances / sizeof instances[0]);
	campaign_of("guide", count, &guide);
	campaign_of("rigorous", count, &rigorous);
	for (unsigned i = 0; i < guide.cells; i++)
		wider += rigorous.half[i] > guide.half[i];
	guide.seconds += guide.processes * START_S;
	rigorous.seconds += rigorous.processes * START_S;
	ratio = guide.seconds / rigorous.seconds;
	for (unsigned i = 0; i < guide.cells; i++)
		print_message("%s hash_%u: half-width %.4f %% under guide, %.4f %% under "
		              "rigorous\n",
		        instances[i / SIZES].name, sizes[i % SIZES], 100 * guide.half[i],
		        100 * rigorous.half[i]);
	print_message("guide %.2f s (%u processes, %.0f %% timed), rigorous %.2f s (%u processes, "
	              "%.0f %% timed): %.1f times less; wider in %u of %u cells\n",
	        guide.seconds, guide.processes, 100 * guide.timed / guide.seconds, rigorous.seconds,
	        rigorous.processes, 100 * rigorous.timed / rigorous.seconds, ratio, wider,
	        guide.cells);
	assert_int_equal(wider, 0);
	assert_true(ratio >= (count == 6 ? 8 : 3));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(mt_92_quiet_host)};

	return mt_main(tests, argc, argv);
}
