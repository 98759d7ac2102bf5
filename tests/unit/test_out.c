/* test_out.c: what people and scripts see: escaped, masked, valid JSON, quiet when asked; a live
 * line only on a terminal. */
#include "orchestrator/jsonr.h"
#include "orchestrator/out.h"
#include "tests/unit/scratch.h"
#include <pty.h>
#include <sys/wait.h>

static char out_text[65536], err_text[65536];

static void slurp(const struct scratch *s, const char *name, char text[65536])
{
	struct fm_buf b;

	assert_ok(fm_fs_read(s->fd, name, 65535, &b));
	memcpy(text, b.data, b.len + 1);
	fm_buf_free(&b);
}

/* Runs body in a child whose stdout and stderr are files, then reads both. */
static void captured(const struct fm_options *o, void (*body)(void))
{
	struct scratch s;
	int status;
	pid_t child;

	scratch_open(&s);
	fflush(NULL);
	assert_true((child = fork()) >= 0);
	if (child == 0) {
		dup2(openat(s.fd, "out", O_CREAT | O_WRONLY, 0600), 1);
		dup2(openat(s.fd, "err", O_CREAT | O_WRONLY, 0600), 2);
		fm_out_init(o);
		body();
		fflush(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	slurp(&s, "out", out_text);
	slurp(&s, "err", err_text);
	scratch_close(&s);
}

static void hostile_words(void)
{
	fm_say("note %s", "\033[31mred\033[0m \xe2\x80\xae backwards \x9b m");
	fm_verbose("only with -v");
	fm_result("result %d", 7);
	fm_out_event(&(struct fm_event){.event = "stage",
	        .system = "x86_1",
	        .stage = "measure",
	        .candidate = "hash-31",
	        .text = "line\nbreak \"quoted\"",
	        .done = 24,
	        .total = 48,
	        .eta_s = 12,
	        .has_eta = true});
	fm_out_event(
	        &(struct fm_event){.event = "heartbeat", .quiet = true, .done = 1, .total = 2});
	fm_fail(FM_ERR_TIMEOUT, "no answer after %s", "20 s \033]0;x\007");
	fm_out_error(FM_ERR_TIMEOUT, "arm_1", "connect", "fleetmark check -l arm_1");
}

static void people_get_escaped_lines(void **state)
{
	struct fm_options o = {.json = false};

	(void)state;
	captured(&o, hostile_words);
	assert_string_equal(out_text, "result 7\n");
	assert_string_equal(err_text,
	        "note \\x1b[31mred\\x1b[0m \\xe2\\x80\\xae backwards \\x9b m\n"
	        "x86_1    measure   hash-31   line\\x0abreak \"quoted\" 24/48, 12 s left\n"
	        "fleetmark: arm_1: connect: no answer after 20 s \\x1b]0;x\\x07\n"
	        "  next: fleetmark check -l arm_1\n");
}

static void quiet_and_verbose(void **state)
{
	struct fm_options o = {.quiet = true};

	(void)state;
	captured(&o, hostile_words);
	assert_string_equal(out_text, "result 7\n");
	assert_true(strncmp(err_text, "fleetmark: arm_1: connect:", 26) ==
	            0); /* errors are always told */
	o = (struct fm_options){.verbose = 1};
	captured(&o, hostile_words);
	assert_non_null(strstr(err_text, "only with -v"));
}

static void scripts_get_ndjson(void **state)
{
	struct fm_options o = {.json = true};
	const char *events[] = {"note", "result", "stage", "heartbeat", "error"};
	char *save = NULL;
	int64_t seq, number;
	size_t count = 0;

	(void)state;
	captured(&o, hostile_words);
	for (char *line = strtok_r(out_text, "\n", &save); line != NULL;
	        line = strtok_r(NULL, "\n", &save)) {
		struct fm_json *d = NULL;
		const char *text;

		assert_ok(fm_json_read_foreign("event", line, strlen(line), 65536, &d));
		assert_ok(fm_json_int(fm_json_root(d), "seq", &seq));
		assert_int_equal(seq, count + 1);
		assert_ok(fm_json_str(fm_json_root(d), "event", &text));
		assert_string_equal(text, events[count]);
		assert_ok(fm_json_str(fm_json_root(d), "t", &text));
		assert_ok(fm_json_int(fm_json_root(d), "mono_ns", &number));
		if (strcmp(events[count], "stage") == 0) {
			assert_ok(fm_json_str(fm_json_root(d), "text", &text));
			assert_string_equal(text, "line\\x0abreak \"quoted\"");
			assert_ok(fm_json_int(fm_json_root(d), "eta_s", &number));
			assert_int_equal(number, 12);
		}
		if (strcmp(events[count], "error") == 0) {
			assert_ok(fm_json_str(fm_json_root(d), "class", &text));
			assert_string_equal(text, "transport");
			assert_ok(fm_json_str(fm_json_root(d), "reason", &text));
			assert_string_equal(text, "timeout");
		}
		count++;
		fm_json_free(d);
	}
	assert_int_equal(count, 5);
	assert_non_null(strstr(err_text, "fleetmark: arm_1: connect:"));
}

static void secrets(void)
{
	fm_say("-----BEGIN OPENSSH PRIVATE KEY-----b3BlbnNzaC1rZXk-----END");
	fm_say("https://bob:hunter2@host.example/x and https://host.example/a:b@c");
}

static void secrets_are_masked(void **state)
{
	struct fm_options o = {.json = false};

	(void)state;
	captured(&o, secrets);
	assert_null(strstr(err_text, "b3Blb"));
	assert_null(strstr(err_text, "hunter2"));
	assert_non_null(strstr(err_text, "https://bob:*******@host.example/x"));
	assert_non_null(strstr(err_text, "https://host.example/a:b@c"));
}

static void progress(void)
{
	fm_out_progress(10, 100, "cells");
	usleep(150000);
	fm_out_progress(60, 100, "cells");
	fm_say("a note between");
	usleep(150000);
	fm_out_progress(100, 100, "cells");
	fm_out_progress_end();
}

static void progress_without_a_terminal(void **state)
{
	struct fm_options o = {.json = false};

	(void)state;
	captured(&o, progress);
	/* the first line, then a heartbeat only after 30 s; no escape codes */
	assert_string_equal(err_text, "10/100 cells, time left not known yet\na note between\n");
	o.quiet = true;
	captured(&o, progress);
	assert_string_equal(err_text, "");
}

static void progress_on_a_terminal(void **state)
{
	struct fm_options o = {.json = false};
	char text[4096] = "";
	size_t used = 0;
	ssize_t got;
	int master, status;
	pid_t child;

	(void)state;
	fflush(NULL);
	child = forkpty(&master, NULL, NULL, NULL);
	if (child < 0)
		skip(); /* no pseudo-terminals here */
	if (child == 0) {
		setenv("TERM", "xterm", 1);
		fm_out_init(&o);
		progress();
		_exit(0);
	}
	while (used < sizeof text - 1 &&
	        (got = read(master, text + used, sizeof text - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	close(master);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "10/100 cells, time left not known yet"));
	assert_non_null(strstr(text, "\r\033[K60/100 cells, 0."));
	assert_non_null(
	        strstr(text, " s left\r\033[Ka note between\r\n")); /* the live line makes room */
	assert_int_equal(text[used - 1], 'K');                      /* and is gone at the end */
}

static void durations(void **state)
{
	char text[32];

	(void)state;
	assert_string_equal(fm_duration(0, text), "0.0 s");
	assert_string_equal(fm_duration(3260000000ULL, text), "3.2 s");
	assert_string_equal(fm_duration(80000000000ULL, text), "1 min 20 s");
	assert_string_equal(fm_duration(3600000000000ULL, text), "1 h 0 min");
	assert_string_equal(fm_duration(187200000000000ULL, text), "2 d 4 h");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(people_get_escaped_lines),
	        cmocka_unit_test(quiet_and_verbose),
	        cmocka_unit_test(scripts_get_ndjson),
	        cmocka_unit_test(secrets_are_masked),
	        cmocka_unit_test(progress_without_a_terminal),
	        cmocka_unit_test(progress_on_a_terminal),
	        cmocka_unit_test(durations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
