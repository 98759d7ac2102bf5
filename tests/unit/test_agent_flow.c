/* test_agent_flow.c: a forked agent from first contact to a sealed bundle, and everything it must
 * refuse. */
#include "tests/unit/agent_client.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <time.h>

#define TOY    FM_TEST_ROOT "/tests/data/toy"
#define NONCE1 "1111111111111111111111111111111111111111111111111111111111111111"
#define NONCE2 "2222222222222222222222222222222222222222222222222222222222222222"

static const struct instance toys[] = {
        {"Toy-256", 256, "toy.c", "TOY_START=7", "", "operation hash_32\noperation hash_1024\n"},
        {"Toy-Broken", 256, "broken.c", NULL, "", "operation hash_32\n"},
};
static const struct instance slow[] = {
        {"Slow-256", 256, "slow.c", NULL, "", "operation hash_32\noperation hash_4096\n"}};

/* Takes seconds whatever the machine. */
static const struct instance slower[] = {{"Slower-256", 256, "slow.c", "SLOW_TURNS=250000000ULL",
        "", "operation hash_32\noperation hash_4096\n"}};

/* One that needs the fallback flags, one whose known answer is wrong, one whose library is nowhere,
 * and a good one. */
static const struct instance mixed[] = {
        {"Toy-Good", 256, "toy.c", "TOY_START=7", "", "operation hash_32\n"},
        {"Toy-Lib", 256, "toy.c", "TOY_START=7\nlib fmnosuchlib", "", "operation hash_32\n"},
        {"Toy-Old", 256, "old.c", NULL, "", "operation hash_32\n"},
        {"Toy-Wrong", 256, "toy.c", "TOY_START=7",
                "kat_line " CHALLENGE " strict KAT_2_12_Toy-Wrong.txt\n", "operation hash_32\n"},
};

struct world {
	struct scratch s;
	struct client c;
	struct controller k;
	struct tree t;
	struct campaign p;
	char source[100]; /* the candidate's folder on the controller */
};

/* An enrolled agent in the folder of w, and a plan for it. */
static void world_fill(
        struct world *w, const char *name, const struct instance *instances, size_t count)
{
	char door[80];

	snprintf(door, sizeof door, "fleetmark-test.%ld.%s", (long)getpid(), name);
	setenv("FLEETMARK_TEST_DOOR", door, 1);
	snprintf(w->c.home, sizeof w->c.home, "%s/home", w->s.path);
	client_open(&w->c);
	controller_make(&w->k, 7);
	controller_enrol(&w->k, &w->c);
	snprintf(w->source, sizeof w->source, "%s", TOY);
	tree_make(&w->t, w->source);
	w->p = (struct campaign){.name = name, .profile = "smoke"};
	snprintf(w->p.folder, sizeof w->p.folder, "%s/plan", w->s.path);
	campaign_make(&w->p, &w->k, w->k.key, "toy", &w->t, instances, count, NULL);
}

/* Nothing went to the job's log: no sanitizer, no stray message. */
static void said_nothing(const struct world *w)
{
	char path[400];
	struct stat st;

	snprintf(path, sizeof path, "%s/jobs/%s/job.log", w->c.home, w->p.name);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
}

static void world_open(
        struct world *w, const char *name, const struct instance *instances, size_t count)
{
	memset(w, 0, sizeof *w);
	scratch_open(&w->s);
	world_fill(w, name, instances, count);
}

static void world_close(struct world *w)
{
	if (w->p.quiet)
		said_nothing(w);
	assert_int_equal(client_close(&w->c), 0);
	fm_identity_free(w->k.id);
	tree_free(&w->t);
	scratch_close(&w->s);
}

static void push(struct world *w)
{
	struct fm_buf data = FM_BUF_INIT(64u << 20);
	char lines[200];

	snprintf(lines, sizeof lines, "tree %s\n", w->t.hex);
	client_ok(&w->c, "have", lines, NULL, 0);
	assert_string_equal(client_value(&w->c, "missing"), w->t.hex);
	push_data(&w->t, w->source, 0, &data);
	snprintf(lines, sizeof lines, "tree %s %zu\n", w->t.hex, w->t.list.len);
	client_ok(&w->c, "push", lines, data.data, data.len);
	snprintf(lines, sizeof lines, "tree %s\n", w->t.hex);
	client_ok(&w->c, "have", lines, NULL, 0);
	assert_string_equal(client_value(&w->c, "missing"), "");
	fm_buf_free(&data);
}

static void plan_accepted(struct world *w)
{
	campaign_send(&w->p, &w->c, "toy", false);
	if (strcmp(w->c.status, "ok") != 0)
		print_message("%s/%s: %s\n", w->c.klass, w->c.reason, w->c.words);
	assert_string_equal(w->c.status, "ok");
}

static void started(struct world *w, unsigned attempt, const char *nonce)
{
	campaign_start(&w->p, &w->c, "toy", attempt, nonce);
	if (strcmp(w->c.status, "ok") != 0)
		print_message("%s/%s: %s\n", w->c.klass, w->c.reason, w->c.words);
	assert_string_equal(w->c.status, "ok");
	assert_string_equal(client_value(&w->c, "state"), "started");
}

/* The file of the fetched bundle as text; free with fm_buf_free. */
static struct fm_buf fetched(const struct world *w, const char *path)
{
	char full[400];
	struct fm_buf text;

	snprintf(full, sizeof full, "%s/bundle/%s", w->s.path, path);
	MUST(fm_fs_read(AT_FDCWD, full, 4u << 20, &text));
	return text;
}

static void facts_say_what_there_is(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "facts", toys, 2);
	client_ok(&w.c, "facts", "", NULL, 0);
	assert_string_equal(client_value(&w.c, "agent_source"), SOURCE);
	assert_string_equal(client_value(&w.c, "key"), w.k.key);
	assert_string_equal(client_value(&w.c, "controller"), w.k.line);
	assert_string_equal(client_value(&w.c, "holder"), "none");
	assert_string_equal(client_value(&w.c, "emulator"), "none");
	assert_int_equal(strlen(client_value(&w.c, "machine")), 64);
	assert_int_equal(strlen(client_value(&w.c, "agent_sha256")), 64);
	assert_non_null(strstr(client_value(&w.c, "compiler"), "gcc"));
	client_ok(&w.c, "check", "cpu -1\n", NULL, 0);
	assert_non_null(strchr(client_value(&w.c, "counter"), ' '));
	assert_non_null(strstr(w.c.reply, "\nhost_check pin refuse ok "));
	world_close(&w);
}

/* From nothing to a bundle whose seal holds; the broken instance fails alone. */
static void a_campaign_ends_sealed(void **state)
{
	char bundle[400];
	struct fm_buf text;
	struct world w;

	(void)state;
	world_open(&w, "flow", toys, 2);
	push(&w);
	plan_accepted(&w);
	client_ok(&w.c, "status", "campaign flow\n", NULL, 0);
	assert_string_equal(client_value(&w.c, "state"), "none");
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "flow", NULL, NULL, NULL), "finished");
	snprintf(bundle, sizeof bundle, "%s/bundle", w.s.path);
	campaign_fetch(&w.p, &w.c, &w.k, "toy", bundle);

	text = fetched(&w, "evidence.json");
	assert_non_null(strstr(text.data, "\"job_nonce\": \"" NONCE1 "\""));
	assert_non_null(strstr(text.data, "\"status\": \"NOKAT\""));
	assert_non_null(strstr(text.data, "\"status\": \"measured\""));
	assert_non_null(strstr(
	        text.data, "\"flags_kind\": \"fallback\"")); /* the broken one was tried again */
	fm_buf_free(&text);
	text = fetched(&w, "build/Toy-Broken__reference.log");
	assert_non_null(strstr(text.data, "broken on purpose"));
	fm_buf_free(&text);
	text = fetched(&w, "kat/Toy-256__reference.log");
	assert_non_null(strstr(text.data, "RESULT toy Toy-256 NOKAT \n"));
	fm_buf_free(&text);
	text = fetched(&w, "samples/Toy-256__reference__hash_1024.ns.txt");
	assert_true(text.len > 2);
	fm_buf_free(&text);

	/* the same nonce again: nothing is repeated; the old bundle stays as it was */
	campaign_start(&w.p, &w.c, "toy", 1, NONCE1);
	assert_string_equal(w.c.status, "ok");
	assert_string_equal(client_follow(&w.c, "flow", NULL, NULL, NULL), "finished");
	assert_true(campaign_get(&w.p, &w.c, "toy", "evidence.json"));
	assert_non_null(strstr(w.c.data.data, NONCE1));
	/* the nonce for another attempt: refused; a fresh one: measured anew */
	campaign_start(&w.p, &w.c, "toy", 2, NONCE1);
	client_refused(&w.c, "host-state", "refused");
	started(&w, 2, NONCE2);
	assert_string_equal(client_follow(&w.c, "flow", NULL, NULL, NULL), "finished");
	campaign_fetch(&w.p, &w.c, &w.k, "toy", bundle);
	w.p.quiet = true;
	world_close(&w);
}

/* The object of that instance in an array of the evidence ("builds", "kat", "cells"), as text; free
 * with free. */
static char *object_of(const struct fm_buf *evidence, const char *array, const char *instance)
{
	char start[40], name[80];
	const char *at, *open, *close;

	snprintf(start, sizeof start, "\n  \"%s\": [", array);
	snprintf(name, sizeof name, "\"instance\": \"%s\"", instance);
	at = strstr(evidence->data, start);
	assert_non_null(at);
	at = strstr(at, name);
	assert_non_null(at);
	for (open = at; *open != '{'; open--)
		;
	close = strchr(at, '}');
	assert_non_null(close);
	return fm_sprintf("%.*s", (int)(close - open), open);
}

static void says(
        const struct fm_buf *evidence, const char *array, const char *instance, const char *words)
{
	char *text = object_of(evidence, array, instance);

	if (text == NULL || strstr(text, words) == NULL)
		fail_msg("%s of %s: no %s in %s", array, instance, words, text);
	free(text);
}

static void bad_instances_fail_alone(void **state)
{
	char bundle[400];
	struct fm_buf text;
	struct world w;

	(void)state;
	world_open(&w, "mixed", mixed, 4);
	push(&w);
	plan_accepted(&w);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "mixed", NULL, NULL, NULL), "finished");
	snprintf(bundle, sizeof bundle, "%s/bundle", w.s.path);
	campaign_fetch(&w.p, &w.c, &w.k, "toy", bundle);
	text = fetched(&w, "evidence.json");
	says(&text, "cells", "Toy-Good", "\"status\": \"measured\"");
	says(&text, "builds", "Toy-Lib", "\"status\": \"missing\"");
	says(&text, "builds", "Toy-Lib", "library missing: fmnosuchlib");
	says(&text, "cells", "Toy-Lib", "\"status\": \"missing\"");
	says(&text, "builds", "Toy-Old", "\"flags_kind\": \"fallback\"");
	says(&text, "builds", "Toy-Old", "-DTOY_FALLBACK");
	says(&text, "cells", "Toy-Old", "\"status\": \"measured\"");
	says(&text, "builds", "Toy-Wrong",
	        "\"flags_kind\": \"guide\""); /* the fallback did not help */
	says(&text, "kat", "Toy-Wrong", "\"status\": \"MISMATCH\"");
	says(&text, "kat", "Toy-Wrong", "\"passed\": 0");
	says(&text, "cells", "Toy-Wrong", "\"class\": \"kat\"");
	says(&text, "cells", "Toy-Wrong", "\"status\": \"failed\"");
	fm_buf_free(&text);
	text = fetched(&w, "kat/Toy-Wrong__reference.log");
	assert_non_null(strstr(text.data, "differs KAT_2_12_Toy-Wrong.txt"));
	assert_non_null(strstr(text.data, "RESULT toy Toy-Wrong MISMATCH \n"));
	fm_buf_free(&text);
	world_close(&w);
}

static void get_gives_only_listed_plain_files(void **state)
{
	static const char *const bad[] = {
	        "../../key", "evidence.json/x", "nowhere.txt", "/etc/passwd", "key"};
	char path[500];
	struct world w;

	(void)state;
	world_open(&w, "get", toys, 1);
	push(&w);
	plan_accepted(&w);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "get", NULL, NULL, NULL), "finished");
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_false(campaign_get(&w.p, &w.c, "toy", bad[i]));
		client_refused(&w.c, "usage", "name");
	}
	/* a link in place of a listed file is not followed */
	snprintf(path, sizeof path, "%s/jobs/get/bundles/toy/evidence.json", w.c.home);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("../../../../key", path), 0);
	assert_false(campaign_get(&w.p, &w.c, "toy", "evidence.json"));
	assert_string_equal(w.c.status, "error");
	/* larger than asked for */
	client_call(
	        &w.c, "get", "campaign get\ncandidate toy\npath env/host.txt\nmax 10\n", NULL, 0);
	client_refused(&w.c, "verify", "size");
	world_close(&w);
}

static void another_controller_is_refused(void **state)
{
	char lines[400];
	struct controller other;
	struct world w;

	(void)state;
	world_open(&w, "pin", toys, 1);
	controller_make(&other, 9);
	snprintf(lines, sizeof lines, "system box_1\nchallenge %s\ncontroller %s\n", CHALLENGE,
	        other.line);
	client_call(&w.c, "enrol", lines, NULL, 0);
	client_refused(&w.c, "host-state", "refused");
	assert_non_null(strstr(w.c.words, "controller.pub"));
	/* its plan, though well formed, is not obeyed */
	campaign_make(&w.p, &other, w.k.key, "toy", &w.t, toys, 1, NULL);
	campaign_send(&w.p, &w.c, "toy", false);
	client_refused(&w.c, "verify", "signature");
	/* ours, but for another host's key */
	campaign_make(&w.p, &w.k, other.line, "toy", &w.t, toys, 1, NULL);
	campaign_send(&w.p, &w.c, "toy", false);
	client_refused(&w.c, "host-state", "refused");
	/* one flipped byte in a file that the seal names */
	campaign_make(&w.p, &w.k, w.k.key, "toy", &w.t, toys, 1, NULL);
	snprintf(lines, sizeof lines, "%s/plan.json", w.p.folder);
	MUST(fm_fs_write(AT_FDCWD, lines, "{ }\n", 4, 0644));
	campaign_send(&w.p, &w.c, "toy", false);
	client_refused(&w.c, "verify", "digest");
	assert_false(campaign_get(&w.p, &w.c, "toy", "evidence.json"));
	client_refused(&w.c, "host-state", "refused");
	fm_identity_free(other.id);
	world_close(&w);
}

static void unenrolled_hosts_obey_nobody(void **state)
{
	struct world w;
	char path[300];

	(void)state;
	world_open(&w, "free", toys, 1);
	snprintf(path, sizeof path, "%s/controller.pub", w.c.home);
	assert_int_equal(unlink(path), 0);
	campaign_send(&w.p, &w.c, "toy", false);
	client_refused(&w.c, "host-state", "unenrolled");
	world_close(&w);
}

static void cut_streams_leave_nothing(void **state)
{
	struct fm_buf data = FM_BUF_INIT(64u << 20);
	char lines[200], path[300];
	const struct dirent *e;
	struct world w;
	DIR *d;

	(void)state;
	world_open(&w, "cut", toys, 1);
	push_data(&w.t, w.source, 10240, &data);
	snprintf(lines, sizeof lines, "tree %s %zu\n", w.t.hex, w.t.list.len);
	client_call(
	        &w.c, "push", lines, data.data, data.len > 4096 ? 4096 + w.t.list.len : data.len);
	client_refused(&w.c, "verify", "source");
	/* a list that is not the named one */
	data.len = 0;
	push_data(&w.t, w.source, 0, &data);
	data.data[0] ^= 1;
	client_call(&w.c, "push", lines, data.data, data.len);
	client_refused(&w.c, "verify", "source");
	snprintf(path, sizeof path, "%s/src", w.c.home);
	d = opendir(path);
	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		assert_true(strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
	closedir(d);
	/* start without the sources: the job says so and ends */
	plan_accepted(&w);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "cut", NULL, NULL, NULL), "finished");
	client_ok(&w.c, "status", "campaign cut\n", NULL, 0);
	snprintf(path, sizeof path, "%s/jobs/cut/progress", w.c.home);
	fm_buf_free(&data);
	data = FM_BUF_INIT(1u << 20);
	MUST(fm_fs_read(AT_FDCWD, path, 1u << 20, &data));
	assert_non_null(strstr(data.data, " end state=failed class=verify reason=source "));
	fm_buf_free(&data);
	world_close(&w);
}

static void bad_texts_are_named(void **state)
{
	static const struct {
		const char *verb, *lines, *klass, *reason;
	} bad[] = {
	        {"nothing", "", "verify", "form"},
	        {"facts", "colour blue\n", "verify", "form"},
	        {"status", "", "verify", "form"},
	        {"status", "campaign ../x\n", "verify", "form"},
	        {"have", "tree 12\n", "verify", "form"},
	        {"get", "campaign texts\ncandidate a/b\npath x\nmax 1\n", "verify", "form"},
	        {"follow", "campaign nobody\noffset 0\n", "host-state", "refused"},
	};
	struct fm_frame frame;
	struct world w;

	(void)state;
	world_open(&w, "texts", toys, 1);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		client_call(&w.c, bad[i].verb, bad[i].lines, NULL, 0);
		client_refused(&w.c, bad[i].klass, bad[i].reason);
	}
	/* a text that is cut before its end */
	client_send(&w.c, FM_FRAME_CALL, "fleetmark-call 1\nverb facts\n", 28);
	assert_true(client_next(&w.c, &frame));
	client_take_reply(&w.c, &frame);
	client_refused(&w.c, "verify", "form");
	/* a job text of another kind, and one for another plan */
	plan_accepted(&w);
	client_call(&w.c, "start", "campaign texts\n", "fleetmark-plan 1\nend\n", 21);
	client_refused(&w.c, "verify", "form");
	memset(w.p.sha256, 'a', 64);
	campaign_start(&w.p, &w.c, "toy", 1, NONCE1);
	client_refused(&w.c, "host-state", "refused");
	/* pings are answered, also between calls */
	client_send(&w.c, FM_FRAME_PING, "x", 1);
	assert_true(client_next(&w.c, &frame));
	assert_int_equal(frame.type, FM_FRAME_PONG);
	/* a frame out of order ends the session */
	client_send(&w.c, FM_FRAME_DATA, "x", 1);
	assert_false(client_next(&w.c, &frame));
	assert_int_not_equal(client_close(&w.c), 0);
	client_open(&w.c);
	world_close(&w);
}

/* How many processes have this folder's agent or worker as their program, the test's own attach
 * left out. */
static int processes_of(const struct world *w)
{
	const struct dirent *e;
	DIR *d = opendir("/proc");
	int n = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		char path[300], text[1000];
		int fd;
		ssize_t len;

		if (e->d_name[0] < '0' || e->d_name[0] > '9' || atol(e->d_name) == w->c.pid)
			continue;
		snprintf(path, sizeof path, "/proc/%.20s/cmdline", e->d_name);
		fd = open(path, O_RDONLY);
		len = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
		if (fd >= 0)
			close(fd);
		for (ssize_t i = 0; i < len; i++)
			if (text[i] == '\0')
				text[i] = ' ';
		text[len > 0 ? len : 0] = '\0';
		n += strstr(text, w->c.home) != NULL;
	}
	closedir(d);
	return n;
}

/* Busy while it runs, then cancelled within five seconds with nothing left. */
static void cancel_leaves_nothing(void **state)
{
	struct timespec before, after;
	char lines[200];
	struct world w;

	(void)state;
	world_open(&w, "stop", slow, 1);
	push(&w);
	plan_accepted(&w);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "stop", "stage", "stage", "measure"), "seen");
	snprintf(lines, sizeof lines, "tree %s %zu\n", w.t.hex, w.t.list.len);
	client_send(&w.c, FM_FRAME_CALL, "fleetmark-call 1\nverb facts\nend\n", 32);
	client_end_follow(&w.c);
	assert_string_equal(client_value(&w.c, "state"), "running");
	client_end_follow(&w.c); /* the reply to facts */
	assert_non_null(strstr(client_value(&w.c, "holder"), "campaign=stop "));
	client_call(&w.c, "push", lines, "x", 1);
	client_refused(&w.c, "host-state", "busy");
	client_call(&w.c, "check", "cpu -1\n", NULL, 0);
	client_refused(&w.c, "host-state", "busy");
	campaign_start(&w.p, &w.c, "toy", 1, NONCE1);
	assert_string_equal(client_value(&w.c, "state"), "running");
	clock_gettime(CLOCK_MONOTONIC, &before);
	client_ok(&w.c, "cancel", "campaign stop\n", NULL, 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec <= 5);
	assert_string_equal(client_value(&w.c, "state"), "finished");
	assert_int_equal(processes_of(&w), 0);
	client_ok(&w.c, "facts", "", NULL, 0);
	assert_string_equal(client_value(&w.c, "holder"), "none");
	world_close(&w);
}

/* The last line of progress. */
static void ended(const struct world *w, const char *name, const char *state, const char *text)
{
	char path[400];
	struct fm_buf lines;

	snprintf(path, sizeof path, "%s/jobs/%s/progress", w->c.home, name);
	MUST(fm_fs_read(AT_FDCWD, path, 4u << 20, &lines));
	assert_non_null(strstr(lines.data, state));
	assert_non_null(strstr(lines.data, text));
	fm_buf_free(&lines);
}

/* Nobody comes back, or it takes too long: the job ends by itself and nothing of it runs; while its
 * controller follows it the lease does not run out. */
static void leases_and_deadlines_end_jobs(void **state)
{
	struct world w;

	(void)state;
	world_open(&w, "lease", slower, 1);
	push(&w);
	plan_accepted(&w);
	w.p.lease_s = 2;
	started(&w, 1, NONCE1);
	for (int i = 0; i < 400; i++) { /* asking for the state is no sign of life */
		client_ok(&w.c, "status", "campaign lease\n", NULL, 0);
		if (strcmp(client_value(&w.c, "state"), "running") != 0)
			break;
		usleep(50000);
	}
	assert_string_equal(client_value(&w.c, "state"), "finished");
	assert_int_equal(processes_of(&w), 0);
	ended(&w, "lease", "cancelled", "the%20lease%20of%202%20s%20is%20over");
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "lease", NULL, NULL, NULL), "finished");
	ended(&w, "lease", "done", "end");
	w.p.lease_s = 0;
	w.p.deadline_s = 1;
	started(&w, 2, NONCE2);
	assert_string_equal(client_follow(&w.c, "lease", NULL, NULL, NULL), "finished");
	assert_int_equal(processes_of(&w), 0);
	ended(&w, "lease", "cancelled", "the%20deadline%20of%20the%20job%20is%20over");
	world_close(&w);
}

/* Two plans under one name, as from two results folders: neither loses what the other finds done.
 */
static void a_plan_comes_back(void **state)
{
	struct world w;
	struct campaign first;

	(void)state;
	world_open(&w, "twice", toys, 1);
	push(&w);
	plan_accepted(&w);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "twice", NULL, NULL, NULL), "finished");
	first = w.p;
	snprintf(w.p.folder, sizeof w.p.folder, "%s/other", w.s.path);
	campaign_make(&w.p, &w.k, w.k.key, "toy", &w.t, toys, 2, NULL);
	plan_accepted(&w);
	client_ok(&w.c, "status", "campaign twice\n", NULL, 0);
	assert_string_equal(client_value(&w.c, "state"), "none");
	started(&w, 1, NONCE2);
	assert_string_equal(client_follow(&w.c, "twice", NULL, NULL, NULL), "finished");
	w.p = first;
	plan_accepted(&w);
	client_ok(&w.c, "status", "campaign twice\n", NULL, 0);
	assert_string_equal(client_value(&w.c, "state"), "finished");
	assert_true(campaign_get(&w.p, &w.c, "toy", "evidence.json"));
	assert_non_null(strstr(w.c.data.data, NONCE1));
	world_close(&w);
}

/* The pid of the job that holds this test's door. */
static pid_t job_pid(struct world *w)
{
	const char *at;

	client_ok(&w->c, "facts", "", NULL, 0);
	at = strstr(client_value(&w->c, "holder"), "pid=");
	return at == NULL ? 0 : (pid_t)atol(at + 4);
}

/* The job is killed in the middle and started again: what was measured counts, nothing is lost. */
static void killed_jobs_go_on(void **state)
{
	char bundle[400], spool[400];
	struct fm_buf text, before;
	struct world w;
	pid_t pid;

	(void)state;
	world_open(&w, "again", slow, 1);
	push(&w);
	plan_accepted(&w);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "again", "stage", "stage", "measure"), "seen");
	usleep(300000);
	client_send(
	        &w.c, FM_FRAME_CALL, "fleetmark-call 1\nverb status\ncampaign again\nend\n", 48);
	client_end_follow(&w.c);
	client_end_follow(&w.c);
	assert_string_equal(client_value(&w.c, "state"), "running");
	pid = job_pid(&w);
	assert_true(pid > 1);
	assert_int_equal(kill(pid, SIGKILL), 0);
	snprintf(spool, sizeof spool, "%s/jobs/again/spool/toy", w.c.home);
	for (int i = 0; i < 200 && strcmp(client_value(&w.c, "state"), "dead") != 0; i++) {
		usleep(20000);
		client_ok(&w.c, "status", "campaign again\n", NULL, 0);
	}
	assert_string_equal(client_value(&w.c, "state"), "dead");
	MUST(fm_fs_read(AT_FDCWD, spool, 4u << 20, &before));
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "again", NULL, NULL, NULL), "finished");
	MUST(fm_fs_read(AT_FDCWD, spool, 4u << 20, &text));
	assert_true(text.len > before.len);
	assert_int_equal(
	        strncmp(text.data, before.data, (size_t)(strrchr(before.data, '\n') - before.data)),
	        0);
	fm_buf_free(&text);
	fm_buf_free(&before);
	snprintf(bundle, sizeof bundle, "%s/bundle", w.s.path);
	campaign_fetch(&w.p, &w.c, &w.k, "toy", bundle);
	text = fetched(&w, "env/Slow-256__reference__hash_32.process.tsv");
	assert_non_null(strstr(text.data, "process\tattempt\tround\t"));
	fm_buf_free(&text);
	text = fetched(&w, "evidence.json");
	assert_null(strstr(text.data, "\"status\": \"failed\""));
	fm_buf_free(&text);
	said_nothing(&w);
	/* remove leaves no folder */
	client_ok(&w.c, "remove", "", NULL, 0);
	assert_int_equal(access(w.c.home, F_OK), -1);
	world_close(&w);
}

/* A file that leaves `left` bytes of the file system free. */
static void fill_disk(const char *path, size_t left)
{
	static char zero[1 << 16];
	struct statvfs disk;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	for (;;) {
		size_t space, piece = sizeof zero;

		assert_int_equal(fstatvfs(fd, &disk), 0);
		space = (size_t)disk.f_bavail * disk.f_frsize;
		if (space <= left)
			break;
		if (space - left < piece)
			piece = space - left;
		if (write(fd, zero, piece) <= 0)
			break;
	}
	close(fd);
}

/* A small disk of its own for the work folder; skips where no file system may be mounted. */
static void small_disk(struct world *w, const char *megabytes)
{
	char options[40];

	memset(w, 0, sizeof *w);
	scratch_open(&w->s);
	snprintf(w->c.home, sizeof w->c.home, "%s/home", w->s.path);
	assert_int_equal(mkdir(w->c.home, 0700), 0);
	snprintf(options, sizeof options, "size=%sm,mode=0700", megabytes);
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	        mount("tmpfs", w->c.home, "tmpfs", 0, options) != 0) {
		scratch_close(&w->s);
		skip();
	}
}

static void a_small_disk_is_told_at_the_start(void **state)
{
	struct world w;

	(void)state;
	small_disk(&w, "20");
	world_fill(&w, "tight", toys, 1);
	push(&w);
	plan_accepted(&w);
	campaign_start(&w.p, &w.c, "toy", 1, NONCE1);
	client_refused(&w.c, "host-state", "no_space");
	assert_int_equal(umount2(w.c.home, MNT_DETACH), 0);
	world_close(&w);
}

/* The disk fills up while measuring: said so, nothing half-written, and with room again the job
 * goes on. */
static void a_full_disk_loses_nothing(void **state)
{
	char filler[400], bundle[400], progress[400];
	struct fm_buf text;
	struct world w;

	(void)state;
	small_disk(&w, "64");
	world_fill(&w, "full", slow, 1);
	push(&w);
	plan_accepted(&w);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "full", "stage", "stage", "measure"), "seen");
	snprintf(filler, sizeof filler, "%s/filler", w.c.home);
	fill_disk(filler, 0);
	client_send(&w.c, FM_FRAME_CALL, "fleetmark-call 1\nverb status\ncampaign full\nend\n", 47);
	client_end_follow(&w.c);
	client_end_follow(&w.c);
	assert_string_equal(client_follow(&w.c, "full", NULL, NULL, NULL), "finished");
	snprintf(progress, sizeof progress, "%s/jobs/full/progress", w.c.home);
	MUST(fm_fs_read(AT_FDCWD, progress, 1u << 20, &text));
	assert_non_null(strstr(text.data, " end state=failed class=host-state reason=no_space "));
	fm_buf_free(&text);
	/* room again: the same nonce goes on and ends with a good seal */
	assert_int_equal(unlink(filler), 0);
	started(&w, 1, NONCE1);
	assert_string_equal(client_follow(&w.c, "full", NULL, NULL, NULL), "finished");
	snprintf(bundle, sizeof bundle, "%s/bundle", w.s.path);
	campaign_fetch(&w.p, &w.c, &w.k, "toy", bundle);
	assert_int_equal(umount2(w.c.home, MNT_DETACH), 0);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(facts_say_what_there_is),
	        cmocka_unit_test(a_campaign_ends_sealed),
	        cmocka_unit_test(bad_instances_fail_alone),
	        cmocka_unit_test(get_gives_only_listed_plain_files),
	        cmocka_unit_test(another_controller_is_refused),
	        cmocka_unit_test(unenrolled_hosts_obey_nobody),
	        cmocka_unit_test(cut_streams_leave_nothing),
	        cmocka_unit_test(bad_texts_are_named),
	        cmocka_unit_test(cancel_leaves_nothing),
	        cmocka_unit_test(leases_and_deadlines_end_jobs),
	        cmocka_unit_test(a_plan_comes_back),
	        cmocka_unit_test(killed_jobs_go_on),
	        cmocka_unit_test(a_small_disk_is_told_at_the_start),
	        cmocka_unit_test(a_full_disk_loses_nothing),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
