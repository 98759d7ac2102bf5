/* agent_source.c: lists and packs the source of the agent (agent/ and protocol/ below the root). */
#include "orchestrator/agent_source.h"
#include "orchestrator/archive.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/path.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCES_MAX (1u << 20) /* bytes of the list */
#define TAR_MAX     (64u << 20)
#define FILES_MAX   4096

struct listing {
	const char *top; /* "agent" or "protocol" */
	char **paths;    /* top/... */
	size_t count;
};

static bool wanted(const char *path)
{
	static const char *const ends[] = {".c", ".h", ".S", ".sh"};
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t n = strlen(ends[i]);

		if (len > n && strcmp(path + len - n, ends[i]) == 0)
			return true;
	}
	return false;
}

static int visit(void *arg, const char *path, const struct stat *st)
{
	struct listing *l = arg;
	char **slot;

	if (path[0] == '.' || strstr(path, "/.") != NULL)
		return S_ISDIR(st->st_mode) ? FM_FS_SKIP : FM_OK; /* an editor's leftovers */
	if (!S_ISREG(st->st_mode) || !wanted(path))
		return FM_OK;
	slot = fm_grow(&l->paths, &l->count, sizeof *l->paths);
	if (slot == NULL)
		return FM_ERR_MEMORY;
	*slot = fm_sprintf("%s/%s", l->top, path);
	if (*slot == NULL)
		return FM_ERR_MEMORY;
	if (!fm_path_ok(*slot))
		return fm_fail(FM_ERR_CONFIG,
		        "%s: the name of a source file must be made of A-Z a-z 0-9 . _ + -", *slot);
	return FM_OK;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_folder(int root, struct listing *l)
{
	int fd = -1;
	int rc = fm_fs_dir(root, l->top, &fd);

	if (rc == FM_OK)
		rc = fm_fs_walk(fd, FILES_MAX, visit, l);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int into_buffer(void *arg, const void *bytes, size_t len)
{
	return fm_buf_put(arg, bytes, len);
}

static int pack_file(struct fm_archive *tar, int root, const char *path)
{
	struct stat st;

	if (fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return fm_fail_errno("%s", path);
	return fm_archive_file(tar, path, root, path, (uint64_t)st.st_size, false);
}

/* Once for all hosts of a command: most need only its length. */
static int pack(int root, struct fm_agent_source *a)
{
	struct fm_archive *tar = NULL;
	char *list = fm_strdup(a->sources.data);
	char *next = list;
	int rc = list == NULL ? FM_ERR_MEMORY : fm_archive_start(&tar, into_buffer, &a->tar);

	if (rc == FM_OK)
		rc = fm_archive_bytes(tar, "SOURCES.sha256", a->sources.data, a->sources.len);
	while (rc == FM_OK && *next != '\0') {
		char *end = strchr(next, '\n');

		*end = '\0';
		rc = pack_file(tar, root, next + 66);
		next = end + 1;
	}
	if (rc == FM_OK) {
		rc = fm_archive_end(tar);
		tar = NULL;
	}
	fm_archive_free(tar);
	free(list);
	return rc;
}

int fm_agent_source(const char *root, struct fm_agent_source *out)
{
	struct listing l = {NULL, NULL, 0};
	static const char *const tops[] = {"agent", "protocol"};
	int fd = -1;
	int rc;

	memset(out, 0, sizeof *out);
	out->root = root;
	out->sources = FM_BUF_INIT(SOURCES_MAX);
	out->tar = FM_BUF_INIT(TAR_MAX);
	rc = fm_fs_dir(AT_FDCWD, root, &fd);
	for (size_t i = 0; rc == FM_OK && i < sizeof tops / sizeof *tops; i++) {
		l.top = tops[i];
		rc = list_folder(fd, &l);
	}
	if (rc != FM_OK) {
		rc = fm_wrap(rc, "agent source below %s (--root)", root);
		goto out;
	}
	qsort(l.paths, l.count, sizeof *l.paths, by_bytes);
	for (size_t i = 0; rc == FM_OK && i < l.count; i++) {
		char hex[65];

		rc = fm_fs_sha256(fd, l.paths[i], hex, NULL);
		if (rc == FM_OK)
			rc = fm_buf_printf(&out->sources, "%s  %s\n", hex, l.paths[i]);
	}
	if (rc == FM_OK && l.count == 0)
		rc = fm_fail(FM_ERR_CONFIG, "no agent source below %s (--root)", root);
	if (rc == FM_OK)
		fm_sha256_hex(out->sources.data, out->sources.len, out->sha256);
	if (rc == FM_OK)
		rc = pack(fd, out);
out:
	for (size_t i = 0; i < l.count; i++)
		free(l.paths[i]);
	free(l.paths);
	if (fd >= 0)
		close(fd);
	if (rc != FM_OK)
		fm_agent_source_free(out);
	return rc;
}

void fm_agent_source_free(struct fm_agent_source *a)
{
	fm_buf_free(&a->sources);
	fm_buf_free(&a->tar);
}

size_t fm_agent_source_count(const struct fm_agent_source *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->sources.len; i++)
		n += a->sources.data[i] == '\n';
	return n;
}
