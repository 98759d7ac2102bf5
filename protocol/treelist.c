/* treelist.c: the list of everything in a source tree, compared word for word before a build. */
#include "protocol/treelist.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/path.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX ((uint64_t)1 << 40) /* bytes of a file in a list; only the digits are bounded */

struct making {
	int dirfd;
	struct fm_buf *out;
	uint64_t bytes;
};

/* Number of parts in front of the last one. */
static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path != '\0'; path++)
		depth += *path == '/';
	return depth;
}

/* A target that cannot leave the tree: up first and not beyond the root, then only down. Because
 * ".." stands in front only, where it counts from the real folder of the link, no other link on the
 * way can turn it into an escape. */
static bool target_stays(const char *path, const char *target)
{
	size_t depth = depth_of(path);

	while (strncmp(target, "../", 3) == 0) {
		if (depth-- == 0)
			return false;
		target += 3;
	}
	return fm_path_ok(target);
}

static int put_link(struct making *m, const char *path)
{
	char target[FM_PATH_MAX + 2], hex[65], shown[120];
	ssize_t len = readlinkat(m->dirfd, path, target, sizeof target - 1);

	if (len < 0)
		return fm_fail_errno("read link %s", path);
	target[len] = '\0';
	if (len > FM_PATH_MAX || strlen(target) != (size_t)len || !target_stays(path, target))
		return fm_fail(FM_ERR_SOURCE, "%s: links to '%s', which may leave the tree", path,
		        fm_escape(target, (size_t)len, shown, sizeof shown));
	fm_sha256_hex(target, (size_t)len, hex);
	return fm_buf_printf(m->out, "link 0777 %zd %s %s\n", len, hex, path);
}

static int put_entry(void *arg, const char *path, const struct stat *st)
{
	struct making *m = arg;
	char hex[65], shown[120];
	off_t size = 0;
	int rc;

	fm_escape(path, strlen(path), shown, sizeof shown);
	if (!fm_path_ok(path))
		return fm_fail(FM_ERR_SOURCE,
		        "%s: allowed are names of A-Z a-z 0-9 _ . + - that do not begin with . + "
		        "or -",
		        shown);
	if (S_ISDIR(st->st_mode))
		return fm_buf_printf(m->out, "dir 0755 0 - %s\n", path);
	if (S_ISLNK(st->st_mode))
		return put_link(m, path);
	if (!S_ISREG(st->st_mode))
		return fm_fail(FM_ERR_SOURCE, "%s: is no file, folder or link", shown);
	if ((rc = fm_fs_sha256(m->dirfd, path, hex, &size)) != FM_OK)
		return rc;
	m->bytes += (uint64_t)size;
	return fm_buf_printf(m->out, "file %s %lld %s %s\n",
	        st->st_mode & S_IXUSR ? "0755" : "0644", (long long)size, hex, path);
}

int fm_treelist_make(int dirfd, struct fm_buf *out, uint64_t *bytes)
{
	struct making m = {dirfd, out, 0};
	int rc = fm_fs_walk(dirfd, FM_TREELIST_ENTRIES, put_entry, &m);

	if (rc == FM_OK && bytes != NULL)
		*bytes = m.bytes;
	return rc == FM_ERR_SIZE || rc == FM_ERR_FORM ? FM_ERR_SOURCE : rc;
}

/* One line of a list, its parts pointing into a copy. */
struct entry {
	char *type, *mode, *size, *hex, *path;
};

/* Takes the word up to the given byte and terminates it. */
static char *word(char **at, char stop)
{
	char *start = *at, *end = strchr(start, stop);

	if (end == NULL)
		return NULL;
	*end = '\0';
	*at = end + 1;
	return start;
}

static bool entry_ok(const struct entry *e)
{
	uint64_t size;

	if (e->path == NULL || !fm_path_ok(e->path) ||
	        fm_parse_u64(e->size, FILE_MAX, &size) != FM_OK)
		return false;
	if (strcmp(e->type, "dir") == 0)
		return strcmp(e->mode, "0755") == 0 && size == 0 && strcmp(e->hex, "-") == 0;
	if (!fm_hex64_ok(e->hex))
		return false;
	if (strcmp(e->type, "link") == 0)
		return strcmp(e->mode, "0777") == 0 && size > 0 && size <= FM_PATH_MAX;
	return strcmp(e->type, "file") == 0 &&
	       (strcmp(e->mode, "0755") == 0 || strcmp(e->mode, "0644") == 0);
}

/* 1: *e is the next line, 0: no more, FM_ERR_SOURCE: not in form or not sorted behind the path in
 * *e. */
static int next_entry(char **at, struct entry *e)
{
	const char *before = e->path;
	char *line = *at;

	if (*line == '\0')
		return 0;
	memset(e, 0, sizeof *e);
	if ((line = word(at, '\n')) != NULL && (e->type = word(&line, ' ')) != NULL &&
	        (e->mode = word(&line, ' ')) != NULL && (e->size = word(&line, ' ')) != NULL &&
	        (e->hex = word(&line, ' ')) != NULL)
		e->path = line;
	if (!entry_ok(e) || (before != NULL && strcmp(before, e->path) >= 0))
		return fm_fail(FM_ERR_SOURCE, "tree list: not in form behind %.200s",
		        before != NULL ? before : "its beginning");
	return 1;
}

/* A terminated copy of a list without NUL bytes; NULL with *rc set. */
static char *copy_list(const char *list, size_t len, int *rc)
{
	char *copy;

	if (len > FM_TREELIST_MAX || (len > 0 && memchr(list, '\0', len) != NULL)) {
		*rc = fm_fail(FM_ERR_SOURCE, "tree list: has %zu bytes or a NUL, allowed are %u",
		        len, FM_TREELIST_MAX);
		return NULL;
	}
	if ((copy = fm_alloc(len + 1)) == NULL)
		*rc = FM_ERR_MEMORY;
	else if (len > 0)
		memcpy(copy, list, len);
	return copy;
}

/* The first word in which two entries of one path differ, NULL if they are equal. */
static const char *difference(const struct entry *want, const struct entry *have)
{
	bool link = strcmp(want->type, "link") == 0;

	if (strcmp(want->type, have->type) != 0)
		return "type";
	if (strcmp(want->mode, have->mode) != 0)
		return "mode";
	if (strcmp(want->size, have->size) != 0)
		return link ? "target" : "size";
	if (strcmp(want->hex, have->hex) != 0)
		return link ? "target" : "digest";
	return NULL;
}

/* Walks two lists side by side up to the first difference. */
static int compare(char *want, char *have)
{
	struct entry w = {0}, h = {0};
	int more_w = next_entry(&want, &w), more_h = next_entry(&have, &h);

	while (more_w == 1 || more_h == 1) {
		int order = more_w != 1 ? 1 : more_h != 1 ? -1 : strcmp(w.path, h.path);
		const char *what;

		if (more_w < 0 || more_h < 0)
			return more_w < 0 ? more_w : more_h;
		if (order != 0)
			return fm_fail(FM_ERR_SOURCE, "%s: %s", order < 0 ? w.path : h.path,
			        order < 0 ? "missing" : "extra");
		if ((what = difference(&w, &h)) != NULL)
			return fm_fail(FM_ERR_SOURCE, "%s: %s differs", w.path, what);
		more_w = next_entry(&want, &w);
		more_h = next_entry(&have, &h);
	}
	return more_w < 0 ? more_w : more_h;
}

int fm_treelist_compare(int dirfd, const char *want, size_t len)
{
	struct fm_buf have = FM_BUF_INIT(FM_TREELIST_MAX);
	char *copy = NULL;
	int rc;

	if ((rc = fm_treelist_make(dirfd, &have, NULL)) != FM_OK ||
	        (rc = fm_buf_put(&have, "", 0)) != FM_OK ||
	        (copy = copy_list(want, len, &rc)) == NULL)
		goto out;
	if (have.len != len || memcmp(have.data, copy, len) != 0) {
		rc = compare(copy, have.data);
		if (rc == FM_OK)
			rc = fm_fail(FM_ERR_SOURCE, "tree list: differs from the tree");
	}
out:
	free(copy);
	fm_buf_free(&have);
	return rc;
}

int fm_treelist_sources(const char *list, size_t len, struct fm_buf *out)
{
	struct entry e = {0};
	char *copy, *at;
	int rc = FM_OK, more = 0;

	if ((copy = copy_list(list, len, &rc)) == NULL)
		return rc;
	at = copy;
	while (rc == FM_OK && (more = next_entry(&at, &e)) == 1)
		if (strcmp(e.type, "file") == 0)
			rc = fm_buf_printf(out, "%s  %s\n", e.hex, e.path);
	free(copy);
	return rc != FM_OK ? rc : more;
}
