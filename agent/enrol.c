/* enrol.c: makes the host's key once, pins the controller once, signs the statement that names
 * both; later a new key follows the old one. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/spawn.h"
#include "protocol/identity.h"
#include "protocol/sshsig.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Loads the key (made first if there is none) and keeps its public line beside it. */
static int own_key(const struct fm_agent *a, struct fm_identity **id)
{
	struct stat st;
	char line[FM_PUBLIC_LINE + 2];
	int rc;

	*id = NULL;
	if (fstatat(a->dir, FM_AGENT_KEY, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT)
			return fm_fail_errno("%s/%s", a->path, FM_AGENT_KEY);
		if ((rc = fm_identity_create(a->dir, FM_AGENT_KEY)) != FM_OK)
			return rc;
	}
	if ((rc = fm_identity_load(a->dir, FM_AGENT_KEY, id)) != FM_OK)
		return fm_wrap(rc, "%s/%s", a->path, FM_AGENT_KEY);
	fm_public_line(fm_identity_public(*id), line);
	line[FM_PUBLIC_LINE] = '\n';
	return fm_fs_write(a->dir, FM_AGENT_KEY_PUB, line, FM_PUBLIC_LINE + 1, 0644);
}

/* Pins the controller, or refuses if another one is pinned. */
static int pin(const struct fm_agent *a, const struct fm_public *controller)
{
	char pinned[FM_PUBLIC_LINE + 1], line[FM_PUBLIC_LINE + 2], print[FM_FINGERPRINT];
	struct fm_public other;
	int rc = fm_agent_public_line(a, FM_AGENT_CONTROLLER, pinned);

	if (rc != FM_OK)
		return rc;
	fm_public_line(controller, line);
	if (strcmp(pinned, line) == 0)
		return FM_OK;
	if (strcmp(pinned, "none") != 0) {
		if ((rc = fm_public_parse(pinned, &other)) != FM_OK)
			return rc;
		fm_public_fingerprint(&other, print);
		return fm_fail(FM_ERR_REFUSED,
		        "this host obeys another controller (%s); to give it to a new one, remove "
		        "%s/%s on the host itself",
		        print, a->path, FM_AGENT_CONTROLLER);
	}
	line[FM_PUBLIC_LINE] = '\n';
	return fm_fs_create(a->dir, FM_AGENT_CONTROLLER, line, FM_PUBLIC_LINE + 1, 0644);
}

/* previous NULL: none. */
static int statement(struct fm_buf *out, const char *system, const char *challenge,
        const struct fm_public *controller, const struct fm_public *key,
        const struct fm_public *previous)
{
	char line[FM_PUBLIC_LINE + 1] = "none";
	int rc;

	if ((rc = fm_text_begin(out, "enrol")) != FM_OK ||
	        (rc = fm_text_put(out, "system", "%s", system)) != FM_OK ||
	        (rc = fm_text_put(out, "challenge", "%s", challenge)) != FM_OK)
		return rc;
	fm_public_line(controller, line);
	if ((rc = fm_text_put(out, "controller", "%s", line)) != FM_OK)
		return rc;
	fm_public_line(key, line);
	if ((rc = fm_text_put(out, "key", "%s", line)) != FM_OK)
		return rc;
	if (previous != NULL)
		fm_public_line(previous, line);
	if ((rc = fm_text_put(out, "previous", "%s", previous == NULL ? "none" : line)) != FM_OK)
		return rc;
	return fm_text_end(out);
}

/* A key is opened only while no child is alive (a job of ours might be measuring), and while it is
 * open nobody else may look into this process. */
static int close_doors(const char *what)
{
	int rc = fm_door_refuse_busy(what);

	if (rc == FM_OK && (rc = fm_child_sweep()) == FM_OK &&
	        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		rc = fm_fail_errno("%s", what);
	return rc;
}

static void open_doors(void)
{
	(void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
}

struct enrol_call {
	char system[FM_NAME_MAX + 1], challenge[65];
	struct fm_public controller;
};

static int take_call(struct fm_text *call, struct enrol_call *c)
{
	const char *line;
	int rc;

	if ((rc = fm_text_take_name(call, "system", c->system)) != FM_OK ||
	        (rc = fm_text_take_hex(call, "challenge", c->challenge)) != FM_OK ||
	        (rc = fm_text_take(call, "controller", &line)) != FM_OK ||
	        (rc = fm_public_parse(line, &c->controller)) != FM_OK)
		return rc;
	return strcmp(c->system, "controller") == 0
	               ? fm_fail(FM_ERR_NAME, "enrol: no system may be called controller")
	               : FM_OK;
}

/* Statement and signatures into the reply; old NULL: no key before. */
static int answer(struct fm_attach *at, struct fm_buf *reply, const struct enrol_call *c,
        const struct fm_identity *id, const struct fm_identity *old)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX), sig = FM_BUF_INIT(FM_SSHSIG_MAX),
	              prev = FM_BUF_INIT(FM_SSHSIG_MAX);
	int rc = statement(&text, c->system, c->challenge, &c->controller, fm_identity_public(id),
	        old == NULL ? NULL : fm_identity_public(old));

	if (rc != FM_OK ||
	        (rc = fm_sshsig_sign(id, "enrol.v1@fleetmark", text.data, text.len, &sig)) !=
	                FM_OK ||
	        (old != NULL && (rc = fm_sshsig_sign(old, "enrol.v1@fleetmark", text.data, text.len,
	                                 &prev)) != FM_OK) ||
	        (rc = fm_text_put(reply, "statement_bytes", "%zu", text.len)) != FM_OK ||
	        (rc = fm_text_put(reply, "signature_bytes", "%zu", sig.len)) != FM_OK ||
	        (old != NULL &&
	                (rc = fm_text_put(reply, "previous_bytes", "%zu", prev.len)) != FM_OK) ||
	        (rc = fm_buf_put(&at->data, text.data, text.len)) != FM_OK ||
	        (rc = fm_buf_put(&at->data, sig.data, sig.len)) != FM_OK ||
	        (old != NULL && (rc = fm_buf_put(&at->data, prev.data, prev.len)) != FM_OK))
		goto out;
	at->has_data = true;
out:
	fm_buf_free(&text);
	fm_buf_free(&sig);
	fm_buf_free(&prev);
	return rc;
}

int fm_call_enrol(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_identity *id = NULL;
	struct enrol_call c;
	int rc;

	if ((rc = take_call(call, &c)) != FM_OK || (rc = fm_text_close(call)) != FM_OK ||
	        (rc = close_doors("enrol")) != FM_OK)
		goto out;
	if ((rc = pin(at->agent, &c.controller)) == FM_OK &&
	        (rc = own_key(at->agent, &id)) == FM_OK)
		rc = answer(at, reply, &c, id, NULL);
out:
	fm_identity_free(id);
	open_doors();
	return rc;
}

/* ---- a new key ---- */

/* Only the controller that is pinned may ask, and it must know the key that is here. */
static int check_asker(const struct fm_agent *a, const struct enrol_call *c,
        const struct fm_identity *old, const char *current)
{
	char pinned[FM_PUBLIC_LINE + 1], line[FM_PUBLIC_LINE + 1];
	int rc = fm_agent_public_line(a, FM_AGENT_CONTROLLER, pinned);

	if (rc != FM_OK)
		return rc;
	fm_public_line(&c->controller, line);
	if (strcmp(pinned, line) != 0)
		return fm_fail(FM_ERR_REFUSED, "this host does not obey the controller that asks");
	fm_public_line(fm_identity_public(old), line);
	if (strcmp(current, line) != 0)
		return fm_fail(FM_ERR_REFUSED,
		        "the key of this host is not the one that its controller knows");
	return FM_OK;
}

static int load_new(const struct fm_agent *a, bool make, struct fm_identity **id)
{
	struct stat st;
	int rc = FM_OK;

	*id = NULL;
	if (fstatat(a->dir, FM_AGENT_KEY_NEW, &st, AT_SYMLINK_NOFOLLOW) != 0) {
		if (errno != ENOENT)
			return fm_fail_errno("%s/%s", a->path, FM_AGENT_KEY_NEW);
		if (!make)
			return fm_fail(FM_ERR_REFUSED, "no change of keys was begun on this host");
		rc = fm_identity_create(a->dir, FM_AGENT_KEY_NEW);
	}
	if (rc == FM_OK)
		rc = fm_identity_load(a->dir, FM_AGENT_KEY_NEW, id);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/%s", a->path, FM_AGENT_KEY_NEW);
}

int fm_call_rotate(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_identity *id = NULL, *old = NULL;
	struct enrol_call c;
	const char *current;
	int rc;

	if ((rc = take_call(call, &c)) != FM_OK ||
	        (rc = fm_text_take(call, "current", &current)) != FM_OK ||
	        (rc = close_doors("rotate")) != FM_OK)
		goto out;
	if ((rc = fm_identity_load(at->agent->dir, FM_AGENT_KEY, &old)) == FM_OK &&
	        (rc = check_asker(at->agent, &c, old, current)) == FM_OK &&
	        (rc = fm_text_close(call)) == FM_OK &&
	        (rc = load_new(at->agent, true, &id)) == FM_OK)
		rc = answer(at, reply, &c, id, old);
out:
	fm_identity_free(old);
	fm_identity_free(id);
	open_doors();
	return rc;
}

/* Is this the public half of the key in the file? */
static int is_key(
        const struct fm_agent *a, const char *name, const struct fm_public *want, bool *same)
{
	struct fm_identity *id = NULL;
	int rc = strcmp(name, FM_AGENT_KEY) == 0 ? fm_identity_load(a->dir, name, &id)
	                                         : load_new(a, false, &id);

	*same = rc == FM_OK && fm_public_equal(fm_identity_public(id), want);
	fm_identity_free(id);
	return rc;
}

/* The controller trusts the new key: from now on it is the key. Asked again, nothing happens. */
int fm_call_rotated(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	const struct fm_agent *a = at->agent;
	char line[FM_PUBLIC_LINE + 2];
	struct fm_public key;
	const char *text;
	bool same = false;
	int rc;

	(void)reply;
	if ((rc = fm_text_take(call, "key", &text)) != FM_OK ||
	        (rc = fm_public_parse(text, &key)) != FM_OK ||
	        (rc = fm_text_close(call)) != FM_OK || (rc = close_doors("rotate")) != FM_OK)
		goto out;
	if ((rc = is_key(a, FM_AGENT_KEY, &key, &same)) != FM_OK || same)
		goto out;
	if ((rc = is_key(a, FM_AGENT_KEY_NEW, &key, &same)) == FM_OK && !same)
		rc = fm_fail(FM_ERR_REFUSED, "this host has no such key");
	if (rc == FM_OK)
		rc = fm_fs_rename(a->dir, FM_AGENT_KEY_NEW, FM_AGENT_KEY);
	if (rc == FM_OK) {
		fm_public_line(&key, line);
		line[FM_PUBLIC_LINE] = '\n';
		rc = fm_fs_write(a->dir, FM_AGENT_KEY_PUB, line, FM_PUBLIC_LINE + 1, 0644);
	}
out:
	open_doors();
	return rc;
}
