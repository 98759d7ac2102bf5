/* transport_local.c: the controller's own machine as a host: a socket pair to a forked /bin/sh. */
#include "orchestrator/transport.h"
#include "protocol/buf.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PENDING_MAX (64u << 10) /* stderr kept while we write; more is dropped */

struct fm_transport {
	int wake;
};
struct fm_channel {
	struct fm_transport *t;
	pid_t pid;
	int fd, err;           /* -1: closed */
	struct fm_buf pending; /* stderr that came while writing */
};

static int local_open(struct fm_transport **out, const struct fm_system *system,
        const struct fm_home *home, int wake, uint64_t deadline)
{
	(void)system;
	(void)home;
	(void)deadline;
	*out = fm_alloc(sizeof **out);
	if (*out == NULL)
		return FM_ERR_MEMORY;
	(*out)->wake = wake;
	return FM_OK;
}

static void local_close(struct fm_transport *t)
{
	free(t);
}

static void run_child(int fd, int err, const char *command)
{
	fm_transport_child();
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int local_exec(
        struct fm_transport *t, const char *command, struct fm_channel **out, uint64_t deadline)
{
	struct fm_channel *c = fm_alloc(sizeof *c);
	int pair[2] = {-1, -1};
	int err[2] = {-1, -1};
	int rc = FM_ERR_INTERNAL;

	(void)deadline;
	*out = NULL;
	if (c == NULL)
		return FM_ERR_MEMORY;
	c->t = t;
	c->pending = FM_BUF_INIT(PENDING_MAX);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 ||
	        pipe2(err, O_CLOEXEC) != 0) {
		rc = fm_fail_errno("local shell: socket pair");
		goto out;
	}
	if (fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(err[0], F_SETFL, O_NONBLOCK) != 0) {
		rc = fm_fail_errno("local shell");
		goto out;
	}
	c->pid = fork();
	if (c->pid == 0)
		run_child(pair[1], err[1], command);
	if (c->pid < 0) {
		rc = fm_fail_errno("local shell: fork");
		goto out;
	}
	c->fd = pair[0];
	c->err = err[0];
	pair[0] = err[0] = -1;
	*out = c;
	c = NULL;
	rc = FM_OK;
out:
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			close(pair[i]);
		if (err[i] >= 0)
			close(err[i]);
	}
	free(c);
	return rc;
}

/* One read from a descriptor that polled ready: bytes, 0 at its end, -1 for not yet, other negative
 * codes. */
static ssize_t read_ready(int fd, void *bytes, size_t size)
{
	ssize_t n = read(fd, bytes, size);

	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR)
		return -1;
	if (errno == ECONNRESET)
		return 0;
	return fm_fail_errno("local shell: read");
}

static ssize_t local_read(
        struct fm_channel *c, void *bytes, size_t size, int *is_stderr, uint64_t deadline)
{
	if (c->pending.len > 0) {
		size_t n = c->pending.len < size ? c->pending.len : size;

		memcpy(bytes, c->pending.data, n);
		fm_buf_consume(&c->pending, n);
		*is_stderr = 1;
		return (ssize_t)n;
	}
	for (;;) {
		struct pollfd fds[2] = {{c->fd, POLLIN, 0}, {c->err, POLLIN, 0}};
		int rc = fm_transport_wait(fds, 2, c->t->wake, deadline);
		ssize_t n;

		if (rc != FM_OK)
			return rc;
		if (fds[1].revents != 0) {
			n = read_ready(c->err, bytes, size);
			*is_stderr = 1;
			if (n > 0 || n < -1)
				return n;
			if (n == 0) {
				close(c->err);
				c->err = -1;
			}
		}
		if (fds[0].revents != 0) {
			n = read_ready(c->fd, bytes, size);
			*is_stderr = 0;
			if (n != -1)
				return n;
		}
	}
}

/* Keeps the far side's stderr from filling up while it cannot take our bytes. */
static void drain_stderr(struct fm_channel *c)
{
	char piece[4096];
	ssize_t n = read_ready(c->err, piece, sizeof piece);

	if (n == 0) {
		close(c->err);
		c->err = -1;
	} else if (n > 0 && fm_buf_put(&c->pending, piece, (size_t)n) != FM_OK) {
		return; /* more than is kept: dropped */
	}
}

static int local_write(struct fm_channel *c, const void *bytes, size_t len, uint64_t deadline)
{
	const char *next = bytes;

	while (len > 0) {
		ssize_t n = send(c->fd, next, len, MSG_NOSIGNAL);

		if (n >= 0) {
			next += n;
			len -= (size_t)n;
		} else if (errno == EPIPE || errno == ECONNRESET) {
			return fm_fail(FM_ERR_DROPPED, "the local shell ended");
		} else if (errno != EAGAIN && errno != EINTR) {
			return fm_fail_errno("local shell: write");
		} else {
			struct pollfd fds[2] = {{c->fd, POLLOUT, 0}, {c->err, POLLIN, 0}};
			int rc = fm_transport_wait(fds, 2, c->t->wake, deadline);

			if (rc != FM_OK)
				return rc;
			if (fds[1].revents != 0)
				drain_stderr(c);
		}
	}
	return FM_OK;
}

static int local_eof(struct fm_channel *c)
{
	return shutdown(c->fd, SHUT_WR) == 0 || errno == ENOTCONN
	               ? FM_OK
	               : fm_fail_errno("local shell: shutdown");
}

static void release(struct fm_channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->err >= 0)
		close(c->err);
	fm_buf_free(&c->pending);
	free(c);
}

static int local_finish(struct fm_channel *c, int *status, uint64_t deadline)
{
	int wait_status;

	(void)local_eof(c);
	wait_status = fm_transport_reap(c->pid, deadline);
	*status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
	release(c);
	return FM_OK;
}

static void local_ended(struct fm_channel *c, char how[48], uint64_t deadline)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	        info.si_pid == 0 && fm_now_ns() < deadline)
		(void)poll(NULL, 0, 5);
	if (info.si_pid == 0)
		snprintf(how, 48, "without a word");
	else if (info.si_code == CLD_EXITED)
		snprintf(how, 48, "with status %d", info.si_status);
	else
		snprintf(how, 48, "by signal %d", info.si_status);
}

static void local_discard(struct fm_channel *c)
{
	if (c == NULL)
		return;
	close(c->fd);
	c->fd = -1;
	(void)fm_transport_reap(c->pid, fm_now_ns() + 300 * FM_MS);
	release(c);
}

static void local_set_wake(struct fm_transport *t, int wake)
{
	t->wake = wake;
}

static const char *local_host_key(const struct fm_transport *t)
{
	(void)t;
	return "local";
}

static const char *local_describe(const struct fm_transport *t)
{
	(void)t;
	return "this machine, no SSH";
}

const struct fm_transport_ops fm_transport_local = {
        .open = local_open,
        .close = local_close,
        .exec = local_exec,
        .read = local_read,
        .write = local_write,
        .eof = local_eof,
        .ended = local_ended,
        .finish = local_finish,
        .discard = local_discard,
        .set_wake = local_set_wake,
        .host_key = local_host_key,
        .describe = local_describe,
};
