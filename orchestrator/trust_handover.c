/* trust_handover.c: the controller's key is followed by a new one, in steps of which a crash leaves
 * each either done or undone. */
#include "orchestrator/out.h"
#include "orchestrator/trust_parts.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_NEW "key.new"
#define PUBLIC  "controller.pub"

static bool is_there(const struct fm_home *h, const char *name)
{
	return faccessat(h->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The folder trust of the home; anchor is whose seal it must have. */
static int read_trust(const struct fm_home *h, const struct fm_public *anchor, struct fm_trust *out)
{
	int fd = -1, rc = fm_fs_dir(h->dirfd, "trust", &fd);

	memset(out, 0, sizeof *out);
	if (rc == FM_OK)
		rc = fm_trust_read(fd, anchor, out);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* `<name>` becomes `<name>.until-<stamp>`; what is not there is no error. */
static int put_by(const struct fm_home *h, const char *name, const char *stamp)
{
	char to[60];

	if (!is_there(h, name))
		return FM_OK;
	snprintf(to, sizeof to, "%s.until-%s", name, stamp);
	if (is_there(h, to))
		return fm_fail(FM_ERR_CONFIG, "%s/%s is there already; move it away", h->path, to);
	return fm_fs_rename(h->dirfd, name, to);
}

static int write_public(const struct fm_home *h, const struct fm_public *key)
{
	char line[FM_PUBLIC_LINE + 2];

	fm_public_line(key, line);
	line[FM_PUBLIC_LINE] = '\n';
	return fm_fs_write(h->dirfd, PUBLIC, line, FM_PUBLIC_LINE + 1, 0644);
}

static int has_public(const struct fm_home *h, const struct fm_public *key, bool *same)
{
	struct fm_buf text = FM_BUF_INIT(FM_TRUST_JSON_MAX);
	char line[FM_PUBLIC_LINE + 1];
	int rc = fm_fs_read(h->dirfd, PUBLIC, FM_TRUST_JSON_MAX, &text);

	*same = false;
	if (rc == FM_OK && text.len > FM_PUBLIC_LINE) {
		fm_public_line(key, line);
		*same = memcmp(text.data, line, FM_PUBLIC_LINE) == 0;
	}
	fm_buf_free(&text);
	return rc == FM_ERR_SYSTEM && errno == ENOENT ? FM_OK : rc;
}

/* The trust folder is the new key's: public line, then the key itself, take their places. The last
 * rename ends the change. */
static int finish(struct fm_home *h, const struct fm_trust *t, const struct fm_public *next)
{
	char stamp[16];
	bool same;
	int rc;

	fm_trust_compact(t->issued_at, stamp);
	if ((rc = fm_home_set_last_trust(h, t->version)) != FM_OK ||
	        (rc = has_public(h, next, &same)) != FM_OK ||
	        (!same && ((rc = put_by(h, PUBLIC, stamp)) != FM_OK ||
	                          (rc = write_public(h, next)) != FM_OK)) ||
	        (rc = put_by(h, "key", stamp)) != FM_OK)
		return rc;
	return fm_fs_rename(h->dirfd, KEY_NEW, "key");
}

int fm_trust_handover_mend(struct fm_home *h)
{
	struct fm_identity *next = NULL, *old = NULL;
	struct fm_trust t;
	int fd = -1, rc;

	if (!is_there(h, KEY_NEW))
		return FM_OK;
	if (!is_there(h,
	            "trust")) { /* between the two renames of a swap: the old folder comes back */
		if ((rc = fm_trust_folder(h, &fd)) != FM_OK)
			goto out;
		close(fd);
	}
	if ((rc = fm_identity_load(h->dirfd, KEY_NEW, &next)) != FM_OK)
		goto out;
	if (read_trust(h, fm_identity_public(next), &t) == FM_OK) {
		rc = finish(h, &t, fm_identity_public(next));
		fm_trust_free(&t);
		goto out;
	}
	/* it never sealed anything that counts: the old one stays */
	if ((rc = fm_identity_load(h->dirfd, "key", &old)) == FM_OK &&
	        (rc = read_trust(h, fm_identity_public(old), &t)) == FM_OK) {
		fm_trust_free(&t);
		rc = fm_fs_remove(h->dirfd, KEY_NEW);
	}
out:
	fm_identity_free(next);
	fm_identity_free(old);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s: a change of the controller's key", h->path);
}

/* The old key's last act: a trust folder that names both keys. */
static int write_handover(const struct fm_home *h, const struct fm_trust *t, int to)
{
	int fd = -1, rc = fm_fs_mkdirs(to, "handover", 0755, &fd);

	if (rc == FM_OK && (rc = fm_trust_lists(t, fd)) == FM_OK)
		rc = fm_seal(fd, FM_SEAL_TRUST, h->id, NULL);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Writes the new folder beside the old one; t is the old one's content and becomes the new one's.
 */
static int write_both(const struct fm_home *h, struct fm_trust *t, const struct fm_identity *next)
{
	struct fm_trust again;
	int fd = -1, rc = fm_trust_folder(h, &fd);

	t->count = 0; /* its systems belong to the old key; what is revoked stays revoked */
	t->has_successor = true;
	t->successor = *fm_identity_public(next);
	t->version++;
	fm_stamp_now(t->issued_at);
	fm_trust_compact(t->issued_at, t->successor_after);
	if (rc != FM_OK || (rc = write_handover(h, t, fd)) != FM_OK)
		goto out;
	t->has_successor = false;
	t->controller = t->successor;
	memcpy(t->controller_after, t->successor_after, sizeof t->controller_after);
	t->version++;
	if ((rc = fm_trust_lists(t, fd)) == FM_OK &&
	        (rc = fm_seal(fd, FM_SEAL_TRUST, next, NULL)) == FM_OK &&
	        (rc = fm_trust_read(fd, fm_identity_public(next), &again)) == FM_OK)
		fm_trust_free(&again);
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

int fm_trust_handover(struct fm_home *h)
{
	struct fm_identity *next = NULL;
	struct fm_trust t;
	int lock = -1, rc = fm_home_lock(h, &lock);

	memset(&t, 0, sizeof t);
	if (rc != FM_OK || (rc = read_trust(h, fm_identity_public(h->id), &t)) != FM_OK ||
	        (rc = fm_trust_version(h, t.version)) != FM_OK ||
	        (rc = fm_identity_create(h->dirfd, KEY_NEW)) != FM_OK ||
	        (rc = fm_identity_load(h->dirfd, KEY_NEW, &next)) != FM_OK ||
	        (rc = write_both(h, &t, next)) != FM_OK ||
	        (rc = fm_trust_swap(h, false)) != FM_OK ||
	        (rc = finish(h, &t, fm_identity_public(next))) != FM_OK)
		goto out;
	fm_identity_free(h->id);
	h->id = next;
	next = NULL;
out:
	fm_identity_free(next);
	fm_trust_free(&t);
	if (lock >= 0)
		close(lock);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s: a change of the controller's key", h->path);
}
