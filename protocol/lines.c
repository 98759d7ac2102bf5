/* lines.c: the append-only file of journal, spool and progress: reading its valid prefix, cutting,
 * appending. */
#include "protocol/lines.h"
#include "protocol/fs.h"
#include "protocol/fs_parent.h"
#include "protocol/line_form.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fm_lines {
	int fd;
	off_t size;   /* bytes of whole lines */
	uint64_t seq; /* of the last line */
	bool broken;  /* a part of a line may be in the file: nothing more is written */
	pthread_mutex_t mutex;
};

/* The longest valid prefix, as far as it was read. */
struct prefix {
	off_t size;
	uint64_t seq;
};

/* Takes whole lines from the front of in; *more turns false at the first one that is not valid. */
static int take_lines(
        struct fm_buf *in, struct prefix *p, bool *more, fm_lines_each *each, void *arg)
{
	struct fm_line line;
	size_t at = 0;
	int rc = FM_OK;

	while (rc == FM_OK && *more) {
		const char *lf = memchr(in->data + at, '\n', in->len - at);
		size_t len = lf == NULL ? 0 : (size_t)(lf - (in->data + at));

		if (lf == NULL) {
			*more = in->len - at < FM_LINE_MAX;
			break;
		}
		if (fm_line_parse(in->data + at, len, &line) != FM_OK || line.seq != p->seq + 1) {
			*more = false;
			break;
		}
		at += len + 1;
		p->size += (off_t)len + 1;
		p->seq = line.seq;
		if (each != NULL)
			rc = each(arg, &line);
	}
	fm_buf_consume(in, at);
	return rc;
}

static int read_prefix(int fd, const char *name, struct prefix *p, fm_lines_each *each, void *arg)
{
	struct fm_buf in = FM_BUF_INIT(1 << 17);
	bool more = true;
	int rc = FM_OK;

	*p = (struct prefix){0, 0};
	while (rc == FM_OK && more) {
		char *room = fm_buf_room(&in, 1 << 16);
		ssize_t n;

		if (room == NULL) {
			rc = FM_ERR_MEMORY;
			break;
		}
		do
			n = read(fd, room, 1 << 16);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			rc = fm_fail_errno("read %s", name);
		if (n <= 0)
			break;
		in.len += (size_t)n;
		rc = take_lines(&in, p, &more, each, arg);
	}
	fm_buf_free(&in);
	return rc;
}

/* Appends the bytes from p->size on to the cut file, then drops them from the file itself. */
static int cut_tail(int fd, int parent, const char *name, const struct prefix *p)
{
	char piece[16384], cut_name[300];
	off_t at = p->size;
	int cut, rc = FM_OK;

	snprintf(cut_name, sizeof cut_name, "%s.cut-%llu", name, (unsigned long long)p->seq + 1);
	cut = openat(parent, cut_name,
	        O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (cut < 0)
		return fm_fail_errno("create %s", cut_name);
	while (rc == FM_OK) {
		ssize_t n = pread(fd, piece, sizeof piece, at);

		if (n < 0)
			rc = fm_fail_errno("read %s", name);
		if (n <= 0)
			break;
		rc = fm_fs_write_all(cut, piece, (size_t)n);
		at += n;
	}
	if (rc == FM_OK && fsync(cut) != 0)
		rc = fm_fail_errno("fsync %s", cut_name);
	if (close(cut) != 0 && rc == FM_OK)
		rc = fm_fail_errno("close %s", cut_name);
	if (rc == FM_OK && (ftruncate(fd, p->size) != 0 || fsync(fd) != 0))
		rc = fm_fail_errno("cut %s", name);
	return rc;
}

/* Opens name in the folder of parent; *st describes it. */
static int open_file(int parent, const char *name, int flags, int *fd, struct stat *st)
{
	*fd = openat(parent, name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0600);
	if (*fd < 0)
		return fm_fail_errno("open %s", name);
	if (fstat(*fd, st) != 0)
		return fm_fail_errno("stat %s", name);
	if (!S_ISREG(st->st_mode))
		return fm_fail(FM_ERR_FORM, "%s: is no plain file", name);
	return FM_OK;
}

/* Makes a new file's name last. */
static int sync_parent(int parent, const char *name)
{
	int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FM_OK;

	if (fd < 0 || fsync(fd) != 0)
		rc = fm_fail_errno("fsync of the folder of %s", name);
	if (fd >= 0)
		close(fd);
	return rc;
}

static void lines_free(struct fm_lines *l)
{
	if (l == NULL)
		return;
	if (l->fd >= 0)
		close(l->fd);
	pthread_mutex_destroy(&l->mutex);
	free(l);
}

int fm_lines_open(struct fm_lines **out, int dirfd, const char *name, fm_lines_each *each,
        void *arg, size_t *cut)
{
	struct fm_fs_parent parent = {.fd = -1};
	struct fm_lines *l = NULL;
	struct prefix prefix;
	struct stat st;
	int rc;

	*out = NULL;
	if (cut != NULL)
		*cut = 0;
	if ((rc = fm_fs_parent_open(&parent, dirfd, name, -1)) != FM_OK)
		return rc;
	if ((l = fm_alloc(sizeof *l)) == NULL) {
		rc = FM_ERR_MEMORY;
		goto out;
	}
	l->fd = -1;
	pthread_mutex_init(&l->mutex, NULL);
	if ((rc = open_file(parent.fd, parent.name, O_RDWR | O_CREAT | O_APPEND, &l->fd, &st)) !=
	                FM_OK ||
	        (rc = read_prefix(l->fd, name, &prefix, each, arg)) != FM_OK)
		goto out;
	if (st.st_size > prefix.size) {
		if ((rc = cut_tail(l->fd, parent.fd, parent.name, &prefix)) != FM_OK)
			goto out;
		if (cut != NULL)
			*cut = (size_t)(st.st_size - prefix.size);
	}
	if ((rc = sync_parent(parent.fd, name)) != FM_OK)
		goto out;
	l->size = prefix.size;
	l->seq = prefix.seq;
	*out = l;
	l = NULL;
out:
	lines_free(l);
	fm_fs_parent_close(&parent);
	return rc;
}

int fm_lines_read(int dirfd, const char *name, fm_lines_each *each, void *arg)
{
	struct fm_fs_parent parent;
	struct prefix prefix;
	struct stat st;
	int fd = -1, rc;

	if ((rc = fm_fs_parent_open(&parent, dirfd, name, -1)) == FM_OK)
		rc = open_file(parent.fd, parent.name, O_RDONLY, &fd, &st);
	if (rc == FM_ERR_SYSTEM && fd < 0 && errno == ENOENT)
		rc = FM_OK;
	else if (rc == FM_OK)
		rc = read_prefix(fd, name, &prefix, each, arg);
	if (fd >= 0)
		close(fd);
	fm_fs_parent_close(&parent);
	return rc;
}

int fm_lines_put(struct fm_lines *l, const char *kind, ...)
{
	struct fm_buf line = FM_BUF_INIT(FM_LINE_MAX);
	va_list args;
	int rc;

	pthread_mutex_lock(&l->mutex);
	va_start(args, kind);
	rc = fm_line_vformat(&line, l->seq + 1, kind, args);
	va_end(args);
	if (rc == FM_OK && l->broken)
		rc = fm_fail(FM_ERR_DISK, "an earlier line of this file was not written in full");
	if (rc == FM_OK) {
		if ((rc = fm_fs_write_all(l->fd, line.data, line.len)) == FM_OK) {
			l->seq++;
			l->size += (off_t)line.len;
		} else if (ftruncate(l->fd, l->size) != 0)
			l->broken = true;
	}
	pthread_mutex_unlock(&l->mutex);
	fm_buf_free(&line);
	return rc;
}

int fm_lines_sync(struct fm_lines *l)
{
	return fdatasync(l->fd) != 0 ? fm_fail_errno("fsync of lines") : FM_OK;
}

int fm_lines_close(struct fm_lines *l)
{
	int rc;

	if (l == NULL)
		return FM_OK;
	rc = fm_lines_sync(l);
	if (close(l->fd) != 0 && rc == FM_OK)
		rc = fm_fail_errno("close of lines");
	l->fd = -1;
	lines_free(l);
	return rc;
}
