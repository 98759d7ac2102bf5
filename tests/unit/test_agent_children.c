/* test_agent_children.c: what a child of the agent may not do: live too long, hide, flood, read
 * what is closed to it. */
#include "agent/agent.h"
#include "agent/sandbox.h"
#include "agent/spawn.h"
#include "tests/unit/scratch.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static const char *const path_only[] = {"PATH=/usr/bin:/bin", NULL};

/* Runs a shell line. */
static struct fm_child shell(const char *line, unsigned timeout_ms, const char *writable)
{
	const char *argv[] = {"/bin/sh", "-c", line, NULL};
	struct fm_command what = {.argv = argv,
	        .env = path_only,
	        .cwd = -1,
	        .input = -1,
	        .order = -1,
	        .results = true,
	        .output_max = 1000,
	        .results_max = 1000,
	        .timeout_ms = timeout_ms,
	        .writable = writable};
	struct fm_child c;

	assert_ok(fm_child_run(&what, &c));
	return c;
}

static int seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int)(now.tv_sec - start->tv_sec);
}

static void output_and_status_come_back(void **state)
{
	struct fm_child c = shell(
	        "echo hello; echo result >&4; echo \"[$0]$(env | wc -l)\"; exit 3", 5000, NULL);
	char text[FM_HOST_TEXT];

	(void)state;
	assert_false(fm_child_good(&c, text, sizeof text));
	assert_string_equal(text, "ended with status 3");
	assert_non_null(strstr(c.output.data, "hello\n"));
	assert_string_equal(c.results.data, "result\n");
	fm_child_free(&c);
}

static void a_missing_program_is_status_127(void **state)
{
	const char *argv[] = {"/nowhere/prog", NULL};
	struct fm_command what = {.argv = argv,
	        .cwd = -1,
	        .input = -1,
	        .order = -1,
	        .output_max = 10,
	        .timeout_ms = 1000};
	struct fm_child c;

	(void)state;
	assert_ok(fm_child_run(&what, &c));
	assert_int_equal(WEXITSTATUS(c.status), 127);
	fm_child_free(&c);
}

/* TERM is ignored, a grandchild leaves the group and the session and holds the pipe: all of it is
 * gone in time. */
static void deserters_are_found(void **state)
{
	struct timespec start;
	struct fm_child c;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &start);
	c = shell("trap '' TERM; setsid sh -c \"trap '' TERM; sleep 77.125\" & sleep 78.125; sleep "
	          "79.125",
	        300, NULL);
	assert_int_equal(c.killed, FM_CHILD_TIMEOUT);
	assert_true(seconds_since(&start) <= 5);
	fm_child_free(&c);
	clock_gettime(CLOCK_MONOTONIC, &start);
	c = shell("setsid sleep 77.125 & exit 0", 5000, NULL); /* the child itself ends well */
	assert_int_equal(c.killed, FM_CHILD_ALIVE);
	assert_true(seconds_since(&start) <= 2);
	fm_child_free(&c);
	assert_ok(fm_child_sweep());
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void floods_are_stopped(void **state)
{
	struct fm_child c = shell("yes | head -c 100000; yes >&4", 10000, NULL);

	(void)state;
	assert_int_equal(c.killed, FM_CHILD_FLOOD); /* of results; output is only cut */
	assert_int_equal(c.output.len, 1000);
	assert_int_equal(c.output_dropped, 99000);
	fm_child_free(&c);
}

/* Descriptors of the parent are not there, new privileges cannot be had, cores are not written. */
static void little_is_inherited(void **state)
{
	struct scratch s;
	struct fm_child c;
	int fd;

	(void)state;
	scratch_open(&s);
	scratch_put(&s, "secret", "42");
	fd = openat(s.fd, "secret", O_RDONLY | O_CLOEXEC);
	c = shell("ls /proc/self/fd | tr '\\n' ' '; grep NoNewPrivs /proc/self/status; ulimit -c",
	        5000, NULL);
	assert_non_null(strstr(c.output.data, "0 1 2 3 4 ")); /* 3 is ls reading the folder */
	assert_non_null(strstr(c.output.data, "NoNewPrivs:\t1"));
	assert_non_null(strstr(c.output.data, "\n0\n"));
	fm_child_free(&c);
	close(fd);
	scratch_close(&s);
}

/* With Landlock a build reads the system and its own folders, and no key. */
static void a_build_cannot_read_the_key(void **state)
{
	struct scratch s;
	struct fm_child c;
	char line[400], open[100];
	int fd;

	(void)state;
	if (fm_sandbox_abi() == 0)
		skip();
	scratch_open(&s);
	scratch_put(&s, "key", "0123");
	assert_ok(fm_fs_mkdirs(s.fd, "work", 0755, &fd));
	close(fd);
	snprintf(open, sizeof open, "%s/work", s.path);
	snprintf(line, sizeof line,
	        "cat %s/key; echo x > %s/work/out && cat %s/work/out; echo y > %s/other; test -d "
	        "/usr/bin && echo bin",
	        s.path, s.path, s.path, s.path);
	c = shell(line, 5000, open);
	assert_null(strstr(c.output.data, "0123"));
	assert_non_null(strstr(c.output.data, "\nx\n"));
	assert_non_null(strstr(c.output.data, "bin\n"));
	scratch_missing(&s, "other");
	fm_child_free(&c);
	scratch_close(&s);
}

static int stop(void *arg)
{
	int *calls = arg;

	return ++*calls < 3 ? FM_OK : fm_fail(FM_ERR_CANCELLED, "cancelled");
}

static void a_cancel_ends_all(void **state)
{
	const char *argv[] = {"/bin/sleep", "60", NULL};
	struct fm_command what = {.argv = argv,
	        .cwd = -1,
	        .input = -1,
	        .order = -1,
	        .output_max = 10,
	        .timeout_ms = 60000};
	struct fm_child c[3];
	struct timespec start;
	size_t ended;
	int calls = 0;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < 3; i++)
		assert_ok(fm_child_start(&what, &c[i]));
	fm_child_serve(-1, 50, stop, &calls);
	assert_int_equal(fm_child_wait(c, 3, &ended), FM_ERR_CANCELLED);
	fm_child_serve(-1, 0, NULL, NULL);
	assert_true(seconds_since(&start) <= 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(c[i].pid, 0);
		fm_child_free(&c[i]);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(output_and_status_come_back),
	        cmocka_unit_test(a_missing_program_is_status_127),
	        cmocka_unit_test(deserters_are_found),
	        cmocka_unit_test(floods_are_stopped),
	        cmocka_unit_test(little_is_inherited),
	        cmocka_unit_test(a_build_cannot_read_the_key),
	        cmocka_unit_test(a_cancel_ends_all),
	};

	if (fm_child_init(true) != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
