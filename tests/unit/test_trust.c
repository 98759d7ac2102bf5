/* test_trust.c: the controller's folder and its trust store: made, added to, read strictly, copied.
 */
#include "orchestrator/out.h"
#include "orchestrator/trust_parts.h"
#include "protocol/digest.h"
#include "protocol/jobtext.h"
#include "protocol/seal.h"
#include "protocol/sshsig.h"
#include "tests/unit/scratch.h"
#include <sys/stat.h>

static struct scratch place;
static struct fm_home home;

static int set_up(void **state)
{
	(void)state;
	scratch_open(&place);
	assert_int_equal(setenv("FLEETMARK_HOME", place.path, 1), 0);
	assert_ok(fm_home_open(&home));
	assert_ok(fm_home_key(&home));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fm_home_close(&home);
	scratch_close(&place);
	return 0;
}

static struct fm_identity *identity(unsigned char first)
{
	unsigned char seed[32] = {first};
	struct fm_identity *id = NULL;

	assert_ok(fm_identity_from_seed(seed, &id));
	return id;
}

/* A statement as the agent signs it. */
static void statement(const struct fm_identity *id, const char *system,
        const struct fm_public *controller, struct fm_buf *text, struct fm_buf *sig)
{
	char line[FM_PUBLIC_LINE + 1], hex[65];

	*text = FM_BUF_INIT(FM_TEXT_MAX);
	*sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	memset(hex, 'c', 64);
	hex[64] = '\0';
	assert_ok(fm_text_begin(text, "enrol"));
	assert_ok(fm_text_put(text, "system", "%s", system));
	assert_ok(fm_text_put(text, "challenge", "%s", hex));
	fm_public_line(controller, line);
	assert_ok(fm_text_put(text, "controller", "%s", line));
	fm_public_line(fm_identity_public(id), line);
	assert_ok(fm_text_put(text, "key", "%s", line));
	assert_ok(fm_text_put(text, "previous", "none"));
	assert_ok(fm_text_end(text));
	assert_ok(fm_sshsig_sign(id, "enrol.v1@fleetmark", text->data, text->len, sig));
}

static int add(const char *system, unsigned char seed)
{
	struct fm_identity *id = identity(seed);
	struct fm_buf text, sig;
	int rc;

	statement(id, system, fm_identity_public(home.id), &text, &sig);
	rc = fm_trust_add(
	        &home, system, fm_identity_public(id), text.data, text.len, sig.data, sig.len);
	fm_buf_free(&text);
	fm_buf_free(&sig);
	fm_identity_free(id);
	return rc;
}

static int read_trust(struct fm_trust *t)
{
	int fd = -1, rc;

	assert_ok(fm_fs_dir(home.dirfd, "trust", &fd));
	rc = fm_trust_read(fd, fm_identity_public(home.id), t);
	close(fd);
	return rc;
}

static void the_folder_is_made_once(void **state)
{
	struct fm_home again;
	struct fm_trust t;
	struct stat st;
	char line[FM_PUBLIC_LINE + 2];

	(void)state;
	assert_int_equal(fstat(home.dirfd, &st), 0);
	assert_int_equal(fstatat(home.dirfd, "key", &st, 0), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	fm_public_line(fm_identity_public(home.id), line);
	line[FM_PUBLIC_LINE] = '\n';
	line[FM_PUBLIC_LINE + 1] = '\0';
	scratch_is(&place, "controller.pub", line);
	assert_ok(read_trust(&t));
	assert_int_equal(t.version, 1);
	assert_int_equal(t.count, 0);
	fm_trust_free(&t);
	assert_ok(fm_home_open(&again));
	assert_ok(fm_home_key(&again));
	assert_true(fm_public_equal(fm_identity_public(again.id), fm_identity_public(home.id)));
	fm_home_close(&again);
}

static void a_wide_folder_or_a_lost_key_is_refused(void **state)
{
	struct fm_home other;

	(void)state;
	assert_int_equal(chmod(place.path, 0777), 0);
	assert_fails(FM_ERR_CONFIG, "writable by nobody else", fm_home_open(&other));
	assert_int_equal(chmod(place.path, 0700), 0);
	assert_ok(fm_fs_remove(place.fd, "key"));
	assert_ok(fm_home_open(&other));
	assert_fails(FM_ERR_CONFIG, "the key is gone", fm_home_key(&other));
	fm_home_close(&other);
}

static void the_last_tree_is_a_chain(void **state)
{
	char a[65], b[65], seen[65];
	int64_t sequence;

	(void)state;
	memset(a, 'a', 64);
	memset(b, 'b', 64);
	a[64] = b[64] = '\0';
	assert_ok(fm_home_last_tree(&home, &sequence, seen));
	assert_int_equal(sequence, 0);
	assert_string_equal(seen, "");
	assert_ok(fm_home_set_last_tree(&home, 1, a));
	assert_ok(fm_home_set_last_tree(&home, 2, b));
	assert_ok(fm_home_last_tree(&home, &sequence, seen));
	assert_int_equal(sequence, 2);
	assert_string_equal(seen, b);
	assert_fails(FM_ERR_CONFLICT, "sequence 2 was sealed before",
	        fm_home_set_last_tree(&home, 2, a));
}

static void keys_are_added_and_found(void **state)
{
	struct fm_identity *x = identity(1);
	const struct fm_trust_key *k;
	struct fm_trust t;
	char now[21];

	(void)state;
	assert_ok(add("x86_1", 1));
	assert_ok(add("arm_1", 2));
	assert_ok(add("x86_1", 1)); /* again: nothing new */
	assert_ok(read_trust(&t));
	assert_int_equal(t.version, 3);
	assert_int_equal(t.count, 2);
	assert_string_equal(t.keys[0].system, "arm_1");
	fm_stamp_now(now);
	assert_non_null(k = fm_trust_find(&t, "x86_1", now));
	assert_true(fm_public_equal(&k->key, fm_identity_public(x)));
	assert_null(fm_trust_find(&t, "x86_1", "2001-01-01T00:00:00Z"));
	assert_null(fm_trust_find(&t, "x86_2", now));
	assert_null(fm_trust_find(&t, "x86_1", "now"));
	fm_trust_free(&t);
	assert_fails(FM_ERR_IDENTITY, "the key of x86_2 is that of system x86_1", add("x86_2", 1));
	scratch_missing(&place, "trust.new");
	fm_identity_free(x);
}

static void a_new_key_ends_the_old_one(void **state)
{
	struct fm_trust t;

	(void)state;
	assert_ok(add("x86_1", 1));
	assert_ok(add("x86_1", 2));
	assert_ok(add("x86_1", 3));
	assert_ok(read_trust(&t));
	assert_int_equal(t.count, 3);
	assert_true(t.keys[0].before[0] != '\0' && t.keys[1].before[0] != '\0' &&
	            t.keys[2].before[0] == '\0');
	assert_true(strcmp(t.keys[0].before, t.keys[1].after) < 0 &&
	            strcmp(t.keys[1].before, t.keys[2].after) < 0);
	fm_trust_free(&t);
	assert_fails(FM_ERR_IDENTITY, "was retired", add("x86_1", 1));
}

/* A statement of next that names old, signed by both (prev), for x86_1. */
static int follow(unsigned char old_seed, unsigned char next_seed, unsigned char signer_seed)
{
	struct fm_identity *old = identity(old_seed), *next = identity(next_seed),
	                   *signer = identity(signer_seed);
	struct fm_buf text, sig, prev = FM_BUF_INIT(FM_SSHSIG_MAX);
	char line[FM_PUBLIC_LINE + 1], *at;
	int rc;

	statement(next, "x86_1", fm_identity_public(home.id), &text, &sig);
	at = strstr(text.data, "previous none");
	assert_non_null(at);
	text.len = (size_t)(at - text.data);
	fm_public_line(fm_identity_public(old), line);
	assert_ok(fm_text_put(&text, "previous", "%s", line));
	assert_ok(fm_text_end(&text));
	sig.len = 0;
	assert_ok(fm_sshsig_sign(next, "enrol.v1@fleetmark", text.data, text.len, &sig));
	assert_ok(fm_sshsig_sign(signer, "enrol.v1@fleetmark", text.data, text.len, &prev));
	rc = fm_trust_follow(&home,
	        &(struct fm_trust_statement){.system = "x86_1",
	                .text = text.data,
	                .text_len = text.len,
	                .sig = sig.data,
	                .sig_len = sig.len,
	                .prev = prev.data,
	                .prev_len = signer_seed == 99 ? 0 : prev.len},
	        fm_identity_public(next));
	fm_buf_free(&text);
	fm_buf_free(&sig);
	fm_buf_free(&prev);
	fm_identity_free(old);
	fm_identity_free(next);
	fm_identity_free(signer);
	return rc;
}

static void a_key_follows_only_with_the_word_of_the_one_before(void **state)
{
	struct fm_trust t;

	(void)state;
	assert_fails(FM_ERR_IDENTITY, "not the last one of x86_1", follow(1, 2, 1));
	assert_ok(add("x86_1", 1));
	assert_fails(FM_ERR_SIGNATURE, "previous key of x86_1", follow(1, 2, 3));
	assert_int_not_equal(follow(1, 2, 99), FM_OK); /* no second signature */
	assert_fails(FM_ERR_IDENTITY, "not the last one", follow(4, 2, 4));
	assert_ok(follow(1, 2, 1));
	assert_ok(read_trust(&t));
	assert_int_equal(t.count, 2);
	fm_trust_free(&t);
	assert_int_equal(faccessat(home.dirfd, "trust/enrol/x86_1.txt.prev.sig", F_OK, 0), 0);
	assert_fails(FM_ERR_IDENTITY, "not the last one", follow(1, 3, 1));
	assert_ok(follow(2, 3, 2));
	assert_ok(add("x86_1", 4)); /* a key that follows nobody: the old signature goes */
	assert_int_not_equal(faccessat(home.dirfd, "trust/enrol/x86_1.txt.prev.sig", F_OK, 0), 0);
}

static int end_key(const char *print, enum fm_revocation kind, const char *since, bool *changed)
{
	struct fm_trust_key which;

	return fm_trust_revoke(&home, "x86_1", print, kind, since, &which, changed);
}

static void keys_end_in_three_ways(void **state)
{
	struct fm_identity *one = identity(1);
	char now[21], print[FM_FINGERPRINT];
	struct fm_trust t;
	bool changed;

	(void)state;
	assert_fails(FM_ERR_USAGE, "x86_1 has no key", end_key(NULL, FM_RETIRED, NULL, &changed));
	assert_ok(add("x86_1", 1));
	assert_ok(add("arm_1", 7));
	assert_fails(FM_ERR_USAGE, "lies in the future",
	        end_key(NULL, FM_STOLEN_SINCE, "2999-01-01T00:00:00Z", &changed));
	assert_fails(FM_ERR_USAGE, "before the key counted",
	        end_key(NULL, FM_STOLEN_SINCE, "2001-01-01T00:00:00Z", &changed));
	assert_ok(end_key(NULL, FM_RETIRED, NULL, &changed));
	assert_true(changed);
	assert_ok(read_trust(&t));
	assert_int_equal(t.version, 4);
	assert_int_equal(t.revoked_count, 0);
	assert_string_not_equal(fm_trust_last(&t, "x86_1")->before, "");
	assert_string_equal(fm_trust_last(&t, "arm_1")->before, "");
	assert_null(fm_trust_find(&t, "x86_1", "2999-01-01T00:00:00Z"));
	fm_stamp_now(now);
	assert_true(fm_trust_covers(
	        &t, "arm_1", &fm_trust_last(&t, "arm_1")->key, now, "2999-01-01T00:00:00Z"));
	assert_false(
	        fm_trust_covers(&t, "x86_1", fm_identity_public(one), now, "2999-01-01T00:00:00Z"));
	assert_false(fm_trust_covers(&t, "arm_1", fm_identity_public(one), now, now));
	assert_false(fm_trust_covers(&t, "x86_1", fm_identity_public(one), now, "tomorrow"));
	fm_trust_free(&t);
	assert_ok(add("x86_1", 2));
	fm_public_fingerprint(fm_identity_public(one), print);
	assert_ok(end_key(print, FM_STOLEN, NULL, &changed));
	assert_true(changed);
	assert_ok(end_key(print, FM_STOLEN, NULL, &changed));
	assert_false(changed);
	assert_fails(FM_ERR_USAGE,
	        "x86_1 has no SHA256:", end_key("SHA256:none", FM_STOLEN, NULL, &changed));
	assert_ok(read_trust(&t));
	assert_int_equal(t.revoked_count, 1);
	assert_true(fm_trust_revoked(&t, fm_identity_public(one)));
	assert_string_equal(fm_trust_last(&t, "x86_1")->before, "");
	fm_trust_free(&t);
	fm_identity_free(one);
}

static void an_older_list_is_noticed(void **state)
{
	int to = -1;

	(void)state;
	assert_ok(add("x86_1", 1));
	assert_ok(fm_fs_mkdirs(home.dirfd, "older", 0700, &to));
	assert_ok(fm_trust_copy(&home, to));
	close(to);
	assert_ok(add("x86_1", 2));
	assert_ok(fm_fs_remove(home.dirfd, "trust"));
	assert_ok(fm_fs_rename(home.dirfd, "older", "trust"));
	assert_fails(FM_ERR_REPLAY, "version 2, but version 3 was sealed here", add("x86_1", 3));
	assert_ok(fm_fs_mkdirs(home.dirfd, "copy", 0700, &to));
	assert_fails(FM_ERR_REPLAY, "version 3 was sealed here", fm_trust_copy(&home, to));
	close(to);
}

static void false_statements_are_refused(void **state)
{
	struct fm_identity *id = identity(1), *other = identity(2);
	struct fm_buf text, sig;
	struct fm_public key;
	char challenge[65];

	(void)state;
	memset(challenge, 'c', 64);
	challenge[64] = '\0';
	statement(id, "x86_1", fm_identity_public(home.id), &text, &sig);
	assert_ok(fm_trust_check_statement("x86_1", challenge, fm_identity_public(home.id),
	        text.data, text.len, sig.data, sig.len, &key));
	assert_true(fm_public_equal(&key, fm_identity_public(id)));
	assert_fails(FM_ERR_IDENTITY, "for system x86_1, not x86_2",
	        fm_trust_check_statement("x86_2", challenge, fm_identity_public(home.id), text.data,
	                text.len, sig.data, sig.len, &key));
	assert_fails(FM_ERR_IDENTITY, "another controller",
	        fm_trust_check_statement("x86_1", challenge, fm_identity_public(other), text.data,
	                text.len, sig.data, sig.len, &key));
	challenge[0] = 'd';
	assert_fails(FM_ERR_REPLAY, "another challenge",
	        fm_trust_check_statement("x86_1", challenge, fm_identity_public(home.id), text.data,
	                text.len, sig.data, sig.len, &key));
	assert_fails(FM_ERR_IDENTITY, "another system, key or controller",
	        fm_trust_add(&home, "x86_1", fm_identity_public(other), text.data, text.len,
	                sig.data, sig.len));
	assert_fails(FM_ERR_IDENTITY, "another system",
	        fm_trust_add(&home, "x86_2", fm_identity_public(id), text.data, text.len, sig.data,
	                sig.len));
	assert_fails(FM_ERR_NAME, "system",
	        fm_trust_add(&home, "../x", fm_identity_public(id), text.data, text.len, sig.data,
	                sig.len));
	text.data[text.len / 2] ^= 1;
	assert_int_not_equal(fm_trust_add(&home, "x86_1", fm_identity_public(id), text.data,
	                             text.len, sig.data, sig.len),
	        FM_OK);
	fm_buf_free(&text);
	fm_buf_free(&sig);
	fm_identity_free(id);
	fm_identity_free(other);
}

/* Changes one file of trust/ and seals it again with the controller's key: form and statements must
 * hold by themselves. */
static void spoil(const char *name, const char *bytes, int code, const char *words)
{
	struct fm_trust t;
	int fd = -1;

	assert_ok(fm_fs_dir(home.dirfd, "trust", &fd));
	if (bytes != NULL)
		assert_ok(fm_fs_write_deep(fd, name, bytes, strlen(bytes), 0644));
	else
		assert_ok(fm_fs_remove(fd, name));
	assert_ok(fm_seal(fd, FM_SEAL_TRUST, home.id, NULL));
	close(fd);
	assert_fails(code, words, read_trust(&t));
	assert_int_equal(t.count, 0);
}

static void spoiled_folders_are_refused(void **state)
{
	static const char version7[] = "{\n  \"issued_at\": \"2026-01-01T00:00:00Z\",\n  "
	                               "\"schema\": \"trust/1\",\n  \"version\": 7\n}\n";
	struct fm_trust t;
	char *text, *at;
	struct fm_buf signers;
	int fd = -1;

	(void)state;
	assert_ok(add("x86_1", 1));
	assert_ok(fm_fs_dir(home.dirfd, "trust", &fd));
	assert_ok(fm_fs_read(fd, "allowed_signers", 1 << 20, &signers));
	text = signers.data;
	spoil("allowed_signers", "", FM_ERR_FORM, "allowed_signers: empty");
	spoil("allowed_signers", "# comment\n", FM_ERR_FORM,
	        "allowed_signers: line 1 is not of the form");
	at = fm_sprintf("%s# comment\n", text);
	spoil("allowed_signers", at, FM_ERR_FORM, "line 3 is not of the form");
	free(at);
	at = fm_sprintf("%s%s", text, strchr(text, '\n') + 1);
	spoil("allowed_signers", at, FM_ERR_IDENTITY,
	        "line 3: one key stands twice, for x86_1 and for x86_1");
	free(at);
	at = fm_sprintf("%s\n", text);
	spoil("allowed_signers", at, FM_ERR_FORM, "line 3");
	free(at);
	at = fm_sprintf("%.*s", (int)strlen(text) - 1, text);
	spoil("allowed_signers", at, FM_ERR_FORM, "line 2: too long, or not ended");
	free(at);
	at = fm_sprintf("%s", text);
	memcpy(strstr(at, "x86_1 "), "x86_2 ", 6); /* a name without a statement */
	spoil("allowed_signers", at, FM_ERR_FORM, "enrol/");
	free(at);
	at = fm_sprintf("%s", text);
	*strstr(at, "bundle.v1@") = 'B';
	spoil("allowed_signers", at, FM_ERR_FORM, "line 2");
	free(at);
	spoil("allowed_signers", strchr(text, '\n') + 1, FM_ERR_FORM, "line 1");
	assert_ok(fm_fs_write(fd, "allowed_signers", text, strlen(text), 0644));
	spoil("revoked_keys", "# none\n", FM_ERR_FORM, "revoked_keys: line 1");
	spoil("revoked_keys", NULL, FM_ERR_FORM, "revoked_keys");
	assert_ok(fm_fs_write(fd, "revoked_keys", "", 0, 0644));
	spoil("trust.json", "{}\n", FM_ERR_FORM, "schema");
	spoil("trust.json",
	        "{\n  \"issued_at\": \"2026-01-01T00:00:00Z\",\n  \"schema\": \"trust/1\",\n  "
	        "\"version\": 0\n}\n",
	        FM_ERR_FORM, "version at least 1");
	assert_ok(fm_fs_write(fd, "trust.json", version7, strlen(version7), 0644));
	spoil("notes", "x\n", FM_ERR_FORM, "notes does not belong there");
	assert_ok(fm_fs_remove(fd, "notes"));
	spoil("enrol/x86_2.txt", "x\n", FM_ERR_FORM, "enrol/x86_2.txt does not belong there");
	assert_ok(fm_fs_remove(fd, "enrol/x86_2.txt"));
	assert_ok(fm_seal(fd, FM_SEAL_TRUST, home.id, NULL));
	assert_ok(read_trust(&t)); /* all is well again */
	assert_int_equal(t.version, 7);
	fm_trust_free(&t);
	spoil("enrol/x86_1.txt.sig", "x\n", FM_ERR_FORM, "x86_1");
	spoil("enrol/x86_1.txt", "x\n", FM_ERR_FORM, "x86_1");
	spoil("enrol/x86_1.txt", NULL, FM_ERR_FORM, "x86_1");
	close(fd);
	fm_buf_free(&signers);
}

static void other_seals_are_refused(void **state)
{
	struct fm_identity *other = identity(5);
	struct fm_trust t;
	int fd = -1;

	(void)state;
	assert_ok(fm_fs_dir(home.dirfd, "trust", &fd));
	assert_int_equal(fm_trust_read(fd, fm_identity_public(other), &t), FM_ERR_SIGNATURE);
	assert_ok(fm_fs_write(fd, "revoked_keys", "x", 1, 0644));
	assert_int_equal(fm_trust_read(fd, fm_identity_public(home.id), &t), FM_ERR_DIGEST);
	/* sealed by another key that calls itself the controller */
	assert_ok(fm_fs_write(fd, "revoked_keys", "", 0, 0644));
	assert_ok(fm_seal(fd, FM_SEAL_TRUST, other, NULL));
	assert_fails(FM_ERR_IDENTITY, "the controller's line",
	        fm_trust_read(fd, fm_identity_public(other), &t));
	close(fd);
	fm_identity_free(other);
}

static void revoked_keys_are_not_found(void **state)
{
	struct fm_identity *id = identity(1);
	char line[FM_PUBLIC_LINE + 2], now[21];
	struct fm_trust t;
	int fd = -1;

	(void)state;
	assert_ok(add("x86_1", 1));
	fm_public_line(fm_identity_public(id), line);
	line[FM_PUBLIC_LINE] = '\n';
	assert_ok(fm_fs_dir(home.dirfd, "trust", &fd));
	assert_ok(fm_fs_write(fd, "revoked_keys", line, FM_PUBLIC_LINE + 1, 0644));
	assert_ok(fm_seal(fd, FM_SEAL_TRUST, home.id, NULL));
	close(fd);
	assert_ok(read_trust(&t));
	fm_stamp_now(now);
	assert_true(fm_trust_revoked(&t, fm_identity_public(id)));
	assert_null(fm_trust_find(&t, "x86_1", now));
	fm_trust_free(&t);
	assert_fails(FM_ERR_REVOKED, "was revoked", add("x86_1", 1));
	fm_identity_free(id);
}

static void windows_may_not_overlap(void **state)
{
	static const char *const second[] = {"20260101000000Z", "20251231235959Z"};
	struct fm_identity *controller = identity(9), *a = identity(1), *b = identity(2);
	char line[3][FM_PUBLIC_LINE + 1];

	(void)state;
	fm_public_line(fm_identity_public(controller), line[0]);
	fm_public_line(fm_identity_public(a), line[1]);
	fm_public_line(fm_identity_public(b), line[2]);
	for (int i = 0; i < 2; i++) {
		struct fm_buf text = FM_BUF_INIT(4096);
		struct fm_trust t;
		int rc;

		memset(&t, 0, sizeof t);
		assert_ok(fm_buf_printf(&text,
		        "controller "
		        "namespaces=\"plan.v1@fleetmark,tree.v1@fleetmark,trust.v1@fleetmark\","
		        "valid-after="
		        "\"20250101000000Z\" %s\n"
		        "s "
		        "namespaces=\"bundle.v1@fleetmark,enrol.v1@fleetmark\",valid-after="
		        "\"20250601000000Z\",valid-before=\"%s\" "
		        "%s\n"
		        "s "
		        "namespaces=\"bundle.v1@fleetmark,enrol.v1@fleetmark\",valid-after="
		        "\"20260101000000Z\" %s\n",
		        line[0], second[i], line[1], line[2]));
		rc = fm_trust_parse_signers(text.data, text.len, &t);
		assert_int_equal(rc, i == 0 ? FM_ERR_IDENTITY : FM_OK);
		if (i == 1) { /* both ends of a window are inside */
			assert_true(fm_public_equal(
			        &fm_trust_find(&t, "s", "2025-12-31T23:59:59Z")->key,
			        fm_identity_public(a)));
			assert_true(fm_public_equal(
			        &fm_trust_find(&t, "s", "2026-01-01T00:00:00Z")->key,
			        fm_identity_public(b)));
		}
		fm_trust_free(&t);
		fm_buf_free(&text);
	}
	fm_identity_free(controller);
	fm_identity_free(a);
	fm_identity_free(b);
}

/* What anybody who trusts only old would find in the trust folder of this home. */
static bool follows(const struct fm_public *old, const struct fm_public *next)
{
	struct fm_public named;
	int fd = -1;
	bool is;

	assert_ok(fm_fs_dir(home.dirfd, "trust/handover", &fd));
	is = fm_trust_successor(fd, old, &named) && fm_public_equal(&named, next);
	close(fd);
	return is;
}

static void the_anchor_is_handed_over(void **state)
{
	struct fm_public old = *fm_identity_public(home.id), next, third;
	struct fm_trust t;
	struct fm_home again;
	struct scratch s;

	(void)state;
	assert_ok(add("x86_1", 1));
	assert_ok(add("arm_1", 2));
	assert_ok(fm_trust_revoke(&home, "arm_1", NULL, FM_STOLEN, NULL,
	        &(struct fm_trust_key){.system = ""}, &(bool){false}));
	assert_ok(fm_trust_handover(&home));
	next = *fm_identity_public(home.id);
	assert_false(fm_public_equal(&old, &next));
	assert_ok(read_trust(&t));
	assert_int_equal(t.version, 6);
	assert_int_equal(t.count, 0); /* every system is enrolled again */
	assert_int_equal(t.revoked_count, 1);
	fm_trust_free(&t);
	assert_true(follows(&old, &next));
	assert_false(follows(&next, &old));
	/* it stays through changes and copies, until the next one */
	assert_fails(FM_ERR_REVOKED, "was revoked", add("arm_1", 2));
	assert_ok(add("x86_1", 1));
	assert_true(follows(&old, &next));
	scratch_open(&s);
	assert_ok(fm_trust_copy(&home, s.fd));
	assert_ok(fm_trust_read(s.fd, &next, &t));
	fm_trust_free(&t);
	scratch_close(&s);
	assert_ok(fm_home_open(&again));
	assert_ok(fm_home_key(&again));
	assert_true(fm_public_equal(fm_identity_public(again.id), &next));
	fm_home_close(&again);
	/* two in one second would give two old keys one name */
	sleep(1);
	assert_ok(fm_trust_handover(&home));
	third = *fm_identity_public(home.id);
	assert_true(follows(&next, &third));
	assert_false(follows(&old, &third));
}

/* Opens the home as the next command does after a crash; whose key is it then? */
static struct fm_public key_after_crash(void)
{
	struct fm_home h;
	struct fm_public key;
	struct fm_trust t;
	char line[FM_PUBLIC_LINE + 2];
	int fd = -1;

	assert_ok(fm_home_open(&h));
	assert_ok(fm_home_key(&h));
	key = *fm_identity_public(h.id);
	assert_ok(fm_fs_dir(h.dirfd, "trust", &fd));
	assert_ok(fm_trust_read(fd, &key, &t));
	fm_trust_free(&t);
	close(fd);
	fm_public_line(&key, line);
	line[FM_PUBLIC_LINE] = '\n';
	line[FM_PUBLIC_LINE + 1] = '\0';
	scratch_is(&place, "controller.pub", line);
	scratch_missing(&place, "key.new");
	fm_home_close(&h);
	return key;
}

static void move(const char *from, const char *to)
{
	assert_int_equal(renameat(home.dirfd, from, home.dirfd, to), 0);
}

static void a_crash_leaves_one_key_or_the_other(void **state)
{
	struct fm_public old = *fm_identity_public(home.id), next, seen;
	struct fm_trust t;
	char until[40], key[60], pub[70];

	(void)state;
	/* a new key that sealed nothing yet */
	assert_ok(fm_identity_create(home.dirfd, "key.new"));
	seen = key_after_crash();
	assert_true(fm_public_equal(&seen, &old));
	/* the new trust folder is in place: from each of the renames behind it */
	assert_ok(fm_trust_handover(&home));
	next = *fm_identity_public(home.id);
	assert_ok(read_trust(&t));
	fm_trust_compact(t.issued_at, until);
	fm_trust_free(&t);
	(void)snprintf(key, sizeof key, "key.until-%s", until);
	(void)snprintf(pub, sizeof pub, "controller.pub.until-%s", until);
	move("key", "key.new"); /* before the last rename */
	seen = key_after_crash();
	assert_true(fm_public_equal(&seen, &next));
	move("key", "key.new");
	move(key, "key"); /* before the old key went */
	seen = key_after_crash();
	assert_true(fm_public_equal(&seen, &next));
	move("key", "key.new");
	move(key, "key");
	assert_ok(fm_fs_remove(
	        home.dirfd, "controller.pub")); /* before the public line was written */
	seen = key_after_crash();
	assert_true(fm_public_equal(&seen, &next));
	move("key", "key.new");
	move(key, "key");
	move(pub, "controller.pub"); /* right behind the exchange of the folders */
	seen = key_after_crash();
	assert_true(fm_public_equal(&seen, &next));
}

static void copies_verify(void **state)
{
	struct fm_trust t;
	struct scratch s;

	(void)state;
	assert_ok(add("x86_1", 1));
	scratch_open(&s);
	assert_ok(fm_trust_copy(&home, s.fd));
	assert_ok(fm_trust_read(s.fd, fm_identity_public(home.id), &t));
	assert_int_equal(t.count, 1);
	fm_trust_free(&t);
	scratch_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test_setup_teardown(the_folder_is_made_once, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(
	                a_wide_folder_or_a_lost_key_is_refused, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(the_last_tree_is_a_chain, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(keys_are_added_and_found, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(a_new_key_ends_the_old_one, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(
	                a_key_follows_only_with_the_word_of_the_one_before, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(keys_end_in_three_ways, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(an_older_list_is_noticed, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(false_statements_are_refused, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(spoiled_folders_are_refused, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(other_seals_are_refused, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(revoked_keys_are_not_found, set_up, tear_down),
	        cmocka_unit_test(windows_may_not_overlap),
	        cmocka_unit_test_setup_teardown(copies_verify, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(the_anchor_is_handed_over, set_up, tear_down),
	        cmocka_unit_test_setup_teardown(
	                a_crash_leaves_one_key_or_the_other, set_up, tear_down),
	};
	struct fm_options quiet = {.quiet = true};

	if (fm_crypto_init() != FM_OK)
		return 1;
	fm_out_init(&quiet);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
