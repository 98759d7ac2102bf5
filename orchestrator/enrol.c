/* enrol.c: the enrolment of one host over an open session. */
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

/* The host's statement and signature behind each other in data. */
static int ask_host(struct fm_session *s, const struct fm_home *home, const char *name,
        const char *challenge, struct fm_buf *data, uint64_t *statement_len)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	char line[FM_PUBLIC_LINE + 1];
	uint64_t signature_len = 0;
	int rc = fm_call_begin(&call, "enrol");

	fm_public_line(fm_identity_public(home->id), line);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "system", "%s", name);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "challenge", "%s", challenge);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "controller", "%s", line);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(s, &call, NULL, 0, &reply, ENROL_WAIT_S);
	if (rc == FM_OK)
		rc = fm_text_take_u64(&reply, "statement_bytes", STATEMENT_MAX, statement_len);
	if (rc == FM_OK)
		rc = fm_text_take_u64(&reply, "signature_bytes", FM_SSHSIG_MAX, &signature_len);
	if (rc == FM_OK)
		rc = fm_session_data(
		        s, *statement_len + signature_len, into_buffer, data, ENROL_WAIT_S);
	if (rc == FM_OK && data->len != *statement_len + signature_len)
		rc = fm_fail(FM_ERR_FRAME, "enrolment: fewer bytes than announced");
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

static int confirm(const char *name, const struct fm_public *key, bool yes)
{
	char print[FM_FINGERPRINT], answer[16];

	fm_public_fingerprint(key, print);
	if (yes)
		return FM_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fm_fail(FM_ERR_USAGE,
		        "%s offers the key %s; compare it with key.pub in its work folder, then: "
		        "fleetmark enrol --yes %s",
		        name, print, name);
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

int fm_enrol(struct fm_home *home, struct fm_session *s, const char *name, bool yes, bool *changed)
{
	struct fm_buf data = FM_BUF_INIT(STATEMENT_MAX + FM_SSHSIG_MAX);
	struct fm_public key;
	char challenge[65], print[FM_FINGERPRINT], line[FM_PUBLIC_LINE + 1], other[FM_NAME_MAX + 1];
	uint64_t n = 0;
	bool same = false;
	int rc = agreed(home, s, name, &same);

	*changed = false;
	if (rc != FM_OK || same)
		return rc;
	fm_random_hex(32, challenge);
	rc = ask_host(s, home, name, challenge, &data, &n);
	if (rc == FM_OK)
		rc = fm_trust_check_statement(name, challenge, fm_identity_public(home->id),
		        data.data, (size_t)n, data.data + n, data.len - (size_t)n, &key);
	if (rc == FM_OK) {
		fm_public_line(&key, line);
		rc = fm_enrol_name_of(home, line, other);
	}
	if (rc == FM_OK && other[0] != '\0' && strcmp(other, name) != 0)
		rc = fm_fail(FM_ERR_SAME_MACHINE,
		        "this machine is enrolled as %s already; one machine, one name", other);
	if (rc == FM_OK && other[0] == '\0') {
		rc = confirm(name, &key, yes);
		if (rc == FM_OK)
			rc = fm_trust_add(home, name, &key, data.data, (size_t)n, data.data + n,
			        data.len - (size_t)n);
		*changed = rc == FM_OK;
	}
	if (rc == FM_OK && *changed) {
		fm_public_fingerprint(&key, print);
		fm_say("%s: enrolled, key %s", name, print);
	}
	if (rc == FM_OK)
		rc = fm_session_refresh(s);
	fm_buf_free(&data);
	return rc;
}
