/* events.c: writes and reads incoming/events, one event a line. */
#include "orchestrator/events.h"
#include "orchestrator/jsonr.h"
#include "protocol/fs.h"
#include "protocol/path.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME     "events"
#define LINE_MAX 65536

static int writing = -1;

void fm_events_begin(int incoming)
{
	writing = openat(incoming, NAME,
	        O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
	fm_out_record(writing);
}

void fm_events_end(void)
{
	fm_out_record(-1);
	if (writing >= 0)
		close(writing);
	writing = -1;
}

int fm_events_open(struct fm_events *e, int incoming)
{
	*e = (struct fm_events){.fd = -1, .part = FM_BUF_INIT(LINE_MAX)};
	e->fd = openat(incoming, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (e->fd < 0 && errno == ENOENT)
		return fm_fail(FM_ERR_REFUSED, "nothing was run in this campaign yet");
	return e->fd < 0 ? fm_fail_errno("incoming/" NAME) : FM_OK;
}

void fm_events_close(struct fm_events *e)
{
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	fm_buf_free(&e->part);
}

static const char *text_of(const struct fm_json_node *o, const char *key)
{
	const char *text = NULL;

	return fm_json_has(o, key) && fm_json_str(o, key, &text) == FM_OK ? text : NULL;
}

static bool number_of(const struct fm_json_node *o, const char *key, uint64_t *out)
{
	int64_t n;

	if (!fm_json_has(o, key) || fm_json_int(o, key, &n) != FM_OK || n < 0)
		return false;
	*out = (uint64_t)n;
	return true;
}

static void one(const char *line, size_t len, fm_events_each *each, void *arg)
{
	const struct fm_json_node *o;
	struct fm_json *d = NULL;
	struct fm_event e = {0};
	long long age;

	if (fm_json_read_foreign(NAME, line, len, LINE_MAX, &d) != FM_OK)
		return;
	o = fm_json_root(d);
	e.event = text_of(o, "event");
	e.time = text_of(o, "t");
	if (e.event != NULL && e.time != NULL && fm_stamp_ok(e.time)) {
		e.system = text_of(o, "system");
		e.stage = text_of(o, "stage");
		e.candidate = text_of(o, "candidate");
		e.cell = text_of(o, "cell");
		e.klass = text_of(o, "class");
		e.reason = text_of(o, "reason");
		e.text = text_of(o, "text");
		(void)!number_of(o, "done", &e.done);
		(void)!number_of(o, "total", &e.total);
		e.has_eta = number_of(o, "eta_s", &e.eta_s);
		age = (long long)time(NULL) - fm_stamp_seconds(e.time);
		e.age_s = age > 0 ? (uint64_t)age : 0;
		each(arg, &e);
	}
	fm_json_free(d);
}

int fm_events_read(struct fm_events *e, fm_events_each *each, void *arg, bool *again)
{
	char piece[16384];
	struct stat st;
	ssize_t n;

	if (fstat(e->fd, &st) != 0)
		return fm_fail_errno("incoming/" NAME);
	if (again != NULL)
		*again = (uint64_t)st.st_size < e->offset;
	if ((uint64_t)st.st_size < e->offset) {
		e->offset = 0;
		e->part.len = 0;
	}
	while ((n = pread(e->fd, piece, sizeof piece, (off_t)e->offset)) > 0) {
		const char *at = piece, *end;

		e->offset += (uint64_t)n;
		while ((end = memchr(at, '\n', (size_t)(piece + n - at))) != NULL) {
			if (fm_buf_put(&e->part, at, (size_t)(end - at)) == FM_OK)
				one(e->part.data, e->part.len, each, arg);
			e->part.len = 0;
			at = end + 1;
		}
		if (fm_buf_put(&e->part, at, (size_t)(piece + n - at)) != FM_OK)
			e->part.len = 0; /* longer than any line of ours */
	}
	return n < 0 ? fm_fail_errno("incoming/" NAME) : FM_OK;
}

bool fm_events_writer(int incoming, char who[300])
{
	int fd = openat(incoming, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
	ssize_t n = held ? read(fd, who, 299) : 0;

	who[n > 0 ? n : 0] = '\0';
	who[strcspn(who, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
	return held;
}
