/* test_hostcheck.c: host checks of what shares the measured core, each fired by a made-up /sys and
 * each passed. */
#include "agent/hostcheck_parts.h"
#include "protocol/world.h"
#include "tests/unit/scratch.h"

#define CPU "sys/devices/system/cpu/cpu2/topology/thread_siblings_list"

static struct scratch s;

static int setup(void **state)
{
	char text[160];

	(void)state;
	scratch_open(&s);
	snprintf(text, sizeof text, "fleetmark-world 1\nsysroot %s\nend\n", s.path);
	assert_ok(fm_world_set(text));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_ok(fm_world_set(NULL));
	scratch_close(&s);
	return 0;
}

static void is(const char *check, const char *state, const char *words)
{
	struct fm_counter counter = {.sibling = -1};
	struct fm_checks checks = {.count = 0};

	fm_hostcheck_beside_begin(2, &counter);
	if (counter.sibling == 3) /* a second later */
		scratch_put(&s, "proc/stat",
		        "cpu 0\ncpu2 0 0 0 100 0 0 0 0\ncpu3 13 0 0 197 0 0 0 0\n");
	fm_hostcheck_beside(2, &counter, &checks);
	for (size_t i = 0; i < checks.count; i++)
		if (strcmp(checks.at[i].check, check) == 0) {
			if (strcmp(checks.at[i].state, state) != 0 ||
			        strstr(checks.at[i].value, words) == NULL)
				fail_msg("%s: %s, %s", check, checks.at[i].state,
				        checks.at[i].value);
			return;
		}
	fail_msg("no check %s", check);
}

static void nothing_is_known(void **state)
{
	static const char *const checks[] = {
	        "isa", "sibling", "pressure", "cooling", "clocksource", "user_read"};

	(void)state;
	is("lanes", "ok", "1 (cpu 2)");
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		is(checks[i], "unknown", "unknown");
}

static void sibling(void **state)
{
	(void)state;
	scratch_put(&s, CPU, "2\n");
	is("sibling", "ok", "no other thread");
	scratch_put(&s, CPU, "2-3\n");
	scratch_put(&s, "proc/stat", "cpu 0\ncpu2 0 0 0 0 0 0 0 0\ncpu3 10 0 0 100 0 0 0 0\n");
	is("sibling", "bad", "cpu 3 busy for 3.0 % of the check");
	scratch_put(&s, "proc/stat", "cpu 0\ncpu2 0 0 0 0 0 0 0 0\ncpu3 13 0 0 97 0 0 0 0\n");
	is("sibling", "ok", "cpu 3 busy for 0.0 %");
	scratch_put(&s, CPU, "2,6\n"); /* one that /proc/stat does not have */
	is("sibling", "unknown", "unknown");
}

static void instruction_sets(void **state)
{
	(void)state;
	scratch_put(&s, "proc/cpuinfo",
	        "processor : 0\nflags\t: fpu avx2 sha_nix xaes sha_ni\nbugs : vaes\n");
	is("isa", "ok", "avx2 sha_ni");
	scratch_put(&s, "proc/cpuinfo", "processor : 0\nFeatures\t: fp asimd sha2 sm3\n");
	is("isa", "ok", "asimd sha2 sm3");
	scratch_put(&s, "proc/cpuinfo", "processor : 0\nflags\t: fpu\n");
	is("isa", "ok", "none of those");
}

static void pressure_and_cooling(void **state)
{
	(void)state;
	scratch_put(&s, "proc/pressure/cpu", "some avg10=1.75 avg60=0.10 avg300=0.00 total=1\n");
	is("pressure", "bad", "1.75 %");
	scratch_put(&s, "proc/pressure/cpu", "some avg10=0.00 avg60=9.10 avg300=0.00 total=1\n");
	is("pressure", "ok", "0.00 %");
	scratch_put(&s, "sys/class/thermal/cooling_device0/type", "Processor\n");
	scratch_put(&s, "sys/class/thermal/cooling_device0/cur_state", "3\n");
	is("cooling", "bad", "states together 3");
	scratch_put(&s, "sys/class/thermal/cooling_device0/cur_state", "0\n");
	is("cooling", "ok", "states together 0");
}

static void clock_and_access(void **state)
{
	static const char clocksource[] =
	        "sys/devices/system/clocksource/clocksource0/current_clocksource";

	(void)state;
	scratch_put(&s, clocksource, "hpet\n");
	is("clocksource", "bad", "hpet");
	scratch_put(&s, clocksource, "tsc\n");
	is("clocksource", "ok", "tsc");
	scratch_put(&s, "sys/bus/event_source/devices/cpu/rdpmc", "0\n");
	is("user_read", "bad", "0");
	scratch_put(&s, "proc/sys/kernel/perf_user_access", "1\n"); /* of Arm, asked first */
	is("user_read", "ok", "1");
}

/* A watchdog that holds a counter is named. */
static void mt_11_watchdog(void **state)
{
	static const char *const states[] = {"ok", "bad"};
	struct fm_host_facts f = {.kernel = "6.1"};

	(void)state;
	for (int on = 0; on < 2; on++) {
		struct fm_counter counter = {.sibling = -1};
		struct fm_checks checks = {.count = 0};
		size_t i = 0;

		scratch_put(&s, "proc/sys/kernel/nmi_watchdog", on ? "1\n" : "0\n");
		assert_ok(fm_hostcheck_run(&f, 0, &counter, &checks));
		while (i < checks.count && strcmp(checks.at[i].check, "nmi_watchdog") != 0)
			i++;
		assert_true(i < checks.count);
		assert_string_equal(checks.at[i].severity, "note");
		assert_string_equal(checks.at[i].state, states[on]);
	}
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {T(nothing_is_known), T(sibling), T(instruction_sets),
	        T(pressure_and_cooling), T(clock_and_access), T(mt_11_watchdog)};

	choose_tests(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
