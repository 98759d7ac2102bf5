/* sink_stream.c: derived files that come in parts: written, or compared part by part with what is
 * there. */
#include "orchestrator/sink.h"
#include "protocol/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PART 65536

int fm_sink_begin(struct fm_sink *s, const char *path, struct fm_sink_stream *st)
{
	int rc;

	*st = (struct fm_sink_stream){.sink = s, .fd = -1, .part = FM_BUF_INIT(2 * PART)};
	if (s->dirfd < 0)
		return FM_OK;
	snprintf(st->path, sizeof st->path, "%s", path);
	if ((rc = fm_sink_note(s, path)) != FM_OK)
		return rc;
	if (!s->check)
		return fm_sink_create(s, path, &st->fd);
	st->fd = openat(s->dirfd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	st->differs = st->fd < 0;
	return FM_OK;
}

/* Reads as many bytes as asked for, fewer at the end of the file; less than 0: error. */
static ssize_t read_full(int fd, char *bytes, size_t len)
{
	size_t n = 0;

	while (n < len) {
		ssize_t got = read(fd, bytes + n, len - n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

static int flush(struct fm_sink_stream *st)
{
	char there[4096];
	int rc = FM_OK;

	if (st->fd >= 0 && !st->sink->check) {
		rc = fm_fs_write_all(st->fd, st->part.data, st->part.len);
	} else if (st->fd >= 0 && !st->differs) {
		for (size_t at = 0, n; at < st->part.len && !st->differs; at += n) {
			n = st->part.len - at < sizeof there ? st->part.len - at : sizeof there;
			st->differs = read_full(st->fd, there, n) != (ssize_t)n ||
			              memcmp(there, st->part.data + at, n) != 0;
		}
	}
	st->part.len = 0;
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", st->path);
}

int fm_sink_add(struct fm_sink_stream *st, const void *bytes, size_t len)
{
	int rc;

	if (st->sink == NULL || st->fd < 0) /* never begun, or dropped */
		return FM_OK;
	if (st->part.len + len > PART && (rc = flush(st)) != FM_OK)
		return rc;
	return fm_buf_put(&st->part, bytes, len);
}

int fm_sink_end(struct fm_sink_stream *st)
{
	char more;
	int rc = FM_OK;

	if (st->sink == NULL) /* never begun, or ended */
		return FM_OK;
	if (st->fd >= 0 && st->part.len > 0)
		rc = flush(st);
	if (st->fd >= 0 && st->sink->check && !st->differs)
		st->differs = read_full(st->fd, &more, 1) != 0;
	if (st->differs)
		fm_sink_differs(st->sink, st->path);
	if (st->fd >= 0 && close(st->fd) != 0 && rc == FM_OK && !st->sink->check)
		rc = fm_fail_errno("%s", st->path);
	fm_buf_free(&st->part);
	*st = (struct fm_sink_stream){.fd = -1};
	return rc;
}
