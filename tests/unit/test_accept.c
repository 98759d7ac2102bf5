/* test_accept.c: the acceptance check by itself, with findings the attack script cannot reach. */
#include "orchestrator/accept.h"
#include "protocol/digest.h"
#include "protocol/seal.h"
#include "tests/attack/world.h"
#include "tests/unit/scratch.h"
#include <sys/socket.h>
#include <sys/un.h>

#define SYSTEM    "x86_1"
#define CANDIDATE "tiny-3"

static struct scratch home;
static struct world *world;
static struct fm_plan plan;
static char plan_sha256[65], nonce[65];
static int bundle = -1;
static struct fm_buf evidence;

struct findings {
	size_t count;
	int code;
	char where[500], text[600];
};

static void note(void *arg, int code, const char *where, const char *text)
{
	struct findings *f = arg;

	if (f->count++ > 0)
		return;
	f->code = code;
	(void)snprintf(f->where, sizeof f->where, "%s", where);
	(void)snprintf(f->text, sizeof f->text, "%s", text);
}

static struct fm_buf read_file(const char *path)
{
	struct fm_buf text = FM_BUF_INIT(0);

	assert_ok(fm_fs_read(bundle, path, 4u << 20, &text));
	return text;
}

/* Candidate 3 has no known answers at all: its status is NOKAT. */
static int setup(void **state)
{
	const struct world_size size = {1, 3, 1, 1, "smoke"};
	int fd = -1;

	(void)state;
	scratch_open(&home);
	assert_ok(world_open(home.path, &size, &world));
	assert_ok(world_answer(world, 0, 2, WORLD_GOOD));
	assert_ok(fm_fs_dir(world_tree(world), "plan", &fd));
	assert_ok(fm_plan_read(fd, &plan));
	assert_ok(fm_fs_sha256(fd, FM_MANIFEST_NAME, plan_sha256, NULL));
	close(fd);
	assert_ok(fm_fs_dir(world_tree(world), "bundles/" SYSTEM "/" CANDIDATE, &bundle));
	evidence = read_file("evidence.json");
	memcpy(nonce, strstr(evidence.data, "\"job_nonce\": \"") + 14, 64);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(bundle);
	fm_buf_free(&evidence);
	fm_plan_free(&plan);
	world_close(world);
	scratch_close(&home);
	return 0;
}

/* The manifest made new, as the host would; nobody signs here. */
static void remake(void)
{
	struct fm_buf text = FM_BUF_INIT(1 << 20);

	assert_ok(fm_manifest_make(bundle, FM_SEAL_BUNDLE, &text));
	assert_ok(fm_fs_write(bundle, FM_MANIFEST_NAME, text.data, text.len, 0644));
	fm_buf_free(&text);
}

static void put(const char *path, const char *text, size_t len)
{
	assert_ok(fm_fs_write(bundle, path, text, len, 0644));
	remake();
}

static int check(struct findings *f, struct fm_evidence *e)
{
	struct fm_expect want = {.plan = &plan,
	        .plan_sha256 = plan_sha256,
	        .system = SYSTEM,
	        .candidate = CANDIDATE,
	        .job_nonce = nonce,
	        .attempt = 1};

	memset(f, 0, sizeof *f);
	return fm_accept_check(bundle, &want, note, f, e);
}

/* One replacement in a file, the check, and the file as it was. */
static void refused(const char *path, const char *from, const char *to, int code, const char *words)
{
	struct fm_buf old = read_file(path), text = FM_BUF_INIT(8u << 20);
	const char *at = strstr(old.data, from);
	struct fm_evidence e;
	struct findings f;

	assert_non_null(at);
	assert_ok(fm_buf_printf(
	        &text, "%.*s%s%s", (int)(at - old.data), old.data, to, at + strlen(from)));
	put(path, text.data, text.len);
	if (check(&f, &e) != code || f.code != code || strstr(f.text, words) == NULL)
		fail_msg("%s -> %s: %d %s: %s", from, to, f.code, f.where, f.text);
	assert_null(e.owner);
	put(path, old.data, old.len);
	fm_buf_free(&old);
	fm_buf_free(&text);
}

static void good(void **state)
{
	struct fm_expect want = {.plan = &plan,
	        .plan_sha256 = plan_sha256,
	        .system = SYSTEM,
	        .candidate = CANDIDATE,
	        .job_nonce = nonce,
	        .attempt = 1};
	struct fm_evidence e;
	struct findings f;

	(void)state;
	assert_ok(check(&f, &e));
	assert_int_equal(f.count, 0);
	assert_string_equal(e.candidate, CANDIDATE);
	assert_string_equal(e.kat[0].status, "NOKAT");
	fm_evidence_free(&e);
	assert_ok(fm_accept_check(bundle, &want, NULL, NULL, NULL));
	want.candidate = "tiny-4";
	assert_fails(
	        FM_ERR_IDENTITY, "no candidate", fm_accept_check(bundle, &want, NULL, NULL, NULL));
	want.candidate = "tiny-1";
	assert_fails(
	        FM_ERR_IDENTITY, "candidate is", fm_accept_check(bundle, &want, NULL, NULL, NULL));
	want.candidate = CANDIDATE;
	want.system = "x86_9";
	assert_fails(FM_ERR_IDENTITY, "system", fm_accept_check(bundle, &want, NULL, NULL, NULL));
}

static void lists(void **state)
{
	const char *e = "evidence.json";

	(void)state;
	refused(e, "\"status\": \"NOKAT\"", "\"status\": \"PASS\"", FM_ERR_KAT_LINES, "RESULT");
	refused(e, "\"status\": \"ok\"", "\"status\": \"failed\"", FM_ERR_FORM, "good build");
	refused(e, "\"log\": \"build/", "\"log\": \"samples/", FM_ERR_FORM, "builds[0]");
	refused(e, "\"log\": \"kat/", "\"log\": \"build/", FM_ERR_KAT_LINES, "kat[0]");
	refused(e, "\"class\": \"\"", "\"class\": \"kat\"", FM_ERR_FORM, "one word each");
	refused(e, "\"bytes\": 32", "\"bytes\": 33", FM_ERR_SAMPLES, "bytes is 33");
	refused(e, "\"bytes\": 32", "\"bytes\": -32", FM_ERR_SAMPLES, "bytes is -32");
	refused(e, "\"accepted\": 2", "\"accepted\": 9007199254740991", FM_ERR_SAMPLES,
	        "9007199254740991");
	refused(e, "\"accepted\": 2", "\"accepted\": -1", FM_ERR_SAMPLES, "states -1");
	refused(e, "\"accepted\": 2", "\"accepted_why\": \"lost\"", FM_ERR_SAMPLES, "states -1");
	refused(e, "\"attempt\": 1", "\"attempt_why\": \"lost\"", FM_ERR_REPLAY, "attempt");
	refused(e, "\"job_nonce\": \"", "\"job_nonce\": \"x", FM_ERR_FORM, "job_nonce");
	refused(e, "\"rss_peak_process_kib\"", "\"rss_peak_process_kiB\"", FM_ERR_FORM, "");
}

/* All lists empty: the first planned cell is missed, and nothing is read beyond a list's end. */
static void empty_lists(void **state)
{
	struct fm_buf text = FM_BUF_INIT(1 << 20);
	struct fm_evidence e;
	struct findings f;
	const char *from = evidence.data;

	(void)state;
	while (*from != '\0') { /* every top-level array becomes [] */
		const char *end = strchr(from, '\n');

		if (strncmp(from, "  \"", 3) == 0 && end[-1] == '[') {
			assert_ok(fm_buf_printf(&text, "%.*s]", (int)(end - from), from));
			while (strncmp(end + 1, "  ]", 3) != 0)
				end = strchr(end + 1, '\n');
			from = end + 4;
		} else {
			assert_ok(fm_buf_printf(&text, "%.*s", (int)(end + 1 - from), from));
			from = end + 1;
		}
	}
	put("evidence.json", text.data, text.len);
	assert_int_equal(check(&f, &e), FM_ERR_SAMPLES);
	assert_non_null(strstr(f.text, "planned cell"));
	assert_int_equal(f.count, 1);
	put("evidence.json", evidence.data, evidence.len);
	fm_buf_free(&text);
}

static void logs(void **state)
{
	const char *log = "kat/Tiny-3-001__reference.log";
	struct fm_buf old = read_file(log);
	struct fm_evidence e;
	struct findings f;

	(void)state;
	put(log, "", 0);
	assert_int_equal(check(&f, &e), FM_ERR_KAT_LINES);
	put(log, "RESULT tiny-3 Tiny-3-001 NOKAT \n", 32);
	assert_int_equal(check(&f, &e), FM_ERR_KAT_LINES); /* nothing before it */
	put(log, "\0\nRESULT tiny-3 Tiny-3-001 NOKAT \n", 34);
	assert_int_equal(check(&f, &e), FM_ERR_KAT_LINES);
	put(log, "x\nRESULT tiny-3 Tiny-3-001 NOKAT \n", 34);
	assert_ok(check(&f, &e));
	fm_evidence_free(&e);
	put(log, "x\nRESULT tiny-3 Tiny-3-001 NOKAT ", 33);
	assert_int_equal(check(&f, &e), FM_ERR_KAT_LINES);
	put(log, old.data, old.len);
	fm_buf_free(&old);
}

/* A file that is no file, where everything was one when the manifest was made. */
static void odd_files(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *name = "samples/Tiny-3-001__reference__hash_32.ns.txt";
	struct fm_buf old = read_file(name);
	struct fm_evidence e;
	struct findings f;
	int fd;

	(void)state;
	remake();
	assert_ok(fm_fs_remove(bundle, name));
	assert_int_equal(mkfifoat(bundle, name, 0600), 0);
	assert_int_equal(check(&f, &e), FM_ERR_SAMPLES);
	assert_ok(fm_fs_remove(bundle, name));
	assert_int_equal(symlinkat("/etc/passwd", bundle, name), 0);
	assert_int_equal(check(&f, &e), FM_ERR_SAMPLES);
	assert_ok(fm_fs_remove(bundle, name));
	(void)snprintf(
	        address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/env/socket", bundle);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(renameat(bundle, "env/socket", bundle, name), 0);
	assert_int_equal(check(&f, &e), FM_ERR_SAMPLES);
	close(fd);
	assert_ok(fm_fs_remove(bundle, name));
	put(name, old.data, old.len);
	fm_buf_free(&old);
}

/* A value that is not known is said so, and does not make a bundle bad. */
static void unknown_value(void **state)
{
	struct fm_buf text = FM_BUF_INIT(1 << 20);
	static const char from[] = "\"microcode\": \"0x1\"";
	const char *at = strstr(evidence.data, from);
	struct fm_evidence e;
	struct findings f;

	(void)state;
	assert_ok(fm_buf_printf(&text, "%.*s\"microcode_why\": \"no such file\"%s",
	        (int)(at - evidence.data), evidence.data, at + sizeof from - 1));
	put("evidence.json", text.data, text.len);
	assert_ok(check(&f, &e));
	fm_evidence_free(&e);
	put("evidence.json", evidence.data, evidence.len);
	fm_buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(lists),
	        cmocka_unit_test(empty_lists), cmocka_unit_test(logs), cmocka_unit_test(odd_files),
	        cmocka_unit_test(unknown_value)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
