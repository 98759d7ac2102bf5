/* home.c: the controller's own folder: opens it, makes its key once, remembers the last tree and
 * the last trust folder it sealed. */
#include "orchestrator/home.h"
#include "orchestrator/out.h"
#include "orchestrator/trust.h"
#include "protocol/buf.h"
#include "protocol/fs.h"
#include "protocol/lines.h"
#include "protocol/path.h"
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

char *fm_home_path(const char *name)
{
	const char *set = getenv("FLEETMARK_HOME"), *home = getenv("HOME");
	const struct passwd *account;

	if (set != NULL && set[0] != '\0')
		return name == NULL ? fm_strdup(set) : fm_sprintf("%s/%s", set, name);
	if (home == NULL || home[0] != '/') {
		account = getpwuid(getuid());
		home = account == NULL ? NULL : account->pw_dir;
	}
	if (home == NULL) {
		fm_fail(FM_ERR_CONFIG, "no home folder: set FLEETMARK_HOME");
		return NULL;
	}
	return fm_sprintf("%s/.config/fleetmark%s%s", home, name == NULL ? "" : "/",
	        name == NULL ? "" : name);
}

int fm_home_open(struct fm_home *h)
{
	struct stat st;
	int rc = FM_ERR_CONFIG;

	*h = (struct fm_home){.dirfd = -1};
	if ((h->path = fm_home_path(NULL)) == NULL)
		return rc;
	if ((rc = fm_fs_mkdirs(AT_FDCWD, h->path, 0700, &h->dirfd)) != FM_OK) {
		fm_wrap(rc, "the controller's folder %s", h->path);
		goto out;
	}
	if (fstat(h->dirfd, &st) < 0)
		rc = fm_fail_errno("%s", h->path);
	else if (st.st_uid != geteuid() || (st.st_mode & 022) != 0)
		rc = fm_fail(FM_ERR_CONFIG,
		        "%s: must belong to you and be writable by nobody else (chmod 700)",
		        h->path);
out:
	if (rc != FM_OK)
		fm_home_close(h);
	return rc;
}

void fm_home_close(struct fm_home *h)
{
	fm_identity_free(h->id);
	free(h->path);
	if (h->dirfd >= 0)
		close(h->dirfd);
	*h = (struct fm_home){.dirfd = -1};
}

int fm_home_lock(const struct fm_home *h, int *fd)
{
	const struct timespec pause = {0, 50 * 1000 * 1000};
	int rc;

	for (int i = 0; (rc = fm_fs_lock(h->dirfd, "lock", fd)) == FM_ERR_LOCKED && i < 200; i++)
		nanosleep(&pause, NULL);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", h->path);
}

static bool is_there(const struct fm_home *h, const char *name)
{
	return faccessat(h->dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* The public line beside the key, for those who verify. */
static int write_public(struct fm_home *h)
{
	char line[FM_PUBLIC_LINE + 2];

	fm_public_line(fm_identity_public(h->id), line);
	line[FM_PUBLIC_LINE] = '\n';
	return fm_fs_write(h->dirfd, "controller.pub", line, FM_PUBLIC_LINE + 1, 0644);
}

static int make(struct fm_home *h)
{
	char shown[FM_FINGERPRINT];
	int rc;

	if (is_there(h, "trust"))
		return fm_fail(FM_ERR_CONFIG,
		        "%s/trust is there but the key is gone; put the copy of the key back as "
		        "%s/key",
		        h->path, h->path);
	if ((rc = fm_identity_create(h->dirfd, "key")) != FM_OK ||
	        (rc = fm_identity_load(h->dirfd, "key", &h->id)) != FM_OK)
		return rc;
	fm_public_fingerprint(fm_identity_public(h->id), shown);
	fm_say("made the controller's key %s/key (%s); keep a copy of it offline", h->path, shown);
	return FM_OK;
}

int fm_home_key(struct fm_home *h)
{
	int lock = -1, rc;

	if (h->id != NULL)
		return FM_OK;
	if ((rc = fm_home_lock(h, &lock)) != FM_OK)
		return rc;
	if ((rc = fm_trust_handover_mend(h)) == FM_OK)
		rc = is_there(h, "key") ? fm_identity_load(h->dirfd, "key", &h->id) : make(h);
	if (rc != FM_OK && strcmp(fm_error_class(rc), "verify") ==
	                           0) /* a file of the user's own, so it is theirs to mend */
		rc = fm_wrap(FM_ERR_CONFIG, "%s", h->path);
	/* What a crash may have left out is made now. */
	if (rc == FM_OK && !is_there(h, "controller.pub"))
		rc = write_public(h);
	if (rc == FM_OK && !is_there(h, "trust"))
		rc = fm_trust_init(h);
	close(lock);
	if (rc != FM_OK) {
		fm_identity_free(h->id);
		h->id = NULL;
	}
	return rc;
}

struct last {
	int64_t sequence;
	char sha256[65];
};

static int fold(void *arg, const struct fm_line *line)
{
	struct last *last = arg;
	const char *sha256 = fm_line_get(line, "tree_sha256");
	uint64_t sequence = fm_line_u64(line, "sequence", 0);

	if (strcmp(line->kind, "tree") != 0 || sha256 == NULL || !fm_hex64_ok(sha256) ||
	        sequence <= (uint64_t)last->sequence || sequence > INT64_MAX)
		return fm_fail(FM_ERR_FORM,
		        "last_tree: line %llu does not continue the chain of trees",
		        (unsigned long long)line->seq);
	last->sequence = (int64_t)sequence;
	memcpy(last->sha256, sha256, 65);
	return FM_OK;
}

int fm_home_last_tree(const struct fm_home *h, int64_t *sequence, char sha256[65])
{
	struct last last = {0, ""};
	int rc = fm_lines_read(h->dirfd, "last_tree", fold, &last);

	*sequence = last.sequence;
	memcpy(sha256, last.sha256, sizeof last.sha256);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", h->path);
}

int fm_home_set_last_tree(const struct fm_home *h, int64_t sequence, const char *sha256)
{
	struct fm_lines *lines = NULL;
	struct last last = {0, ""};
	char number[24];
	int rc = fm_lines_open(&lines, h->dirfd, "last_tree", fold, &last, NULL), closed;

	if (rc == FM_OK && sequence <= last.sequence)
		rc = fm_fail(FM_ERR_CONFLICT, "a tree with sequence %lld was sealed before",
		        (long long)last.sequence);
	snprintf(number, sizeof number, "%lld", (long long)sequence);
	if (rc == FM_OK)
		rc = fm_lines_put(lines, "tree", "sequence", number, "tree_sha256", sha256, NULL);
	if (rc == FM_OK)
		rc = fm_lines_sync(lines);
	closed = fm_lines_close(lines);
	return rc == FM_OK ? closed : rc;
}

static int fold_trust(void *arg, const struct fm_line *line)
{
	int64_t *last = arg;
	uint64_t version = fm_line_u64(line, "version", 0);

	if (strcmp(line->kind, "trust") != 0 || version <= (uint64_t)*last || version > INT64_MAX)
		return fm_fail(FM_ERR_FORM, "last_trust: line %llu does not rise",
		        (unsigned long long)line->seq);
	*last = (int64_t)version;
	return FM_OK;
}

int fm_home_last_trust(const struct fm_home *h, int64_t *version)
{
	int rc;

	*version = 0;
	rc = fm_lines_read(h->dirfd, "last_trust", fold_trust, version);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", h->path);
}

int fm_home_set_last_trust(const struct fm_home *h, int64_t version)
{
	struct fm_lines *lines = NULL;
	char number[24];
	int64_t last = 0;
	int rc = fm_lines_open(&lines, h->dirfd, "last_trust", fold_trust, &last, NULL), closed;

	snprintf(number, sizeof number, "%lld", (long long)version);
	if (rc == FM_OK && version > last &&
	        (rc = fm_lines_put(lines, "trust", "version", number, NULL)) == FM_OK)
		rc = fm_lines_sync(lines);
	closed = fm_lines_close(lines);
	return rc == FM_OK ? closed : fm_wrap(rc, "%s", h->path);
}
