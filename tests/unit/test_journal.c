/* test_journal.c: the journal folds to the right state, refuses what must not count twice, survives
 * a torn end. */
#include "orchestrator/journal.h"
#include "orchestrator/out.h"
#include "protocol/digest.h"
#include "tests/unit/scratch.h"
#include <pthread.h>
#include <sys/stat.h>

static const char plan_hex[] = "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b";
static const char m1[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char m2[] = "f3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

static struct scratch place;
static struct fm_journal *j;

static int set_up(void **state)
{
	(void)state;
	scratch_open(&place);
	assert_ok(fm_journal_open(&j, place.fd, "demo", false));
	assert_ok(fm_journal_begin(j, plan_hex));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_ok(fm_journal_close(j));
	scratch_close(&place);
	return 0;
}

static void reopen(void)
{
	assert_ok(fm_journal_close(j));
	j = NULL;
	assert_ok(fm_journal_open(&j, place.fd, "demo", false));
}

static void a_job_goes_its_way(void **state)
{
	struct fm_job job, seen;
	bool found, again;

	(void)state;
	assert_ok(fm_journal_issue(j, "x86_1", "hash-31", &job));
	assert_int_equal(job.attempt, 1);
	assert_true(fm_hex64_ok(job.nonce) && fm_stamp_ok(job.issued_at));
	for (int round = 0; round < 2; round++) { /* the same from memory and from disk */
		assert_ok(fm_journal_open_job(j, "x86_1", "hash-31", &seen, &found));
		assert_true(found);
		assert_string_equal(seen.nonce, job.nonce);
		assert_ok(fm_journal_open_job(j, "x86_1", "hash-3", &seen, &found));
		assert_false(found);
		reopen();
	}
	assert_ok(fm_journal_received(j, job.nonce, "SHA256:abc", m1));
	assert_ok(fm_journal_accept(j, job.nonce, m1, &again));
	assert_false(again);
	for (int round = 0; round < 2; round++) {
		assert_ok(fm_journal_open_job(j, "x86_1", "hash-31", &seen, &found));
		assert_false(found);
		assert_ok(fm_journal_accepted_job(j, "x86_1", "hash-31", &seen, &found));
		assert_true(found);
		assert_string_equal(seen.manifest_sha256, m1);
		assert_string_equal(seen.host_key, "SHA256:abc");
		assert_true(fm_stamp_ok(seen.received_at));
		assert_string_equal(fm_journal_plan(j), plan_hex);
		reopen();
	}
}

/* What was accepted stays so, unless its key is revoked; then another dispatch may follow. */
static void a_key_is_revoked_later(void **state)
{
	struct fm_job job, seen, *jobs;
	char tree[65];
	size_t count;
	bool found, again;

	(void)state;
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_fails(FM_ERR_REPLAY, "is not accepted", fm_journal_revoke(j, job.nonce, "x"));
	assert_ok(fm_journal_received(j, job.nonce, "local", m1));
	assert_ok(fm_journal_accept(j, job.nonce, m1, &again));
	assert_ok(fm_journal_sealed(j, m2, 1));
	assert_true(fm_journal_is_sealed(j, tree));
	assert_ok(fm_journal_revoke(j, job.nonce, "its key was revoked"));
	for (int round = 0; round < 2; round++) {
		assert_false(fm_journal_is_sealed(j, tree));
		assert_ok(fm_journal_accepted_job(j, "x86_1", "iccs", &seen, &found));
		assert_false(found);
		assert_ok(fm_journal_jobs(j, &jobs, &count));
		assert_int_equal(count, 1);
		assert_int_equal(jobs[0].state, FM_JOB_REJECTED);
		assert_string_equal(jobs[0].klass, "verify");
		assert_string_equal(jobs[0].reason, "revoked");
		assert_string_equal(jobs[0].manifest_sha256, m1);
		free(jobs);
		reopen();
	}
	assert_fails(FM_ERR_REPLAY, "is not accepted", fm_journal_revoke(j, job.nonce, "x"));
	assert_fails(FM_ERR_REPLAY, "not open", fm_journal_accept(j, job.nonce, m1, &again));
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_int_equal(job.attempt, 2);
}

/* The comparison of nonces, by itself. */
static void nonces_count_once(void **state)
{
	struct fm_job job, next;
	bool again;

	(void)state;
	assert_fails(FM_ERR_REPLAY, "was never issued", fm_journal_accept(j, m1, m1, &again));
	assert_fails(FM_ERR_REPLAY, "was never issued", fm_journal_received(j, m1, "local", m1));
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_ok(fm_journal_accept(j, job.nonce, m1, &again));
	assert_ok(fm_journal_accept(j, job.nonce, m1, &again));
	assert_true(again);
	assert_fails(FM_ERR_CONFLICT, "two bundles for one job nonce",
	        fm_journal_accept(j, job.nonce, m2, &again));
	assert_fails(FM_ERR_REPLAY, "not open any more",
	        fm_journal_reject(j, job.nonce, "verify", "form", "x"));
	assert_fails(
	        FM_ERR_REPLAY, "not open any more", fm_journal_received(j, job.nonce, "local", m1));
	/* received one, asked to accept another */
	assert_ok(fm_journal_issue(j, "x86_1", "hash-31", &job));
	assert_ok(fm_journal_received(j, job.nonce, "local", m1));
	assert_fails(FM_ERR_CONFLICT, "two bundles", fm_journal_accept(j, job.nonce, m2, &again));
	assert_ok(fm_journal_reject(j, job.nonce, "verify", "conflict", "two bundles"));
	assert_fails(FM_ERR_REPLAY, "not open", fm_journal_accept(j, job.nonce, m1, &again));
	/* a later dispatch ends an open one */
	assert_ok(fm_journal_issue(j, "arm_1", "iccs", &job));
	assert_ok(fm_journal_issue(j, "arm_1", "iccs", &next));
	assert_int_equal(next.attempt, 2);
	assert_fails(FM_ERR_REPLAY, "attempt 1) is not open",
	        fm_journal_accept(j, job.nonce, m1, &again));
	reopen();
	assert_fails(FM_ERR_REPLAY, "attempt 1) is not open",
	        fm_journal_accept(j, job.nonce, m1, &again));
	assert_ok(fm_journal_accept(j, next.nonce, m1, &again));
}

static void failures_and_hosts(void **state)
{
	char klass[24], reason[24], text[256];
	struct fm_job job, *jobs;
	size_t count;

	(void)state;
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_ok(fm_journal_issue(j, "arm_1", "iccs", &job));
	assert_ok(fm_journal_end(
	        j, job.nonce, "host-state", "no_space", "disk full: 100 % = \"all\"\n"));
	assert_ok(fm_journal_host(j, "arm_1", "failed", "transport", "connect", "refused"));
	assert_ok(fm_journal_host(j, "x86_1", "failed", "transport", "connect", "refused"));
	assert_ok(fm_journal_host(j, "x86_1", "up", "", "", ""));
	reopen();
	fm_journal_host_state(j, "arm_1", klass, reason, text);
	assert_string_equal(klass, "transport");
	assert_string_equal(reason, "connect");
	fm_journal_host_state(j, "x86_1", klass, reason, text);
	assert_string_equal(klass, "");
	fm_journal_host_state(j, "never", klass, reason, text);
	assert_string_equal(text, "");
	assert_ok(fm_journal_jobs(j, &jobs, &count));
	assert_int_equal(count, 2);
	assert_string_equal(jobs[0].system, "arm_1");
	assert_int_equal(jobs[0].state, FM_JOB_ENDED);
	assert_string_equal(jobs[0].text, "disk full: 100 % = \"all\"\n");
	free(jobs);
}

static void redo_and_seal(void **state)
{
	char tree[65];
	struct fm_job job, seen;
	bool found, again;

	(void)state;
	assert_false(fm_journal_is_sealed(j, tree));
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_ok(fm_journal_accept(j, job.nonce, m1, &again));
	assert_ok(fm_journal_sealed(j, m2, 7));
	assert_true(fm_journal_is_sealed(j, tree));
	assert_string_equal(tree, m2);
	assert_ok(fm_journal_host(j, "x86_1", "up", "", "", ""));
	reopen();
	assert_true(fm_journal_is_sealed(j, tree));
	assert_ok(fm_journal_redo(j, "x86_1", "iccs", "report"));
	assert_false(fm_journal_is_sealed(j, tree));
	assert_ok(fm_journal_accepted_job(j, "x86_1", "iccs", &seen, &found));
	assert_true(found); /* the report alone is made again */
	assert_ok(fm_journal_redo(j, "x86_1", "iccs", "measure"));
	assert_ok(fm_journal_accepted_job(j, "x86_1", "iccs", &seen, &found));
	assert_false(found);
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_int_equal(job.attempt, 2);
}

static void one_controller_at_a_time(void **state)
{
	struct fm_journal *other = NULL;
	struct fm_job job;
	bool found;

	(void)state;
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_fails(FM_ERR_LOCKED, "another controller works on this campaign: pid ",
	        fm_journal_open(&other, place.fd, "demo", false));
	assert_non_null(strstr(fm_error_text(), "campaign demo"));
	assert_null(other);
	assert_ok(fm_journal_open(&other, place.fd, "demo", true)); /* looking is allowed */
	assert_ok(fm_journal_open_job(other, "x86_1", "iccs", &job, &found));
	assert_true(found);
	assert_fails(FM_ERR_INTERNAL, "for reading only",
	        fm_journal_issue(other, "x86_1", "iccs", &job));
	assert_ok(fm_journal_close(other));
}

static void another_plan_or_campaign_is_refused(void **state)
{
	struct fm_journal *other = NULL;

	(void)state;
	assert_ok(fm_journal_begin(j, plan_hex));
	assert_fails(
	        FM_ERR_CONFIG, "the journal belongs to plan 01ba4719c80b", fm_journal_begin(j, m1));
	assert_fails(
	        FM_ERR_FORM, "another campaign", fm_journal_open(&other, place.fd, "other", true));
}

static void a_torn_end_is_cut(void **state)
{
	struct fm_job job, seen;
	struct stat st;
	bool found;
	int fd;

	(void)state;
	assert_ok(fm_journal_issue(j, "x86_1", "iccs", &job));
	assert_int_equal(fstatat(place.fd, "journal", &st, 0), 0);
	assert_ok(fm_journal_issue(j, "x86_1", "hash-31", &job));
	assert_ok(fm_journal_close(j));
	assert_true((fd = openat(place.fd, "journal", O_WRONLY)) >= 0);
	assert_int_equal(ftruncate(fd, st.st_size + 20), 0); /* in the middle of the last line */
	close(fd);
	assert_ok(fm_journal_open(&j, place.fd, "demo", false));
	assert_ok(fm_journal_open_job(j, "x86_1", "hash-31", &seen, &found));
	assert_false(found);
	assert_ok(fm_journal_open_job(j, "x86_1", "iccs", &seen, &found));
	assert_true(found);
	assert_ok(fm_journal_issue(j, "x86_1", "hash-31", &job)); /* and it goes on */
	reopen();
	assert_ok(fm_journal_open_job(j, "x86_1", "hash-31", &seen, &found));
	assert_true(found);
	assert_string_equal(seen.nonce, job.nonce);
}

/* Lines with good check values that do not follow from each other. */
static void senseless_lines_are_refused(void **state)
{
	static const char nonce[] =
	        "75120ae6e96315d0c24ba7aca77af23ed38218d435194f137e6356a5fa171223";
	const char *const issued[] = {"issued", "system", "a", "candidate", "c", "attempt", "1",
	        "job_nonce", nonce, "time", "2026-01-02T03:04:05Z"};
	struct {
		const char *kind, *key, *value, *words;
	} const bad[] = {
	        {"issued", "attempt", "2", "attempt does not follow"},
	        {"issued", "system", "../a", "system"},
	        {"issued", "job_nonce", "zz", "job_nonce"},
	        {"issued", "time", "today", "time"},
	        {"accepted", "job_nonce", nonce, "a nonce that was never issued"},
	        {"opened", "campaign", "demo", "stands twice"},
	        {"unheard", "system", "a", "unknown kind"},
	        {"host", "system", "a", "state"},
	        {"sealed", "tree_sha256", "x", "tree_sha256"},
	        {"redo", "system", "a", "is missing"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct fm_journal *other = NULL;
		struct fm_buf line = FM_BUF_INIT(FM_LINE_MAX * 2);
		const char *v[12];
		struct scratch s;

		scratch_open(&s);
		for (size_t k = 0; k < 11; k++)
			v[k] = k > 0 && k % 2 == 0 && strcmp(issued[k - 1], bad[i].key) == 0
			               ? bad[i].value
			               : issued[k];
		assert_ok(fm_line_format(
		        &line, 1, "opened", "campaign", "demo", "plan_sha256", plan_hex, NULL));
		if (strcmp(bad[i].kind, "issued") == 0)
			assert_ok(fm_line_format(&line, 2, "issued", v[1], v[2], v[3], v[4], v[5],
			        v[6], v[7], v[8], v[9], v[10], NULL));
		else
			assert_ok(fm_line_format(
			        &line, 2, bad[i].kind, bad[i].key, bad[i].value, NULL));
		assert_ok(fm_fs_write(s.fd, "journal", line.data, line.len, 0600));
		assert_fails(
		        FM_ERR_FORM, bad[i].words, fm_journal_open(&other, s.fd, "demo", false));
		assert_fails(
		        FM_ERR_FORM, bad[i].words, fm_journal_open(&other, s.fd, "demo", true));
		fm_buf_free(&line);
		scratch_close(&s);
	}
}

static void *issue_many(void *arg)
{
	struct fm_job job;
	char candidate[20];
	bool again;

	for (int i = 0; i < 20; i++) {
		snprintf(candidate, sizeof candidate, "c%d", i);
		if (fm_journal_issue(j, arg, candidate, &job) != FM_OK ||
		        fm_journal_received(j, job.nonce, "local", m1) != FM_OK ||
		        fm_journal_accept(j, job.nonce, m1, &again) != FM_OK)
			return arg;
	}
	return NULL;
}

static void threads_share_it(void **state)
{
	static char names[4][8] = {"a", "b", "c", "d"};
	pthread_t thread[4];
	struct fm_job *jobs;
	size_t count;
	void *failed;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, issue_many, names[i]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
	reopen();
	assert_ok(fm_journal_jobs(j, &jobs, &count));
	assert_int_equal(count, 80);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(jobs[i].state, FM_JOB_ACCEPTED);
	free(jobs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(a_job_goes_its_way, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(a_key_is_revoked_later, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(nonces_count_once, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(failures_and_hosts, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(redo_and_seal, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(one_controller_at_a_time, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(
	                another_plan_or_campaign_is_refused, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(a_torn_end_is_cut, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(senseless_lines_are_refused, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(threads_share_it, set_up, tear_down),
	};
	struct fm_options quiet = {.quiet = true};

	if (fm_crypto_init() != FM_OK)
		return 1;
	fm_out_init(&quiet);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
