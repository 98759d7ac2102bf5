/* test_live.c: the table of a campaign: folded from events, as wide and high as the terminal, never
 * wider. */
#include "orchestrator/live.h"
#include "tests/unit/scratch.h"

#define S 1000000000ULL

static struct fm_live live;

static void event(
        const char *name, const char *system, const char *stage, const char *text, uint64_t at)
{
	fm_live_take(&live,
	        &(struct fm_event){.event = name, .system = system, .stage = stage, .text = text},
	        at);
}

static void stage(const char *system, const char *name, uint64_t done, uint64_t total, uint64_t eta,
        uint64_t at)
{
	fm_live_take(&live,
	        &(struct fm_event){.event = "stage",
	                .system = system,
	                .stage = name,
	                .candidate = "hash-31",
	                .done = done,
	                .total = total,
	                .eta_s = eta,
	                .has_eta = true},
	        at);
}

static char *drawn(size_t columns, size_t lines, uint64_t at, size_t *count)
{
	struct fm_buf b = FM_BUF_INIT(1u << 20);
	size_t widest = 0, n = 0;

	*count = fm_live_draw(&live, columns, lines, at, &b);
	for (const char *p = b.data; *p != '\0'; n++) {
		size_t len = strcspn(p, "\n");

		widest = len > widest ? len : widest;
		p += len + 1;
	}
	assert_int_equal(n, *count);
	assert_true(*count <= lines || lines < 4);
	assert_true(widest < columns);
	return b.data;
}

static int begin(void **state)
{
	(void)state;
	fm_live_free(&live);
	fm_live_take(
	        &live, &(struct fm_event){.event = "campaign", .text = "winter", .total = 96}, S);
	event("queued", "x86_1", NULL, NULL, S);
	event("queued", "arm_1", NULL, NULL, S);
	return 0;
}

static void a_table(void **state)
{
	char *text;
	size_t n;

	(void)state;
	event("connected", "x86_1", NULL, "10.0.0.1", 2 * S);
	stage("x86_1", "measure", 24, 48, 100, 10 * S);
	fm_live_take(&live, &(struct fm_event){.event = "cells", .done = 24, .total = 96}, 11 * S);
	text = drawn(120, 30, 20 * S, &n);
	assert_int_equal(n, 4);
	assert_non_null(strstr(text, "system  stage     cell "));
	assert_non_null(strstr(text, "x86_1   measure   hash-31 "));
	assert_non_null(strstr(
	        text, " 24/48   1 min 30 s  connected 10.0.0.1\n")); /* 100 s were told 10 s ago */
	assert_non_null(strstr(text, "arm_1   waiting\n"));
	assert_non_null(
	        strstr(text, "winter: 24/96 cells, 1 min 30 s left, running for 19 s; hosts: 1 "
	                     "at work, 0 done, 0 failed, 1 waiting\n"));
	free(text);
}

/* The estimate at first, the pace of the cells the more of them are done, never less than what a
 * host says of itself. */
static void time_left(void **state)
{
	uint64_t s;

	(void)state;
	assert_false(fm_live_left(&live, 10 * S, &s));
	fm_live_take(&live,
	        &(struct fm_event){.event = "campaign",
	                .text = "winter",
	                .total = 100,
	                .eta_s = 300,
	                .has_eta = true},
	        S);
	assert_true(fm_live_left(&live, 101 * S, &s));
	assert_int_equal(s, 200);
	fm_live_take(&live, &(struct fm_event){.event = "cells", .done = 1, .total = 100}, 101 * S);
	assert_true(fm_live_left(&live, 101 * S, &s));
	assert_in_range(s, 195, 205); /* the pace alone would say 9900 s */
	fm_live_take(
	        &live, &(struct fm_event){.event = "cells", .done = 90, .total = 100}, 191 * S);
	assert_true(fm_live_left(&live, 191 * S, &s));
	assert_in_range(s, 30, 45); /* 21 s by the pace, 110 s by the estimate */
	stage("x86_1", "measure", 1, 2, 60, 191 * S);
	assert_true(fm_live_left(&live, 191 * S, &s));
	assert_int_equal(s, 60);
	assert_false(fm_live_left(
	        &(struct fm_live){.total = 5, .estimate_s = 9, .begun_ns = S}, 60 * S, &s));
}

static void ends_and_silence(void **state)
{
	char *text;
	size_t n;

	(void)state;
	stage("x86_1", "measure", 1, 2, 100, 10 * S);
	fm_live_take(&live,
	        &(struct fm_event){.event = "host_failed",
	                .system = "arm_1",
	                .klass = "transport",
	                .reason = "connect",
	                .text = "no route"},
	        10 * S);
	text = drawn(120, 30, 100 * S, &n);
	assert_non_null(strstr(text, "nothing heard for 1 min 30 s"));
	assert_non_null(strstr(text, "arm_1   failed"));
	assert_non_null(strstr(text, "transport/connect no route"));
	free(text);
	event("host_done", "x86_1", NULL, NULL, 101 * S);
	text = drawn(120, 30, 200 * S, &n);
	assert_non_null(strstr(text, "x86_1   done\n"));
	assert_non_null(strstr(text, "hosts: 0 at work, 1 done, 1 failed, 0 waiting"));
	free(text);
}

/* Failed and busy hosts before the others; how many are left out is said. */
static void more_hosts_than_lines(void **state)
{
	char name[32], *text;
	size_t n;

	(void)state;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "x86_%d", 100 + i);
		event("queued", name, NULL, NULL, S);
	}
	stage("x86_150", "build", 1, 2, 3, 2 * S);
	fm_live_take(&live,
	        &(struct fm_event){.event = "host_failed",
	                .system = "x86_160",
	                .klass = "auth",
	                .reason = "auth"},
	        2 * S);
	text = drawn(80, 10, 3 * S, &n);
	assert_int_equal(n, 10);
	assert_true(strstr(text, "x86_160") < strstr(text, "x86_150"));
	assert_non_null(strstr(text, "... and 95 more\n"));
	free(text);
}

/* What a host says neither moves the cursor nor widens the table. */
static void hostile_text(void **state)
{
	char *text;
	size_t n;

	(void)state;
	event("note", "x86_1", "me\033[2Jasure",
	        "\033]0;x\007\r\n\x9b"
	        "31m and \xe2\x80\xae much much much much much more",
	        2 * S);
	for (size_t columns = 2; columns < 200; columns++) {
		text = drawn(columns, 24, 3 * S, &n);
		for (const char *p = text; *p != '\0'; p++)
			assert_true(*p == '\n' || (*p >= ' ' && *p <= '~'));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup(a_table, begin),
	        cmocka_unit_test_setup(time_left, begin),
	        cmocka_unit_test_setup(ends_and_silence, begin),
	        cmocka_unit_test_setup(more_hosts_than_lines, begin),
	        cmocka_unit_test_setup(hostile_text, begin),
	};
	int rc = cmocka_run_group_tests(tests, NULL, NULL);

	fm_live_free(&live);
	return rc;
}
