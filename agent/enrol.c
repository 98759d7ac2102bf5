/* enrol.c: makes the host's key once, pins the controller once, and signs the statement that names
 * both. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/spawn.h"
#include "protocol/identity.h"
#include "protocol/sshsig.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

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

static int statement(struct fm_buf *out, const char *system, const char *challenge,
        const struct fm_public *controller, const struct fm_public *key)
{
	char line[FM_PUBLIC_LINE + 1];
	int rc;

	if ((rc = fm_text_begin(out, "enrol")) != FM_OK ||
	        (rc = fm_text_put(out, "system", "%s", system)) != FM_OK ||
	        (rc = fm_text_put(out, "challenge", "%s", challenge)) != FM_OK)
		return rc;
	fm_public_line(controller, line);
	if ((rc = fm_text_put(out, "controller", "%s", line)) != FM_OK)
		return rc;
	fm_public_line(key, line);
	if ((rc = fm_text_put(out, "key", "%s", line)) != FM_OK ||
	        (rc = fm_text_put(out, "previous", "none")) != FM_OK)
		return rc;
	return fm_text_end(out);
}

int fm_call_enrol(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX), sig = FM_BUF_INIT(FM_SSHSIG_MAX);
	char system[FM_NAME_MAX + 1], challenge[65];
	struct fm_identity *id = NULL;
	struct fm_public controller;
	const char *line;
	int rc;

	if ((rc = fm_text_take_name(call, "system", system)) != FM_OK ||
	        (rc = fm_text_take_hex(call, "challenge", challenge)) != FM_OK ||
	        (rc = fm_text_take(call, "controller", &line)) != FM_OK ||
	        (rc = fm_public_parse(line, &controller)) != FM_OK ||
	        (rc = fm_text_close(call)) != FM_OK)
		goto out;
	if (strcmp(system, "controller") == 0) {
		rc = fm_fail(FM_ERR_NAME, "enrol: no system may be called controller");
		goto out;
	}
	/* The key is opened only while no child is alive: a job of ours might be measuring. */
	if ((rc = fm_door_refuse_busy("enrol")) != FM_OK || (rc = fm_child_sweep()) != FM_OK ||
	        (rc = pin(at->agent, &controller)) != FM_OK ||
	        (rc = own_key(at->agent, &id)) != FM_OK ||
	        (rc = statement(&text, system, challenge, &controller, fm_identity_public(id))) !=
	                FM_OK ||
	        (rc = fm_sshsig_sign(id, "enrol.v1@fleetmark", text.data, text.len, &sig)) !=
	                FM_OK ||
	        (rc = fm_text_put(reply, "statement_bytes", "%zu", text.len)) != FM_OK ||
	        (rc = fm_text_put(reply, "signature_bytes", "%zu", sig.len)) != FM_OK ||
	        (rc = fm_buf_put(&at->data, text.data, text.len)) != FM_OK ||
	        (rc = fm_buf_put(&at->data, sig.data, sig.len)) != FM_OK)
		goto out;
	at->has_data = true;
out:
	fm_identity_free(id);
	fm_buf_free(&text);
	fm_buf_free(&sig);
	return rc;
}
