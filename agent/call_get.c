/* call_get.c: gives files of sealed bundles: only what the manifest names, plain files only, never
 * through a link. */
#include "agent/attach.h"
#include "protocol/seal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MANIFEST_MAX (16u << 20)

/* Opens a file of a bundle part by part, never through a link. */
static int open_below(int dir, const char *path, int *out)
{
	char part[FM_PART_MAX + 1];
	int at = dir, next, rc = FM_OK;

	*out = -1;
	for (;;) {
		size_t len = strcspn(path, "/");
		bool last = path[len] == '\0';

		if (len == 0 || len > FM_PART_MAX) {
			rc = fm_fail(FM_ERR_NAME, "get: bad path");
			break;
		}
		memcpy(part, path, len);
		part[len] = '\0';
		next = openat(at, part,
		        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (last ? 0 : O_DIRECTORY));
		if (next < 0)
			rc = fm_fail_errno("get: %s", part);
		if (at != dir)
			close(at);
		at = dir;
		if (rc != FM_OK)
			break;
		if (last) {
			*out = next;
			break;
		}
		at = next;
		path += len + 1;
	}
	return rc;
}

/* The manifest of the bundle that was asked about last: a bundle is fetched file by file. */
static struct {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	struct fm_manifest list;
} known;

static bool same_manifest(const struct stat *st)
{
	return known.list.entries != NULL && known.device == st->st_dev &&
	       known.inode == st->st_ino && known.changed.tv_sec == st->st_ctim.tv_sec &&
	       known.changed.tv_nsec == st->st_ctim.tv_nsec;
}

static int learn_manifest(int bundle)
{
	struct fm_buf text = FM_BUF_INIT(MANIFEST_MAX);
	struct stat st;
	int rc;

	if (fstatat(bundle, FM_MANIFEST_NAME, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fm_fail_errno("get: %s", FM_MANIFEST_NAME);
	if (same_manifest(&st))
		return FM_OK;
	fm_manifest_free(&known.list);
	memset(&known, 0, sizeof known);
	rc = fm_fs_read(bundle, FM_MANIFEST_NAME, MANIFEST_MAX, &text);
	if (rc == FM_OK)
		rc = fm_manifest_parse(
		        text.data, text.len, fm_seal_limits(FM_SEAL_BUNDLE)->files, &known.list);
	if (rc == FM_OK) {
		known.device = st.st_dev;
		known.inode = st.st_ino;
		known.changed = st.st_ctim;
	}
	fm_buf_free(&text);
	return rc;
}

static bool listed(int bundle, const char *path)
{
	if (strcmp(path, FM_MANIFEST_NAME) == 0 || strcmp(path, FM_SIG_NAME) == 0)
		return true;
	return fm_path_ok(path) && learn_manifest(bundle) == FM_OK &&
	       fm_manifest_find(&known.list, path) != NULL;
}

static int read_plain(int fd, const char *path, uint64_t max, struct fm_buf *out)
{
	struct stat st;
	ssize_t n = 0;

	if (fstat(fd, &st) != 0)
		return fm_fail_errno("get: %s", path);
	if (!S_ISREG(st.st_mode))
		return fm_fail(FM_ERR_FORM, "get: %s is no plain file", path);
	if ((uint64_t)st.st_size > max || (size_t)st.st_size > out->max)
		return fm_fail(FM_ERR_SIZE, "get: %s has %lld bytes, asked for at most %llu", path,
		        (long long)st.st_size, (unsigned long long)max);
	while (out->len < (size_t)st.st_size) {
		char *room = fm_buf_room(out, (size_t)st.st_size - out->len);

		if (room == NULL)
			return FM_ERR_MEMORY;
		n = read(fd, room, (size_t)st.st_size - out->len);
		if (n <= 0)
			return fm_fail(FM_ERR_SYSTEM, "get: %s became shorter", path);
		out->len += (size_t)n;
	}
	return FM_OK;
}

int fm_call_get(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	char campaign[FM_NAME_MAX + 1], candidate[FM_NAME_MAX + 1], below[FM_NAME_MAX + 12];
	const char *path;
	uint64_t max = 0;
	int dir = -1, bundle = -1, fd = -1, rc;

	if ((rc = fm_call_campaign(call, campaign)) != FM_OK ||
	        (rc = fm_text_take_name(call, "candidate", candidate)) != FM_OK ||
	        (rc = fm_text_take(call, "path", &path)) != FM_OK ||
	        (rc = fm_text_take_u64(call, "max", INT64_MAX, &max)) != FM_OK ||
	        (rc = fm_text_close(call)) != FM_OK ||
	        (rc = fm_agent_job_dir(at->agent, campaign, false, &dir)) != FM_OK)
		return rc;
	snprintf(below, sizeof below, "bundles/%s", candidate);
	if ((rc = fm_fs_dir(dir, below, &bundle)) != FM_OK)
		rc = fm_fail(FM_ERR_REFUSED, "get: no bundle of %s", candidate);
	else if (!listed(bundle, path))
		rc = fm_fail(FM_ERR_NAME, "get: '%.100s' is no file of the bundle", path);
	else if ((rc = open_below(bundle, path, &fd)) == FM_OK &&
	         (rc = read_plain(fd, path, max, &at->data)) == FM_OK)
		rc = fm_text_put(reply, "bytes", "%zu", at->data.len);
	at->has_data = rc == FM_OK;
	if (fd >= 0)
		close(fd);
	if (bundle >= 0)
		close(bundle);
	close(dir);
	return rc;
}
