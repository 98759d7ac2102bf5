/* sink.c: where derived files go: written into a folder, or compared with what is there. */
#include "orchestrator/sink.h"

#include "orchestrator/out.h"
#include "protocol/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fm_sink_free(struct fm_sink *s)
{
	for (size_t i = 0; i < s->path_count; i++)
		free(s->paths[i]);
	free(s->paths);
	s->paths = NULL;
	s->path_count = 0;
}

static void differs(struct fm_sink *s, const char *path)
{
	if (s->differing++ == 0)
		snprintf(s->first, sizeof s->first, "%s", path);
	if (s->print)
		fm_result("differs: %s", path);
}

static int compare(struct fm_sink *s, const char *path, const void *bytes, size_t len)
{
	struct fm_buf old = FM_BUF_INIT(len + 1);
	int rc = fm_fs_read(s->dirfd, path, len + 1, &old);

	if (rc == FM_ERR_MEMORY)
		return rc;
	if (rc != FM_OK || old.len != len || memcmp(old.data, bytes, len) != 0)
		differs(s, path);
	fm_buf_free(&old);
	return FM_OK;
}

int fm_sink_put(struct fm_sink *s, const char *path, const void *bytes, size_t len)
{
	char **slot = fm_grow(&s->paths, &s->path_count, sizeof *slot);

	if (slot == NULL || (*slot = fm_strdup(path)) == NULL) {
		s->path_count -= slot != NULL;
		return FM_ERR_MEMORY;
	}
	s->files++;
	if (s->check)
		return compare(s, path, bytes, len);
	return fm_fs_write_deep(s->dirfd, path, bytes, len, 0644);
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct extra {
	struct fm_sink *sink;
	const char *folder;
	struct {
		char **list;
		size_t count;
	} doomed;
};

static int one_extra(void *arg, const char *path, const struct stat *st)
{
	struct extra *x = arg;
	char *full, **slot;

	if (S_ISDIR(st->st_mode))
		return FM_OK;
	if ((full = fm_sprintf("%s/%s", x->folder, path)) == NULL)
		return FM_ERR_MEMORY;
	if (bsearch(&full, x->sink->paths, x->sink->path_count, sizeof full, by_bytes) != NULL) {
		free(full);
		return FM_OK;
	}
	if (x->sink->check)
		differs(x->sink, full);
	if ((slot = fm_grow(&x->doomed.list, &x->doomed.count, sizeof *slot)) == NULL) {
		free(full);
		return FM_ERR_MEMORY;
	}
	*slot = full;
	return FM_OK;
}

int fm_sink_extra(struct fm_sink *s, const char *folder)
{
	struct extra x = {s, folder, {NULL, 0}};
	int fd = -1, rc;

	if (s->path_count > 1)
		qsort(s->paths, s->path_count, sizeof *s->paths, by_bytes);
	if (faccessat(s->dirfd, folder, F_OK, 0) != 0 && errno == ENOENT)
		return FM_OK;
	if ((rc = fm_fs_dir(s->dirfd, folder, &fd)) != FM_OK)
		return rc;
	rc = fm_fs_walk(fd, 8000000, one_extra, &x);
	close(fd);
	for (size_t i = 0; i < x.doomed.count; i++) {
		if (rc == FM_OK && !s->check)
			rc = fm_fs_remove(s->dirfd, x.doomed.list[i]);
		free(x.doomed.list[i]);
	}
	free(x.doomed.list);
	return rc;
}

int fm_sink_verdict(const struct fm_sink *s)
{
	if (s->differing == 0)
		return FM_OK;
	if (s->differing == 1)
		return fm_fail(FM_ERR_DIGEST, "%s: differs from what the samples give", s->first);
	return fm_fail(FM_ERR_DIGEST, "%s and %zu more files differ from what the samples give",
	        s->first, s->differing - 1);
}
