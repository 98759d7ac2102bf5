/* enrol.c: the enrolment of one host over an open session, and the change of its key. */
#include "orchestrator/enrol.h"
#include "orchestrator/out.h"
#include "orchestrator/trust.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/sshsig.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CALL_MAX      (64u << 10)
#define STATEMENT_MAX (64u << 10)
#define ENROL_WAIT_S  60

static int read_trust(const struct fm_home *home, struct fm_trust *out)
{
	int fd = -1;
	int rc = fm_fs_dir(home->dirfd, "trust", &fd);

	memset(out, 0, sizeof *out);
	if (rc == FM_OK)
		rc = fm_trust_read(fd, fm_identity_public(home->id), out);
	if (fd >= 0)
		close(fd);
	return rc;
}

int fm_enrol_known(const struct fm_home *home, const char *name, bool *known, struct fm_public *key)
{
	struct fm_trust trust;
	char now[21];
	int rc = read_trust(home, &trust);

	*known = false;
	fm_stamp_now(now);
	if (rc == FM_OK) {
		const struct fm_trust_key *k = fm_trust_find(&trust, name, now);

		*known = k != NULL;
		if (k != NULL)
			*key = k->key;
	}
	fm_trust_free(&trust);
	return rc;
}

int fm_enrol_name_of(const struct fm_home *home, const char *public_line, char *out)
{
	struct fm_trust trust;
	struct fm_public key;
	int rc = read_trust(home, &trust);

	out[0] = '\0';
	if (rc == FM_OK && public_line[0] != '\0')
		rc = fm_public_parse(public_line, &key);
	for (size_t i = 0; rc == FM_OK && public_line[0] != '\0' && i < trust.count; i++) {
		if (fm_public_equal(&trust.keys[i].key, &key) && trust.keys[i].before[0] == '\0')
			snprintf(out, FM_NAME_MAX + 1, "%s", trust.keys[i].system);
	}
	fm_trust_free(&trust);
	return rc;
}

static int into_buffer(void *arg, const void *bytes, size_t len)
{
	return fm_buf_put(arg, bytes, len);
}

/* What a host answers to a challenge: statement, signature and, after a change of keys, the
 * signature of the key before, behind each other in data. */
struct told {
	struct fm_buf data;
	char challenge[65];
	uint64_t statement, signature, previous; /* bytes of each */
};

static int announced(struct fm_text *reply, bool rotate, struct told *t)
{
	int rc = fm_text_take_u64(reply, "statement_bytes", STATEMENT_MAX, &t->statement);

	if (rc == FM_OK)
		rc = fm_text_take_u64(reply, "signature_bytes", FM_SSHSIG_MAX, &t->signature);
	if (rc == FM_OK && rotate)
		rc = fm_text_take_u64(reply, "previous_bytes", FM_SSHSIG_MAX, &t->previous);
	return rc;
}

/* current NULL: enrol; else the key that is followed. The caller frees t->data. */
static int ask_host(struct fm_session *s, const struct fm_home *home, const char *name,
        const struct fm_public *current, struct told *t)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	char line[FM_PUBLIC_LINE + 1];
	uint64_t all;
	int rc = fm_call_begin(&call, current == NULL ? "enrol" : "rotate");

	*t = (struct told){.data = FM_BUF_INIT(STATEMENT_MAX + 2 * FM_SSHSIG_MAX)};
	fm_random_hex(32, t->challenge);
	fm_public_line(fm_identity_public(home->id), line);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "system", "%s", name);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "challenge", "%s", t->challenge);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "controller", "%s", line);
	if (rc == FM_OK && current != NULL) {
		fm_public_line(current, line);
		rc = fm_text_put(&call, "current", "%s", line);
	}
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(s, &call, NULL, 0, &reply, ENROL_WAIT_S);
	if (rc == FM_OK)
		rc = announced(&reply, current != NULL, t);
	all = t->statement + t->signature + t->previous;
	if (rc == FM_OK)
		rc = fm_session_data(s, all, into_buffer, &t->data, ENROL_WAIT_S);
	if (rc == FM_OK && t->data.len != all)
		rc = fm_fail(FM_ERR_FRAME, "enrolment: fewer bytes than announced");
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

static struct fm_trust_statement parts(const struct told *t, const char *name)
{
	const char *at = t->data.data;

	return (struct fm_trust_statement){.system = name,
	        .text = at,
	        .text_len = (size_t)t->statement,
	        .sig = at + t->statement,
	        .sig_len = (size_t)t->signature,
	        .prev = at + t->statement + t->signature,
	        .prev_len = (size_t)t->previous};
}

static int confirm(const char *command, const char *name, const struct fm_public *key, bool yes)
{
	char print[FM_FINGERPRINT], answer[16];

	fm_public_fingerprint(key, print);
	if (yes)
		return FM_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fm_fail(FM_ERR_USAGE,
		        "%s offers the key %s; compare it with key.pub in its work folder, then: "
		        "fleetmark %s --yes %s",
		        name, print, command, name);
	fm_say("%s offers the key %s (key.pub in its work folder). Trust what it signs? [y/N]",
	        name, print);
	if (fgets(answer, sizeof answer, stdin) == NULL || (answer[0] != 'y' && answer[0] != 'Y'))
		return fm_fail(FM_ERR_USAGE, "%s: not enrolled, as you said", name);
	return FM_OK;
}

/* Nothing to do: same key on both sides, and the host knows us. */
static int agreed(const struct fm_home *home, struct fm_session *s, const char *name, bool *same)
{
	const struct fm_facts *f = fm_session_facts(s);
	struct fm_public key;
	char line[FM_PUBLIC_LINE + 1];
	bool known = false;
	int rc = fm_enrol_known(home, name, &known, &key);

	*same = false;
	if (rc != FM_OK || !known)
		return rc;
	fm_public_line(&key, line);
	*same = strcmp(line, f->key) == 0;
	fm_public_line(fm_identity_public(home->id), line);
	*same = *same && strcmp(line, f->controller) == 0;
	return FM_OK;
}

/* The host's part of a change of keys that the trust store has made. */
static int tell_rotated(struct fm_session *s, const struct fm_public *key)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	char line[FM_PUBLIC_LINE + 1];
	int rc = fm_call_begin(&call, "rotated");

	fm_public_line(key, line);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "key", "%s", line);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(s, &call, NULL, 0, &reply, ENROL_WAIT_S);
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc == FM_OK ? fm_session_refresh(s) : rc;
}

/* A change of keys that was broken off between the trust store and the host is finished. */
static int mend(const struct fm_home *home, struct fm_session *s, const char *name)
{
	const char *has = fm_session_facts(s)->key;
	struct fm_public key;
	char line[FM_PUBLIC_LINE + 1];
	bool known = false;
	int rc = fm_enrol_known(home, name, &known, &key);

	if (rc != FM_OK || !known)
		return rc;
	fm_public_line(&key, line);
	if (has[0] == '\0' || strcmp(has, line) == 0)
		return FM_OK;
	rc = tell_rotated(s, &key);
	if (rc == FM_OK)
		fm_say("%s: finished the change of its key that was begun before", name);
	return rc == FM_OK || rc == FM_ERR_REFUSED ? FM_OK : rc;
}

/* A key without a word of the one before it: only if the operator says that one is lost. */
static int check_lost(
        const struct fm_home *home, const char *name, const struct fm_public *key, bool lost)
{
	struct fm_public old;
	char print[FM_FINGERPRINT], offered[FM_FINGERPRINT];
	bool known = false;
	int rc = fm_enrol_known(home, name, &known, &old);

	if (rc != FM_OK || !known || lost || fm_public_equal(&old, key))
		return rc;
	fm_public_fingerprint(&old, print);
	fm_public_fingerprint(key, offered);
	return fm_fail(FM_ERR_IDENTITY,
	        "it offers the key %s, which is not signed by its key %s; if that one is lost: "
	        "fleetmark enrol --lost %s",
	        offered, print, name);
}

static int enrol(struct fm_home *home, struct fm_session *s, const char *name, bool yes, bool lost,
        bool *changed)
{
	struct told t = {.data = FM_BUF_INIT(1)};
	struct fm_trust_statement st;
	struct fm_public key;
	char print[FM_FINGERPRINT], line[FM_PUBLIC_LINE + 1], other[FM_NAME_MAX + 1];
	bool same = false;
	int rc = mend(home, s, name);

	*changed = false;
	if (rc == FM_OK)
		rc = agreed(home, s, name, &same);
	if (rc != FM_OK || same)
		return rc;
	rc = ask_host(s, home, name, NULL, &t);
	st = parts(&t, name);
	if (rc == FM_OK)
		rc = fm_trust_check_statement(name, t.challenge, fm_identity_public(home->id),
		        st.text, st.text_len, st.sig, st.sig_len, &key);
	if (rc == FM_OK) {
		fm_public_line(&key, line);
		rc = fm_enrol_name_of(home, line, other);
	}
	if (rc == FM_OK && other[0] != '\0' && strcmp(other, name) != 0)
		rc = fm_fail(FM_ERR_SAME_MACHINE,
		        "this machine is enrolled as %s already; one machine, one name", other);
	if (rc == FM_OK && other[0] == '\0') {
		rc = check_lost(home, name, &key, lost);
		if (rc == FM_OK)
			rc = confirm(lost ? "enrol --lost" : "enrol", name, &key, yes);
		if (rc == FM_OK)
			rc = fm_trust_follow(home, &st, &key);
		*changed = rc == FM_OK;
	}
	if (rc == FM_OK && *changed) {
		fm_public_fingerprint(&key, print);
		fm_say("%s: enrolled, key %s", name, print);
	}
	if (rc == FM_OK)
		rc = fm_session_refresh(s);
	fm_buf_free(&t.data);
	return rc;
}

int fm_enrol(struct fm_home *home, struct fm_session *s, const char *name, bool yes, bool *changed)
{
	return enrol(home, s, name, yes, false, changed);
}

int fm_enrol_lost(
        struct fm_home *home, struct fm_session *s, const char *name, bool yes, bool *changed)
{
	return enrol(home, s, name, yes, true, changed);
}

/* The system's last key, which must be the one the host has. */
static int current_key(
        const struct fm_home *home, struct fm_session *s, const char *name, struct fm_public *out)
{
	const struct fm_trust_key *k;
	struct fm_trust trust;
	char line[FM_PUBLIC_LINE + 1];
	int rc = read_trust(home, &trust);

	if (rc != FM_OK)
		return rc;
	k = fm_trust_last(&trust, name);
	if (k == NULL) {
		rc = fm_fail(FM_ERR_UNENROLLED, "it has no key yet: fleetmark enrol %s", name);
	} else {
		*out = k->key;
		fm_public_line(out, line);
		if (strcmp(fm_session_facts(s)->key, line) != 0)
			rc = fm_fail(FM_ERR_UNENROLLED,
			        "the host has not the key that is trusted; if that one is lost: "
			        "fleetmark enrol --lost %s",
			        name);
	}
	fm_trust_free(&trust);
	return rc;
}

int fm_rotate(struct fm_home *home, struct fm_session *s, const char *name, bool yes)
{
	struct told t = {.data = FM_BUF_INIT(1)};
	struct fm_trust_statement st;
	struct fm_public old, key;
	char before[FM_FINGERPRINT], print[FM_FINGERPRINT];
	int rc = mend(home, s, name);

	if (rc == FM_OK)
		rc = current_key(home, s, name, &old);
	if (rc == FM_OK)
		rc = ask_host(s, home, name, &old, &t);
	st = parts(&t, name);
	if (rc == FM_OK)
		rc = fm_trust_check_statement(name, t.challenge, fm_identity_public(home->id),
		        st.text, st.text_len, st.sig, st.sig_len, &key);
	if (rc == FM_OK)
		rc = confirm("trust rotate", name, &key, yes);
	if (rc == FM_OK)
		rc = fm_trust_follow(home, &st, &key);
	/* What is broken off from here on, mend finishes. */
	if (rc == FM_OK)
		rc = tell_rotated(s, &key);
	if (rc == FM_OK) {
		fm_public_fingerprint(&old, before);
		fm_public_fingerprint(&key, print);
		fm_say("%s: key %s follows %s", name, print, before);
	}
	fm_buf_free(&t.data);
	return rc;
}
