/* test_tune.c: settings of a made-up machine are listed, changed and put back: twice, after a
 * crash, after somebody else's change, after a reboot, and without the right to. */
#include "agent/tune.h"
#include "protocol/fs.h"
#include "tests/unit/scratch.h"
#include <fcntl.h>
#include <unistd.h>

#define CPUS "sys/devices/system/cpu/"

static const char boot[] = "1111111111111111111111111111111111111111111111111111111111111111",
                  other[] = "2222222222222222222222222222222222222222222222222222222222222222";
static struct scratch host, work;
static struct fm_tune_sudo sudo; /* made-up files need none */

static const char *const made[][2] = {{CPUS "intel_pstate/no_turbo", "0"},
        {CPUS "cpu2/cpufreq/scaling_governor", "powersave"},
        {CPUS "cpu2/cpufreq/base_frequency", "2100000"},
        {CPUS "cpu2/cpufreq/scaling_min_freq", "800000"},
        {CPUS "cpu2/cpufreq/scaling_max_freq", "4900000"},
        {CPUS "cpu2/topology/thread_siblings_list", "2,6"}, {CPUS "cpu6/online", "1"},
        {"proc/sys/kernel/perf_event_paranoid", "4"}, {"proc/sys/kernel/nmi_watchdog", "1"},
        {"proc/sys/kernel/randomize_va_space", "2"}};
#define CHANGES 7 /* of these that differ: not base frequency, siblings and ASLR */

static void put(const char *path, const char *value)
{
	char line[100];

	snprintf(line, sizeof line, "%s\n", value);
	assert_ok(fm_fs_write_deep(host.fd, path, line, strlen(line), 0644));
}

static void is(const char *path, const char *value)
{
	struct fm_buf text;

	assert_ok(fm_fs_read(host.fd, path, 1000, &text));
	text.data[strcspn(text.data, "\n")] = '\0';
	assert_string_equal(text.data, value);
	fm_buf_free(&text);
}

static int setup(void **state)
{
	(void)state;
	scratch_open(&host);
	scratch_open(&work);
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
		put(made[i][0], made[i][1]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	scratch_close(&host);
	scratch_close(&work);
	return 0;
}

static bool state_there(void)
{
	return faccessat(work.fd, FM_TUNE_STATE, F_OK, 0) == 0;
}

static void as_made(void)
{
	for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
		is(made[i][0], made[i][1]);
}

static void change_and_restore(void **state)
{
	struct fm_tune_items items;

	(void)state;
	fm_tune_list(host.path, 2, &items);
	assert_int_equal(items.count, CHANGES);
	assert_false(state_there()); /* listing writes nothing */
	as_made();
	assert_ok(fm_tune_apply(work.fd, boot, host.path, &items, &sudo));
	for (size_t i = 0; i < items.count; i++)
		assert_string_equal(items.at[i].outcome, "set");
	is(CPUS "cpu2/cpufreq/scaling_governor", "performance");
	is(CPUS "cpu2/cpufreq/scaling_min_freq", "2100000");
	is(CPUS "cpu2/cpufreq/scaling_max_freq", "2100000");
	is(CPUS "cpu6/online", "0");
	is("proc/sys/kernel/perf_event_paranoid", "2");
	/* again: nothing to do */
	fm_tune_list(host.path, 2, &items);
	assert_int_equal(items.count, 0);
	assert_ok(fm_tune_apply(work.fd, boot, host.path, &items, &sudo));
	assert_true(state_there());
	assert_ok(fm_tune_restore(work.fd, boot, host.path, &items, &sudo));
	assert_int_equal(items.count, CHANGES);
	assert_string_equal(items.at[0].outcome, "restored");
	assert_string_equal(items.at[0].path, "/proc/sys/kernel/nmi_watchdog"); /* backwards */
	as_made();
	assert_false(state_there());
	assert_ok(fm_tune_restore(work.fd, boot, host.path, &items, &sudo));
	assert_int_equal(items.count, 0);
}

/* The state is written before the first setting: a crash between them loses nothing. */
static void crash(void **state)
{
	struct fm_tune_items items, some;

	(void)state;
	fm_tune_list(host.path, 2, &items);
	assert_ok(fm_tune_apply(work.fd, boot, host.path, &items, &sudo));
	put(CPUS "cpu6/online", "1"); /* as if the writes had ended before this one */
	put("proc/sys/kernel/perf_event_paranoid", "4");
	/* a second tune after the crash never takes a tuned value for an old one */
	fm_tune_list(host.path, 2, &some);
	assert_int_equal(some.count, 2);
	assert_ok(fm_tune_apply(work.fd, boot, host.path, &some, &sudo));
	assert_ok(fm_tune_restore(work.fd, boot, host.path, &items, &sudo));
	assert_int_equal(items.count, CHANGES);
	as_made();
}

static void somebody_else(void **state)
{
	struct fm_tune_items items;
	size_t foreign = 0;

	(void)state;
	fm_tune_list(host.path, 2, &items);
	assert_ok(fm_tune_apply(work.fd, boot, host.path, &items, &sudo));
	put(CPUS "cpu2/cpufreq/scaling_governor", "ondemand");
	assert_ok(fm_tune_restore(work.fd, boot, host.path, &items, &sudo));
	for (size_t i = 0; i < items.count; i++)
		foreign += strcmp(items.at[i].outcome, "foreign") == 0;
	assert_int_equal(foreign, 1);
	is(CPUS "cpu2/cpufreq/scaling_governor", "ondemand");
	is(CPUS "cpu6/online", "1");
	assert_false(state_there());
}

static void reboot(void **state)
{
	struct fm_tune_items items;

	(void)state;
	fm_tune_list(host.path, 2, &items);
	assert_ok(fm_tune_apply(work.fd, boot, host.path, &items, &sudo));
	put("proc/sys/kernel/perf_event_paranoid", "3"); /* what the kernel began with */
	assert_ok(fm_tune_restore(work.fd, other, host.path, &items, &sudo));
	for (size_t i = 0; i < items.count; i++)
		assert_string_equal(items.at[i].outcome, "rebooted");
	is("proc/sys/kernel/perf_event_paranoid", "3"); /* nothing was written */
	is(CPUS "cpu6/online", "0");
	assert_false(state_there());
}

/* A file that cannot be written: an outcome, and the state stays for the next try. */
static void no_right(void **state)
{
	struct fm_tune_items items;
	size_t refused = 0;

	(void)state;
	fm_tune_list(host.path, 2, &items);
	assert_ok(fm_fs_remove(host.fd, CPUS "cpu6/online"));
	assert_int_equal(mkdirat(host.fd, CPUS "cpu6/online", 0755), 0);
	assert_ok(fm_tune_apply(work.fd, boot, host.path, &items, &sudo));
	for (size_t i = 0; i < items.count; i++)
		refused += strcmp(items.at[i].outcome, "refused") == 0;
	assert_int_equal(refused, 1);
	assert_true(state_there());
}

static void hostile_state(void **state)
{
	static const char *const lines[] = {"change /etc/passwd x y",
	        "change /sys/../etc/passwd x y", "change /sys/a x", "change /sys/a x y z",
	        "nothing /sys/a x y"};
	struct fm_tune_items items;

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		char text[300];

		snprintf(text, sizeof text, "fleetmark-tune 1\nboot %s\n%s\nend\n", boot, lines[i]);
		assert_ok(fm_fs_write(work.fd, FM_TUNE_STATE, text, strlen(text), 0600));
		if (fm_tune_restore(work.fd, boot, host.path, &items, &sudo) == FM_OK)
			fail_msg("taken: %s", lines[i]);
		assert_int_equal(items.count, 0);
	}
	as_made();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(change_and_restore, setup, teardown),
	        cmocka_unit_test_setup_teardown(crash, setup, teardown),
	        cmocka_unit_test_setup_teardown(somebody_else, setup, teardown),
	        cmocka_unit_test_setup_teardown(reboot, setup, teardown),
	        cmocka_unit_test_setup_teardown(no_right, setup, teardown),
	        cmocka_unit_test_setup_teardown(hostile_state, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
