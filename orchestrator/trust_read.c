/* trust_read.c: reads a trust folder: the seal first, then every line, then every enrolment
 * statement. */
#include "orchestrator/jsonr.h"
#include "orchestrator/trust_parts.h"
#include "protocol/fs.h"
#include "protocol/jobtext.h"
#include "protocol/seal.h"
#include "protocol/sshsig.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fm_trust_free(struct fm_trust *t)
{
	free(t->keys);
	free(t->revoked);
	memset(t, 0, sizeof *t);
}

/* ---- statements ---- */

static int take_statement(struct fm_text *t, struct fm_statement *s)
{
	const char *controller, *key, *previous;
	int rc;

	if ((rc = fm_text_take_name(t, "system", s->system)) != FM_OK ||
	        (rc = fm_text_take_hex(t, "challenge", s->challenge)) != FM_OK ||
	        (rc = fm_text_take(t, "controller", &controller)) != FM_OK ||
	        (rc = fm_public_parse(controller, &s->controller)) != FM_OK ||
	        (rc = fm_text_take(t, "key", &key)) != FM_OK ||
	        (rc = fm_public_parse(key, &s->key)) != FM_OK ||
	        (rc = fm_text_take(t, "previous", &previous)) != FM_OK)
		return rc;
	s->has_previous = strcmp(previous, "none") != 0;
	if (s->has_previous && (rc = fm_public_parse(previous, &s->previous)) != FM_OK)
		return rc;
	return fm_text_close(t);
}

int fm_statement_check(const char *statement, size_t len, const char *signature,
        size_t signature_len, struct fm_statement *out)
{
	struct fm_text t;
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_text_open(&t, "enrol", statement, len)) != FM_OK)
		return fm_wrap(rc, "enrolment statement");
	rc = take_statement(&t, out);
	fm_text_free(&t);
	if (rc == FM_OK)
		rc = fm_sshsig_verify(
		        &out->key, "enrol.v1@fleetmark", statement, len, signature, signature_len);
	return rc == FM_OK ? rc : fm_wrap(rc, "enrolment statement");
}

int fm_trust_check_statement(const char *system, const char *challenge,
        const struct fm_public *controller, const char *statement, size_t len,
        const char *signature, size_t signature_len, struct fm_public *key)
{
	struct fm_statement s;
	int rc = fm_statement_check(statement, len, signature, signature_len, &s);

	if (rc != FM_OK)
		return rc;
	if (strcmp(s.system, system) != 0)
		return fm_fail(FM_ERR_IDENTITY, "the enrolment statement is for system %s, not %s",
		        s.system, system);
	if (strcmp(s.challenge, challenge) != 0)
		return fm_fail(FM_ERR_REPLAY, "the enrolment statement answers another challenge");
	if (!fm_public_equal(&s.controller, controller))
		return fm_fail(FM_ERR_IDENTITY, "the enrolment statement names another controller");
	*key = s.key;
	return FM_OK;
}

/* The statement of a system's last key: for this system, this key, this controller; after a change
 * also signed by the key before. */
static int check_enrolled(int dirfd, const struct fm_trust *t, const struct fm_trust_key *k)
{
	struct fm_buf text = FM_BUF_INIT(FM_TRUST_FILE_MAX), sig = FM_BUF_INIT(FM_SSHSIG_MAX),
	              prev = FM_BUF_INIT(FM_SSHSIG_MAX);
	char name[FM_NAME_MAX + 40];
	struct fm_statement s;
	int rc;

	snprintf(name, sizeof name, "enrol/%s.txt", k->system);
	if ((rc = fm_fs_read(dirfd, name, FM_TRUST_FILE_MAX, &text)) != FM_OK)
		goto out;
	snprintf(name, sizeof name, "enrol/%s.txt.sig", k->system);
	if ((rc = fm_fs_read(dirfd, name, FM_SSHSIG_MAX, &sig)) != FM_OK ||
	        (rc = fm_statement_check(text.data, text.len, sig.data, sig.len, &s)) != FM_OK)
		goto out;
	if (strcmp(s.system, k->system) != 0 || !fm_public_equal(&s.key, &k->key) ||
	        !fm_public_equal(&s.controller, &t->controller)) {
		rc = fm_fail(FM_ERR_IDENTITY,
		        "enrol/%s.txt is for another system, key or controller", k->system);
		goto out;
	}
	snprintf(name, sizeof name, "enrol/%s.txt.prev.sig", k->system);
	rc = fm_fs_read(dirfd, name, FM_SSHSIG_MAX, &prev);
	if (rc == FM_OK)
		rc = s.has_previous ? fm_sshsig_verify(&s.previous, "enrol.v1@fleetmark", text.data,
		                              text.len, prev.data, prev.len)
		                    : fm_fail(FM_ERR_FORM, "%s without a previous key", name);
	else if (rc == FM_ERR_SYSTEM && errno == ENOENT)
		rc = s.has_previous ? fm_fail(FM_ERR_SIGNATURE,
		                              "%s is missing: the key before did not sign the "
		                              "statement that follows it",
		                              name)
		                    : FM_OK;
out:
	fm_buf_free(&text);
	fm_buf_free(&sig);
	fm_buf_free(&prev);
	return rc == FM_OK || rc == FM_ERR_MEMORY
	               ? rc
	               : fm_wrap(rc == FM_ERR_SYSTEM ? FM_ERR_FORM : rc, "%s", k->system);
}

/* ---- the folder ---- */

static int read_version(int dirfd, struct fm_trust *t)
{
	struct fm_buf text = FM_BUF_INIT(FM_TRUST_JSON_MAX);
	struct fm_json *doc = NULL;
	const char *schema, *issued;
	int rc;

	if ((rc = fm_fs_read(dirfd, "trust.json", FM_TRUST_JSON_MAX, &text)) != FM_OK ||
	        (rc = fm_json_read("trust.json", text.data, text.len, FM_TRUST_JSON_MAX, &doc)) !=
	                FM_OK ||
	        (rc = fm_json_only(fm_json_root(doc), "issued_at schema version")) != FM_OK ||
	        (rc = fm_json_str(fm_json_root(doc), "schema", &schema)) != FM_OK ||
	        (rc = fm_json_str(fm_json_root(doc), "issued_at", &issued)) != FM_OK ||
	        (rc = fm_json_int(fm_json_root(doc), "version", &t->version)) != FM_OK)
		goto out;
	if (strcmp(schema, "trust/1") != 0 || !fm_stamp_ok(issued) || t->version < 1)
		rc = fm_fail(FM_ERR_FORM, "trust.json: schema must be trust/1, issued_at a stamp, "
		                          "version at least 1");
	else
		memcpy(t->issued_at, issued, sizeof t->issued_at);
out:
	fm_json_free(doc);
	fm_buf_free(&text);
	return rc;
}

static int read_lines(int dirfd, const char *name, struct fm_trust *t,
        int (*parse)(const char *, size_t, struct fm_trust *))
{
	struct fm_buf text = FM_BUF_INIT(FM_TRUST_FILE_MAX);
	int rc = fm_fs_read(dirfd, name, FM_TRUST_FILE_MAX, &text);

	if (rc == FM_OK && (rc = parse(text.data == NULL ? "" : text.data, text.len, t)) != FM_OK)
		fm_wrap(rc, "%s", name);
	fm_buf_free(&text);
	return rc;
}

/* Nothing lies there but what section 13 names; what is in handover/ is checked with that folder.
 */
static int check_names(const struct fm_manifest *m, const struct fm_trust *t)
{
	static const char *const ends[] = {".txt", ".txt.sig", ".txt.prev.sig"};

	for (size_t i = 0; i < m->count; i++) {
		const char *path = m->entries[i].path;
		bool known = strcmp(path, "allowed_signers") == 0 ||
		             strcmp(path, "revoked_keys") == 0 || strcmp(path, "trust.json") == 0 ||
		             strncmp(path, "handover/", 9) == 0;

		for (size_t k = 0; !known && strncmp(path, "enrol/", 6) == 0 && k < t->count; k++) {
			size_t len = strlen(t->keys[k].system);

			for (size_t e = 0; strncmp(path + 6, t->keys[k].system, len) == 0 && e < 3;
			        e++)
				known |= strcmp(path + 6 + len, ends[e]) == 0;
		}
		if (!known)
			return fm_fail(FM_ERR_FORM, "%s does not belong there", path);
	}
	return FM_OK;
}

/* A folder of keys by itself, without what an earlier anchor may have left in handover/. */
static int read_folder(
        int dirfd, const struct fm_public *anchor, struct fm_trust *out, struct fm_manifest *m)
{
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_seal_check(dirfd, FM_SEAL_TRUST, anchor, NULL, m)) != FM_OK ||
	        (rc = read_lines(dirfd, "allowed_signers", out, fm_trust_parse_signers)) != FM_OK ||
	        (rc = read_lines(dirfd, "revoked_keys", out, fm_trust_parse_revoked)) != FM_OK ||
	        (rc = read_version(dirfd, out)) != FM_OK || (rc = check_names(m, out)) != FM_OK)
		return rc;
	if (!fm_public_equal(&out->controller, anchor))
		rc = fm_fail(FM_ERR_IDENTITY, "allowed_signers: the controller's line is not the "
		                              "key that sealed the folder");
	for (size_t i = 0; rc == FM_OK && i < out->count; i++)
		if (fm_trust_last(out, out->keys[i].system) == &out->keys[i])
			rc = check_enrolled(dirfd, out, &out->keys[i]);
	return rc;
}

/* handover/, if it is there: the last act of another key, which names anchor as the next one and
 * nothing else. */
static int check_handover(int dirfd, const struct fm_public *anchor, int64_t version)
{
	struct fm_manifest m = {NULL, 0, NULL};
	struct fm_trust told, again;
	int fd = -1, rc = fm_fs_dir(dirfd, "handover", &fd);

	memset(&told, 0, sizeof told);
	memset(&again, 0, sizeof again);
	if (rc == FM_ERR_SYSTEM && errno == ENOENT)
		return FM_OK;
	/* the key that must have sealed it stands in it: whoever trusts that key, not us, decides
	 * by it */
	if (rc != FM_OK ||
	        (rc = read_lines(fd, "allowed_signers", &told, fm_trust_parse_signers)) != FM_OK ||
	        (rc = read_folder(fd, &told.controller, &again, &m)) != FM_OK)
		goto out;
	if (!again.has_successor || !fm_public_equal(&again.successor, anchor))
		rc = fm_fail(FM_ERR_IDENTITY, "names another key than the one that sealed this");
	else if (m.count != 3 || again.count != 0)
		rc = fm_fail(FM_ERR_FORM,
		        "holds more than two controller's lines, revoked_keys and trust.json");
	else if (again.version >= version)
		rc = fm_fail(FM_ERR_FORM, "is not older than the folder it lies in");
out:
	if (fd >= 0)
		close(fd);
	fm_manifest_free(&m);
	fm_trust_free(&told);
	fm_trust_free(&again);
	return rc == FM_OK || rc == FM_ERR_MEMORY
	               ? rc
	               : fm_wrap(rc == FM_ERR_SYSTEM ? FM_ERR_FORM : rc, "handover");
}

bool fm_trust_successor(int dirfd, const struct fm_public *anchor, struct fm_public *next)
{
	struct fm_manifest m = {NULL, 0, NULL};
	struct fm_trust t;
	bool named = read_folder(dirfd, anchor, &t, &m) == FM_OK && t.has_successor;

	if (named)
		*next = t.successor;
	fm_manifest_free(&m);
	fm_trust_free(&t);
	return named;
}

int fm_trust_read(int dirfd, const struct fm_public *anchor, struct fm_trust *out)
{
	struct fm_manifest m = {NULL, 0, NULL};
	int rc = read_folder(dirfd, anchor, out, &m);

	if (rc == FM_OK && out->has_successor)
		rc = fm_fail(FM_ERR_FORM, "allowed_signers: a second line of the controller stands "
		                          "only in a handover");
	if (rc == FM_OK)
		rc = check_handover(dirfd, anchor, out->version);
	fm_manifest_free(&m);
	if (rc == FM_OK)
		return rc;
	fm_trust_free(out);
	return rc == FM_ERR_MEMORY ? rc : fm_wrap(rc == FM_ERR_SYSTEM ? FM_ERR_FORM : rc, "trust");
}

/* ---- looking ---- */

const struct fm_trust_key *fm_trust_find(
        const struct fm_trust *t, const char *system, const char *stamp)
{
	char at[40];

	if (!fm_stamp_ok(stamp))
		return NULL;
	snprintf(at, sizeof at, "%.4s%.2s%.2s%.2s%.2s%.2sZ", stamp, stamp + 5, stamp + 8,
	        stamp + 11, stamp + 14, stamp + 17);
	for (size_t i = 0; i < t->count; i++) {
		const struct fm_trust_key *k = &t->keys[i];

		if (strcmp(k->system, system) == 0 && strcmp(k->after, at) <= 0 &&
		        (k->before[0] == '\0' || strcmp(at, k->before) <= 0))
			return fm_trust_revoked(t, &k->key) ? NULL : k;
	}
	return NULL;
}

bool fm_trust_covers(const struct fm_trust *t, const char *system, const struct fm_public *key,
        const char *issued_at, const char *received_at)
{
	char issued[16], received[16];

	if (!fm_stamp_ok(issued_at) || !fm_stamp_ok(received_at))
		return false;
	fm_trust_compact(issued_at, issued);
	fm_trust_compact(received_at, received);
	for (size_t i = 0; i < t->count; i++) {
		const struct fm_trust_key *k = &t->keys[i];

		if (strcmp(k->system, system) == 0 && fm_public_equal(&k->key, key))
			return strcmp(k->after, issued) <= 0 &&
			       (k->before[0] == '\0' || (strcmp(issued, k->before) <= 0 &&
			                                        strcmp(received, k->before) <= 0));
	}
	return false;
}

bool fm_trust_revoked(const struct fm_trust *t, const struct fm_public *key)
{
	for (size_t i = 0; i < t->revoked_count; i++)
		if (fm_public_equal(&t->revoked[i], key))
			return true;
	return false;
}
