/* test_counter.c: labels that never mix, and the choice among sources that lie, stop, trap or are
 * not there. */
#include "agent/worker/clock.h"
#include "agent/worker/counter.h"
#include "tests/unit/scratch.h"

#include <signal.h>

#define CHAIN     65536 /* rounds up to 257 x 256 additions */
#define ADDITIONS 65792

/* A source that moves by `step` per reading: two readings around the chain look like step cycles.
 */
static uint64_t value, step;
static int open_result, read_fails_at;
static unsigned readings;

static int open_fake(struct fm_counter *c, int cpu)
{
	(void)c;
	(void)cpu;
	readings = 0;
	return open_result == FM_OK ? FM_OK : fm_fail(open_result, "no PMU");
}

static int read_fake(struct fm_counter *c, uint64_t *out)
{
	(void)c;
	*out = value += step;
	if (read_fails_at != 0 && ++readings >= (unsigned)read_fails_at)
		return fm_fail(FM_ERR_MEASURE, "index 0");
	return FM_OK;
}

static int read_trap(struct fm_counter *c, uint64_t *out)
{
	(void)c;
	*out = 0;
	raise(SIGILL);
	return FM_OK;
}

static int times_stopped(struct fm_counter *c, uint64_t *enabled, uint64_t *running)
{
	(void)c;
	*enabled = 1000;
	*running = 999;
	return FM_OK;
}

static const struct fm_counter_source cycles = {
        "fake_cycles", FM_LABEL_CORE_CYCLES, open_fake, read_fake, NULL, NULL};
static const struct fm_counter_source ticks = {
        "fake_ticks", FM_LABEL_REF_TICKS, open_fake, read_fake, NULL, NULL};
static const struct fm_counter_source trap = {
        "fake_trap", FM_LABEL_CORE_CYCLES, open_fake, read_trap, NULL, NULL};
static const struct fm_counter_source stopped = {
        "fake_stopped", FM_LABEL_CORE_CYCLES, open_fake, read_fake, times_stopped, NULL};

static int reset(void **state)
{
	(void)state;
	value = 0;
	step = ADDITIONS;
	open_result = FM_OK;
	read_fails_at = 0;
	return 0;
}

static void labels(void **state)
{
	struct fm_count ns = {FM_LABEL_NS, 5}, tick = {FM_LABEL_REF_TICKS, 7},
	                more = {FM_LABEL_REF_TICKS, 9}, out;

	(void)state;
	assert_fails(FM_ERR_MEASURE, "ns and ref_ticks are not comparable",
	        fm_count_since(ns, tick, &out));
	assert_int_equal(out.value, 0);
	assert_ok(fm_count_since(tick, more, &out));
	assert_int_equal(out.value, 2);
	assert_int_equal(out.label, FM_LABEL_REF_TICKS);
	assert_fails(FM_ERR_MEASURE, "went from 9 to 7", fm_count_since(more, tick, &out));
	assert_string_equal(fm_label_name(FM_LABEL_CORE_CYCLES), "core_cycles");
}

/* Chooses from source, then the ticks that always work with another step. */
static void choose(const struct fm_counter_source *source, const char *want, const char *why_text)
{
	const struct fm_counter_source *list[] = {source, &fm_counter_clock};
	struct fm_rejected why;
	struct fm_counter c;

	assert_ok(fm_counter_choose_from(list, 2, &c, 0, "auto", CHAIN, &why));
	assert_string_equal(c.source->name, want);
	if (why_text == NULL) {
		assert_int_equal(why.count, 0);
	} else {
		assert_int_equal(why.count, 1);
		assert_string_equal(why.at[0].source, source->name);
		if (strstr(why.at[0].reason, why_text) == NULL)
			fail_msg("%s", why.at[0].reason);
	}
	fm_counter_close(&c);
}

static void choice(void **state)
{
	(void)state;
	choose(&cycles, "fake_cycles", NULL);
	choose(&trap, "clock", "SIGILL");
	choose(&stopped, "clock", "counting for 999 of 1000 ns");
	step = ADDITIONS * 8 / 10; /* a TSC under turbo */
	choose(&cycles, "clock", "truth test: 800");
	step = 0;
	choose(&cycles, "clock", "while time passed");
	reset(NULL);
	step = (uint64_t)-5; /* runs backwards */
	value = 1u << 20;
	choose(&cycles, "clock", "went from");
	reset(NULL);
	read_fails_at = 500;
	choose(&cycles, "clock", "index 0");
	reset(NULL);
	open_result = FM_ERR_MISSING;
	choose(&cycles, "clock", "no PMU");
}

/* A tick counter that would pass the truth test is still ticks, and a passed test gives no label.
 */
static void truth_gives_nothing(void **state)
{
	const struct fm_counter_source *list[] = {&ticks};
	struct fm_counter c;

	(void)state;
	assert_ok(fm_counter_choose_from(list, 1, &c, 0, "auto", CHAIN, NULL));
	assert_int_equal(c.label, FM_LABEL_REF_TICKS);
	assert_string_equal(c.scope, "wall");
	assert_int_equal(c.truth_permille, -1);
	assert_ok(fm_counter_truth(&c, CHAIN, 3));
	assert_int_equal(c.truth_permille, 1000);
	assert_int_equal(c.label, FM_LABEL_REF_TICKS);
}

static void wanted(void **state)
{
	const struct fm_counter_source *list[] = {&cycles, &ticks};
	struct fm_rejected why;
	struct fm_counter c;

	(void)state;
	assert_ok(fm_counter_choose_from(list, 2, &c, 0, "fake_ticks", CHAIN, &why));
	assert_string_equal(c.source->name, "fake_ticks");
	assert_int_equal(why.count, 0);
	assert_fails(FM_ERR_MISSING, "not known",
	        fm_counter_choose_from(list, 2, &c, 0, "rdpmc", CHAIN, &why));
	open_result = FM_ERR_MISSING;
	assert_fails(FM_ERR_MISSING, "no PMU",
	        fm_counter_choose_from(list, 2, &c, 0, "fake_cycles", CHAIN, &why));
}

/* What this machine offers is at least the clock, whatever it is; and the kept list says why not
 * better. */
static void real(void **state)
{
	struct fm_rejected why;
	struct fm_counter c;
	struct fm_count a, b, d;

	(void)state;
	assert_ok(fm_counter_choose(&c, 0, "auto", CHAIN, &why));
	assert_true(c.resolution > 0);
	for (unsigned i = 0; i < why.count; i++)
		assert_true(why.at[i].reason[0] != '\0');
	assert_ok(fm_counter_read(&c, &a));
	fm_clock_chain(1000);
	assert_ok(fm_counter_read(&c, &b));
	assert_ok(fm_count_since(a, b, &d));
	assert_true(d.value > 0);
	fm_counter_close(&c);
	assert_ok(fm_counter_choose(&c, 0, "clock", CHAIN, &why));
	assert_int_equal(c.label, FM_LABEL_NS);
}

static void quantiles(void **state)
{
	uint64_t v[] = {5, 1, 4, 2, 3};

	(void)state;
	assert_int_equal(fm_clock_quantile(v, 5, 500), 3);
	assert_int_equal(fm_clock_quantile(v, 5, 0), 1);
	assert_int_equal(fm_clock_quantile(v, 5, 1000), 5);
	assert_int_equal(fm_clock_quantile(v, 1, 750), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_setup(labels, reset),
	        cmocka_unit_test_setup(choice, reset),
	        cmocka_unit_test_setup(truth_gives_nothing, reset),
	        cmocka_unit_test_setup(wanted, reset), cmocka_unit_test_setup(real, reset),
	        cmocka_unit_test(quantiles)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
