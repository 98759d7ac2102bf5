/* cmd_publish.c: `fleetmark publish TREE URL`: sends a sealed, verified tree to a server and reads
 * every file back. */
#include "orchestrator/anchor.h"
#include "orchestrator/command.h"
#include "orchestrator/home.h"
#include "orchestrator/https.h"
#include "orchestrator/out.h"
#include "orchestrator/tree.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX   (64u << 20)
struct publish {
	const struct fm_options *o;
	struct fm_https_site *site;
	int dirfd;
	struct fm_manifest files;
	char made[FM_PATH_MAX + 1]; /* the folder that was made last */
	uint64_t sent, kept, bytes;
};

static void finding(void *arg, int code, const char *where, const char *text)
{
	size_t *n = arg;

	++*n;
	(void)fm_fail(code, "%s: %s", where, text);
	fm_out_error(code, NULL, "verify", NULL);
}

/* Only a tree that would convince its readers leaves. */
static int check_tree(struct publish *p)
{
	struct fm_verify_counts counts;
	struct fm_public anchor;
	size_t findings = 0;
	char sha256[65];
	int rc = fm_anchor_read(p->o, &anchor);

	if (rc == FM_OK)
		rc = fm_tree_verify(p->dirfd, &anchor, -1, finding, &findings, &counts);
	if (rc != FM_OK)
		return fm_wrap(rc, "not published");
	if (!counts.publish && !p->o->yes)
		return fm_fail(FM_ERR_USAGE,
		        "%s is not for publication (profile smoke); --yes sends it all the same",
		        counts.campaign);
	fm_say("publishing %s, tree number %s", counts.campaign, counts.sha256);
	return fm_seal_check_manifest(p->dirfd, FM_SEAL_TREE, &anchor, sha256, &p->files);
}

/* The folders above path, each made once: names come in order. */
static int make_folders(struct publish *p, const char *path)
{
	char folder[FM_PATH_MAX + 1];

	for (const char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		size_t len = (size_t)(slash - path);
		int rc;

		if (strncmp(p->made, path, len) == 0 &&
		        (p->made[len] == '/' || p->made[len] == '\0'))
			continue;
		snprintf(folder, sizeof folder, "%.*s", (int)len, path);
		if ((rc = fm_https_site_mkcol(p->site, folder)) != FM_OK)
			return rc;
		memcpy(p->made, folder, sizeof folder);
	}
	return FM_OK;
}

static int send_file(struct publish *p, const char *path, int fd, uint64_t size, const char *hex)
{
	char seen[65];
	int rc = make_folders(p, path);

	if (rc == FM_OK)
		rc = fm_https_site_put(p->site, path, fd, size);
	if (rc == FM_OK)
		rc = fm_https_site_digest(p->site, path, size, seen);
	if (rc == FM_OK && strcmp(seen, hex) != 0)
		rc = fm_fail(FM_ERR_DIGEST,
		        "%s%s: the server gives back other bytes than were sent",
		        fm_https_site_url(p->site), path);
	if (rc == FM_OK) {
		p->sent++;
		p->bytes += size;
	}
	return rc;
}

/* One file: left alone if the server has the same bytes, else sent and read back. */
static int publish_file(struct publish *p, const char *path, const char *hex)
{
	char seen[65] = "";
	struct stat st;
	int64_t there = -1;
	int fd = openat(p->dirfd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
		rc = fm_fail(FM_ERR_FORM, "%s: changed while it was published", path);
		goto out;
	}
	rc = fm_https_site_size(p->site, path, &there);
	if (rc == FM_OK && there == (int64_t)st.st_size)
		rc = fm_https_site_digest(p->site, path, (uint64_t)st.st_size, seen);
	if (rc == FM_OK && strcmp(seen, hex) == 0)
		p->kept++;
	else if (rc == FM_OK)
		rc = send_file(p, path, fd, (uint64_t)st.st_size, hex);
	fm_out_progress(p->sent + p->kept, p->files.count + 2, path);
out:
	if (fd >= 0)
		close(fd);
	return rc;
}

/* The seal goes last, so that a tree that is half there does not look whole. */
static int publish_seal(struct publish *p)
{
	static const char *const names[] = {FM_TSR_NAME, FM_MANIFEST_NAME, FM_SIG_NAME};
	char hex[65];
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < sizeof names / sizeof names[0]; i++) {
		rc = fm_fs_sha256(p->dirfd, names[i], hex, NULL);
		if (rc != FM_OK && i == 0 && errno == ENOENT)
			rc = FM_OK;
		else if (rc == FM_OK)
			rc = publish_file(p, names[i], hex);
	}
	return rc;
}

static int publish_all(struct publish *p)
{
	int rc = fm_https_site_mkcol(p->site, "");

	for (size_t i = 0; rc == FM_OK && i < p->files.count; i++)
		rc = publish_file(p, p->files.entries[i].path, p->files.entries[i].hex);
	if (rc == FM_OK)
		rc = publish_seal(p);
	fm_out_progress_end();
	fm_say("%llu files sent (%llu bytes), %llu were there already", (unsigned long long)p->sent,
	        (unsigned long long)p->bytes, (unsigned long long)p->kept);
	return rc;
}

/* What a list of processes shows of our command line, from now on. */
static void hide(char *url)
{
	char *at = strrchr(url, '@'), *from = strstr(url, "://");

	if (from != NULL && at != NULL && at > from + 3)
		memset(from + 3, '*', (size_t)(at - from - 3));
}

int fm_cmd_publish(const struct fm_options *o, int *status)
{
	struct publish p = {.o = o, .dirfd = -1};
	bool inside = false;
	int rc;

	*status = 0;
	if ((rc = fm_https_site_open(&p.site, o->argv[1], o->netrc)) != FM_OK)
		goto out;
	inside = fm_https_site_password(p.site);
	if (inside)
		hide(o->argv[1]);
	if (inside && o->netrc != NULL) {
		rc = fm_fail(FM_ERR_USAGE, "user and password twice: in the URL and --netrc");
		goto out;
	}
	if (inside)
		fm_say("a password in the URL was visible to every user of this machine for a "
		       "moment, and stays in the shell's history; better: --netrc FILE");
	if ((rc = fm_fs_dir(AT_FDCWD, o->argv[0], &p.dirfd)) != FM_OK) {
		rc = fm_wrap(FM_ERR_USAGE, "publish");
		goto out;
	}
	if ((rc = check_tree(&p)) != FM_OK)
		goto out;
	if (o->dry_run) {
		fm_result("would send up to %zu files to %s", p.files.count + 2,
		        fm_https_site_url(p.site));
		goto out;
	}
	if ((rc = publish_all(&p)) == FM_OK)
		fm_result("%s", fm_https_site_url(p.site));
out:
	fm_manifest_free(&p.files);
	fm_https_site_close(p.site);
	if (p.dirfd >= 0)
		close(p.dirfd);
	*status = fm_error_status(rc);
	return rc;
}
