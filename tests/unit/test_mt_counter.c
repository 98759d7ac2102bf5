/* test_mt_counter.c: tests of the measuring about counters: which is chosen, what it is called, and
 * when it is not believed; on made-up machines. */
#include "agent/worker/clock.h"
#include "agent/worker/counter.h"
#include "agent/worker/fake.h"
#include "protocol/world.h"
#include "tests/unit/mt.h"

#include <linux/perf_event.h>

#define CHAIN   65536
#define PMUS    "sys/bus/event_source/devices/"
#define X86_CPU "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc\nflags\t\t: other\n"

static struct scratch s;
static struct fm_counter c;
static struct fm_rejected why;

static int setup(void **state)
{
	(void)state;
	scratch_open(&s);
	scratch_put(&s, "proc/cpuinfo", X86_CPU);
	scratch_put(&s, "proc/sys/kernel/perf_event_paranoid", "2\n");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fm_fake_end();
	assert_ok(fm_world_set(NULL));
	scratch_close(&s);
	return 0;
}

/* Begins the world with these lines behind its sysroot. */
static void begin(const char *lines)
{
	char *text = fm_sprintf("fleetmark-world 1\nsysroot %s\n%send\n", s.path, lines);

	assert_non_null(text);
	assert_ok(fm_world_set(text));
	free(text);
	fm_fake_begin(NULL);
}

static int choose(const char *arch, bool raw, int cpu)
{
	size_t count;
	const struct fm_counter_source *const *list = fm_counter_sources(arch, raw, &count);

	return fm_counter_choose_from(list, count, &c, cpu, "auto", CHAIN, &why);
}

static void chosen(const char *lines, const char *arch, const char *source, const char *label)
{
	begin(lines);
	assert_ok(choose(arch, false, 0));
	assert_string_equal(c.source->name, source);
	assert_string_equal(fm_label_name(c.label), label);
}

/* Why the source was not taken. */
static void rejected(const char *source, const char *words)
{
	for (unsigned i = 0; i < why.count; i++)
		if (strcmp(why.at[i].source, source) == 0) {
			if (strstr(why.at[i].reason, words) == NULL)
				fail_msg("%s: %s", source, why.at[i].reason);
			return;
		}
	fail_msg("%s was not rejected", source);
}

/* Ticks of a boosting core are ticks, and those that would pass the truth test too. */
static void mt_01_ticks(void **state)
{
	static const char *const permille[] = {"800", "1000"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char lines[200];

		snprintf(lines, sizeof lines,
		        "open perf_rdpmc ENOENT\nopen perf_read ENOENT\nopen tsc ok\n"
		        "chain_permille %s\ncore_hz 3000000000\ntick_hz 2400000000\n",
		        permille[i]);
		chosen(lines, "x86_64", "tsc", "ref_ticks");
		assert_string_equal(c.scope, "wall");
		assert_int_equal(c.truth_permille, -1);
		rejected("perf_rdpmc", "no PMU on this CPU (ENOENT)");
		rejected("perf_read", "ENOENT");
	}
}

/* The register without an event, only when it is asked for: a signal or a failed truth test is a
 * refusal with its reason, and the usual order follows. */
static void mt_04_raw_register(void **state)
{
	(void)state;
	begin("open rdpmc SIGSEGV\nopen pmccntr SIGILL\n");
	assert_ok(choose("aarch64", true, 0));
	assert_string_equal(c.source->name, "cntvct");
	rejected("pmccntr", "SIGILL");
	assert_ok(choose("x86_64", true, 0));
	assert_string_equal(c.source->name, "tsc");
	rejected("rdpmc", "SIGSEGV");
	begin("open pmccntr ok\nchain_permille 700\n");
	assert_ok(choose("aarch64", true, 0));
	assert_string_equal(c.source->name, "cntvct");
	rejected("pmccntr", "truth test: 700");
	begin("open pmccntr ok\nchain_permille 1000\n");
	assert_ok(choose("aarch64", true, 0));
	assert_string_equal(c.source->name, "pmccntr");
	assert_string_equal(fm_label_name(c.label), "core_cycles");
	assert_ok(choose("aarch64", false, 0)); /* not asked for */
	assert_string_equal(c.source->name, "cntvct");
}

static void mt_05_user_access(void **state)
{
	(void)state;
	scratch_put(&s, "proc/sys/kernel/perf_user_access", "0\n");
	chosen("open perf_user ok\nopen perf_read EACCES\n", "aarch64", "cntvct", "ref_ticks");
	rejected("perf_user", "kernel.perf_user_access = 0");
	rejected("perf_read", "EACCES: perf_event_paranoid = 2");
	scratch_put(&s, "proc/sys/kernel/perf_user_access", "1\n");
	chosen("open perf_user EACCES\nopen perf_read ok\n", "aarch64", "perf_read", "core_cycles");
	rejected("perf_user", "EACCES: kernel.perf_user_access = 1, perf_event_paranoid = 2");
	chosen("open perf_user ok\n", "aarch64", "perf_user", "core_cycles");
}

/* Every source of an architecture is tried; none is chosen by what the compiler was told. */
static void mt_06_sources(void **state)
{
	static const char *const x86[] = {"rdpmc", "perf_rdpmc", "perf_read", "tsc", "clock"};
	static const char *const arm[] = {
	        "pmccntr", "perf_user", "perf_read", "perf_read_toggle", "cntvct", "clock"};
	const struct fm_counter_source *const *list;
	size_t count;

	(void)state;
	list = fm_counter_sources("x86_64", true, &count);
	assert_int_equal(count, 5);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(list[i]->name, x86[i]);
	list = fm_counter_sources("aarch64", true, &count);
	assert_int_equal(count, 6);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(list[i]->name, arm[i]);
	list = fm_counter_sources("riscv64", true, &count);
	assert_int_equal(count, 1);
	assert_string_equal(list[0]->name, "clock");
	scratch_put(&s, "proc/sys/kernel/perf_user_access", "1\n");
	begin("open perf_read SIGSEGV\nopen perf_user SIGILL\nopen pmccntr SIGILL\n");
	assert_ok(choose("aarch64", true, 0));
	assert_string_equal(c.source->name, "cntvct");
	assert_int_equal(why.count, 4);
	rejected("pmccntr", "SIGILL");
	rejected("perf_user", "SIGILL");
	rejected("perf_read", "SIGSEGV");
	rejected("perf_read_toggle", "SIGSEGV");
}

static void mt_07_groups(void **state)
{
	struct perf_event_attr attr;

	(void)state;
	chosen("open perf_read ok\nopen group ok\n", "aarch64", "perf_read", "core_cycles");
	assert_true(fm_fake_opened(&attr) >= 1);
	assert_false(attr.read_format & PERF_FORMAT_GROUP);
	chosen("open perf_read ok\nopen perf_read_toggle ok\nopen group ok\nreads 0\n", "aarch64",
	        "perf_read_toggle", "core_cycles");
	rejected("perf_read", "counter 0 while time passed");
	chosen("open perf_read ok\nreads 0\n", "aarch64", "cntvct", "ref_ticks");
	rejected("perf_read_toggle", "counter 0 while time passed");
}

/* The event is opened on the PMU that owns the CPU. */
static void mt_08_hybrid(void **state)
{
	struct perf_event_attr attr;
	char type[32];

	(void)state;
	scratch_put(&s, PMUS "cpu_core/cpus", "0-15\n");
	scratch_put(&s, PMUS "cpu_core/type", "4\n");
	scratch_put(&s, PMUS "cpu_atom/cpus", "16-23\n");
	scratch_put(&s, PMUS "cpu_atom/type", "10\n");
	begin("open perf_read ok\n");
	assert_ok(choose("x86_64", false, 20));
	assert_string_equal(c.source->name, "perf_read");
	assert_string_equal(c.pmu, "cpu_atom");
	(void)fm_fake_opened(&attr);
	assert_int_equal(attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(attr.config >> 32, 10);
	fm_host_core_type(20, type, sizeof type);
	assert_string_equal(type, "cpu_atom");
	assert_ok(choose("x86_64", false, 2));
	assert_string_equal(c.pmu, "cpu_core");
	(void)fm_fake_opened(&attr);
	assert_int_equal(attr.config >> 32, 4);
	fm_host_core_type(2, type, sizeof type);
	assert_string_equal(type, "cpu_core");
	assert_ok(choose("x86_64", false, 30)); /* neither has it: no event at all */
	assert_string_equal(c.source->name, "tsc");
	rejected("perf_read", "no PMU of this host lists CPU 30");
	scratch_put(&s, PMUS "armv8_cortex_a55/cpus", "30-31\n"); /* and the clusters of an Arm */
	scratch_put(&s, PMUS "armv8_cortex_a55/type", "11\n");
	assert_ok(choose("aarch64", false, 30));
	(void)fm_fake_opened(&attr);
	assert_int_equal(attr.type, 11);
	assert_int_equal(attr.config, 0x11);
}

/* On a host without a second kind of core the generic event is right. */
static void mt_08_uniform(void **state)
{
	struct perf_event_attr attr;

	(void)state;
	scratch_put(&s, PMUS "cpu/type", "4\n");
	chosen("open perf_read ok\n", "x86_64", "perf_read", "core_cycles");
	assert_string_equal(c.pmu, "cpu");
	(void)fm_fake_opened(&attr);
	assert_int_equal(attr.config, PERF_COUNT_HW_CPU_CYCLES);
}

static void mt_11_dead(void **state)
{
	struct fm_count value;

	(void)state;
	scratch_put(&s, "proc/sys/kernel/nmi_watchdog", "1\n");
	chosen("open perf_read ok\nreads 0 0 0\n", "x86_64", "tsc", "ref_ticks");
	rejected("perf_read", "counter 0 while time passed");
	/* withdrawn while measuring: the page has no index any more */
	chosen("open perf_rdpmc ok\npage_index 0\n", "x86_64", "perf_rdpmc", "core_cycles");
	assert_ok(fm_counter_read(&c, &value));
	fm_fake_windows(0);
	assert_fails(FM_ERR_MEASURE, "may not be read from user mode (index 0)",
	        fm_counter_read(&c, &value));
}

static void mt_12_pinned(void **state)
{
	struct perf_event_attr attr;
	struct fm_count value;

	(void)state;
	chosen("open perf_read ok\nread_bytes 0\n", "x86_64", "perf_read", "core_cycles");
	assert_int_equal(fm_fake_opened(&attr), 2); /* perf_rdpmc was refused before */
	assert_int_equal(attr.pinned, 1);
	assert_int_equal(attr.exclude_kernel, 1);
	assert_int_equal(attr.exclude_hv, 1);
	assert_int_equal(
	        attr.read_format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	assert_ok(fm_counter_read(&c, &value));
	fm_fake_windows(0);
	assert_fails(FM_ERR_MEASURE, "pinned event is in error state", fm_counter_read(&c, &value));
}

static void mt_13_truth(void **state)
{
	(void)state;
	chosen("open perf_read ok\nchain_permille 0\n", "x86_64", "tsc", "ref_ticks");
	rejected("perf_read", "truth test: 0 counts per 1000 core cycles");
	chosen("open perf_read ok\nchain_permille 700\n", "x86_64", "tsc", "ref_ticks");
	rejected("perf_read", "truth test: 700 counts per 1000 core cycles");
	chosen("open perf_read ok\nchain_permille 1000\n", "x86_64", "perf_read", "core_cycles");
	assert_int_equal(c.truth_permille, 1000);
}

static void mt_14_paranoid(void **state)
{
	(void)state;
	scratch_put(&s, "proc/sys/kernel/perf_event_paranoid", "3\n");
	chosen("open perf_rdpmc EACCES\nopen perf_read EACCES\n", "x86_64", "tsc", "ref_ticks");
	rejected("perf_read", "EACCES: perf_event_paranoid = 3");
	chosen("open perf_rdpmc ENOSYS\nopen perf_read ENOSYS\nopen tsc ENODEV\n", "x86_64",
	        "clock", "ns");
	rejected("perf_read", "ENOSYS: no perf in this kernel");
}

/* The register says 1 GHz, the counter steps by 41. */
static void mt_17_steps(void **state)
{
	(void)state;
	chosen("step 41\ntick_hz 1000000000\ncntfrq_hz 1000000000\n", "aarch64", "cntvct",
	        "ref_ticks");
	assert_int_equal(c.resolution, 41);
	assert_int_equal(c.hz, 1000000000); /* a claim; what the job writes down is measured */
	chosen("tick_hz 1000000000\ncntfrq_hz 1000000000\n", "aarch64", "cntvct", "ref_ticks");
	assert_true(c.resolution < 41);
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {T(mt_01_ticks), T(mt_04_raw_register),
	        T(mt_05_user_access), T(mt_06_sources), T(mt_07_groups), T(mt_08_hybrid),
	        T(mt_08_uniform), T(mt_11_dead), T(mt_12_pinned), T(mt_13_truth), T(mt_14_paranoid),
	        T(mt_17_steps)};

	return mt_main(tests, argc, argv);
}
