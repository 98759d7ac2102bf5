/* transport_ssh.c: a host over SSH: sessions opened and closed, channels read and written. Only the
 * transport_ssh files see libssh. */
#include "orchestrator/transport_ssh_parts.h"
#include "protocol/buf.h"
#include <libssh/callbacks.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE (1 * FM_S) /* no single poll is trusted for longer */

struct fm_channel {
	struct fm_transport *t;
	ssh_channel ch;
	struct ssh_channel_callbacks_struct callbacks;
	char how[48]; /* it ended, "" until told */
	int status;   /* of the command, -1 until told or after a signal */
};

/* Waits until the socket can do what libssh wants of it, at most a slice. */
int fm_ssh_wait(struct fm_transport *t, short events, uint64_t deadline)
{
	int flags = ssh_get_poll_flags(t->s);
	uint64_t now = fm_now_ns(), until = now + SLICE < deadline ? now + SLICE : deadline;
	struct pollfd p = {ssh_get_fd(t->s), events, 0};
	int rc;

	if (p.fd < 0 || (ssh_get_status(t->s) & SSH_CLOSED) != 0)
		return fm_fail(FM_ERR_DROPPED, "the line broke");
	if (now >= deadline)
		return fm_fail(FM_ERR_TIMEOUT, "no answer");
	if ((flags & SSH_WRITE_PENDING) != 0)
		p.events |= POLLOUT;
	rc = fm_transport_wait(&p, 1, t->wake, until);
	if (rc == FM_ERR_TIMEOUT && fm_now_ns() < deadline)
		return FM_OK;
	return rc;
}

/* libssh's words about an error, as a dropped line unless they say more. */
int fm_ssh_failed(struct fm_transport *t, const char *step)
{
	char shown[400];
	const char *text = ssh_get_error(t->s);

	return fm_fail(
	        FM_ERR_DROPPED, "%s: %s", step, fm_escape(text, strlen(text), shown, sizeof shown));
}

void fm_ssh_free(struct fm_transport *t)
{
	if (t == NULL)
		return;
	if (t->s != NULL) {
		/* After an error libssh has closed the socket itself and says -1. */
		int fd = ssh_get_fd(t->s);

		if (fd >= 0) {
			ssh_disconnect(t->s);
			close(fd);
		}
		ssh_free(t->s);
	}
	if (t->proxy > 0)
		(void)fm_transport_reap(t->proxy, fm_now_ns() + 100 * FM_MS);
	fm_ssh_target_free(&t->target);
	free(t);
}

int fm_ssh_new(struct fm_transport **out, const struct fm_system *system, int wake)
{
	*out = fm_alloc(sizeof **out);
	if (*out == NULL)
		return FM_ERR_MEMORY;
	(*out)->system = system;
	(*out)->wake = wake;
	(*out)->proxy = -1;
	return FM_OK;
}

static int ssh_open_(struct fm_transport **out, const struct fm_system *system,
        const struct fm_home *home, int wake, uint64_t deadline)
{
	struct fm_transport *t = NULL;
	int rc = fm_ssh_new(&t, system, wake);

	*out = NULL;
	if (rc == FM_OK)
		rc = fm_ssh_reach(t, home, deadline);
	if (rc == FM_OK)
		rc = fm_ssh_check_key(t, home);
	if (rc == FM_OK)
		rc = fm_ssh_authenticate(t, deadline);
	if (rc == FM_OK) {
		snprintf(t->describe, sizeof t->describe, "%s@%s port %d%s%s, %s, host key %s",
		        t->target.user, t->target.hostname, t->target.port,
		        t->target.jump != NULL ? " through " : "",
		        t->target.jump != NULL ? t->target.jump : "", t->how,
		        t->pinned ? "pinned" : "in known_hosts");
		*out = t;
		t = NULL;
	}
	fm_ssh_free(t);
	return rc;
}

/* ---- channels ---- */

static void chan_discard(struct fm_channel *c)
{
	if (c == NULL)
		return;
	/* The library keeps a channel until the far side closes it too, and would still call back.
	 */
	if (c->ch != NULL) {
		(void)ssh_remove_channel_callbacks(c->ch, &c->callbacks);
		ssh_channel_free(c->ch);
	}
	free(c);
}

/* libssh's own getter says -1 for a signal and for no word at all. */
static void on_status(ssh_session s, ssh_channel ch, int status, void *arg)
{
	struct fm_channel *c = arg;

	(void)s;
	(void)ch;
	c->status = status;
	snprintf(c->how, sizeof c->how, "with status %d", status);
}

static void on_signal(ssh_session s, ssh_channel ch, const char *name, int core, const char *text,
        const char *lang, void *arg)
{
	struct fm_channel *c = arg;
	char shown[20];

	(void)s;
	(void)ch;
	(void)core;
	(void)text;
	(void)lang;
	snprintf(c->how, sizeof c->how, "by signal %s",
	        fm_escape(name == NULL ? "" : name, name == NULL ? 0 : strnlen(name, 16), shown,
	                sizeof shown));
}

static int chan_exec(
        struct fm_transport *t, const char *command, struct fm_channel **out, uint64_t deadline)
{
	struct fm_channel *c = fm_alloc(sizeof *c);
	int said, rc = c == NULL ? FM_ERR_MEMORY : FM_OK;

	*out = NULL;
	if (rc == FM_OK) {
		c->t = t;
		c->status = -1;
		c->ch = ssh_channel_new(t->s);
		rc = c->ch == NULL ? fm_fail(FM_ERR_MEMORY, "SSH channel") : FM_OK;
	}
	if (rc == FM_OK) {
		c->callbacks.userdata = c;
		c->callbacks.channel_exit_status_function = on_status;
		c->callbacks.channel_exit_signal_function = on_signal;
		ssh_callbacks_init(&c->callbacks);
		if (ssh_set_channel_callbacks(c->ch, &c->callbacks) != SSH_OK)
			rc = fm_ssh_failed(t, "opening a channel");
	}
	while (rc == FM_OK && (said = ssh_channel_open_session(c->ch)) != SSH_OK)
		rc = said == SSH_AGAIN ? fm_ssh_wait(t, POLLIN, deadline)
		                       : fm_ssh_failed(t, "opening a channel");
	while (rc == FM_OK && (said = ssh_channel_request_exec(c->ch, command)) != SSH_OK)
		rc = said == SSH_AGAIN ? fm_ssh_wait(t, POLLIN, deadline)
		                       : fm_ssh_failed(t, "starting a shell");
	if (rc == FM_OK) {
		*out = c;
		c = NULL;
	}
	chan_discard(c);
	return rc;
}

static ssize_t chan_read(
        struct fm_channel *c, void *bytes, size_t size, int *is_stderr, uint64_t deadline)
{
	for (;;) {
		int rc;

		/* Drain what is decoded already before asking the socket. */
		for (*is_stderr = 1; *is_stderr >= 0; --*is_stderr) {
			int n = ssh_channel_read_timeout(
			        c->ch, bytes, (uint32_t)size, *is_stderr, 0);

			if (n > 0)
				return n;
			if (n == SSH_ERROR)
				return fm_ssh_failed(c->t, "read");
		}
		*is_stderr = 0;
		if (ssh_channel_is_eof(c->ch) || ssh_channel_is_closed(c->ch))
			return 0;
		rc = fm_ssh_wait(c->t, POLLIN, deadline);
		if (rc != FM_OK)
			return rc;
	}
}

static int chan_write(struct fm_channel *c, const void *bytes, size_t len, uint64_t deadline)
{
	const char *next = bytes;

	for (;;) {
		int n = len > 0 ? ssh_channel_write(
		                          c->ch, next, (uint32_t)(len < 1u << 20 ? len : 1u << 20))
		                : 0;
		int rc;

		if (n == SSH_ERROR)
			return fm_ssh_failed(c->t, "write");
		if (n > 0) {
			next += n;
			len -= (size_t)n;
		}
		if (ssh_channel_is_eof(c->ch) || ssh_channel_is_closed(c->ch))
			return fm_fail(FM_ERR_DROPPED, "the far side closed the channel");
		/* Nothing of ours may stay behind in libssh: the line could be silent from here on.
		 */
		rc = ssh_blocking_flush(c->t->s, 0);
		if (rc == SSH_ERROR)
			return fm_ssh_failed(c->t, "write");
		if (len == 0 && rc == SSH_OK)
			return FM_OK;
		if (n > 0 && len > 0)
			continue;
		rc = fm_ssh_wait(c->t, POLLIN, deadline);
		if (rc != FM_OK)
			return rc;
	}
}

static int chan_eof(struct fm_channel *c)
{
	return ssh_channel_send_eof(c->ch) == SSH_ERROR ? fm_ssh_failed(c->t, "end of input")
	                                                : FM_OK;
}

/* Waits for what comes behind the end of the output, and has libssh take it in: reading does that
 * no more there. */
static int wait_behind_end(struct fm_channel *c, uint64_t deadline)
{
	int rc = fm_ssh_wait(c->t, POLLIN, deadline);
	ssh_event event = rc == FM_OK ? ssh_event_new() : NULL;

	if (rc != FM_OK)
		return rc;
	if (event == NULL || ssh_event_add_session(event, c->t->s) != SSH_OK)
		rc = FM_ERR_MEMORY;
	else if (ssh_event_dopoll(event, 0) == SSH_ERROR)
		rc = fm_ssh_failed(c->t, "end of the command");
	if (event != NULL)
		ssh_event_free(event); /* gives the session back */
	return rc;
}

static int chan_finish(struct fm_channel *c, int *status, uint64_t deadline)
{
	char piece[4096];
	int is_stderr, rc = chan_eof(c);
	ssize_t n = 1;

	while (rc == FM_OK && n > 0)
		n = chan_read(c, piece, sizeof piece, &is_stderr, deadline);
	if (n < 0)
		rc = (int)n;
	while (rc == FM_OK &&
	        !ssh_channel_is_closed(c->ch)) /* the status may come behind the end */
		rc = wait_behind_end(c, deadline);
	*status = rc == FM_OK ? c->status : -1;
	chan_discard(c);
	return rc;
}

static void chan_ended(struct fm_channel *c, char how[48], uint64_t deadline)
{
	int rc = FM_OK;

	while (rc == FM_OK && c->how[0] == '\0' && !ssh_channel_is_closed(c->ch))
		rc = wait_behind_end(c, deadline);
	snprintf(how, 48, "%s", c->how[0] != '\0' ? c->how : "without a word");
}

static void set_wake(struct fm_transport *t, int wake)
{
	t->wake = wake;
}

static const char *host_key(const struct fm_transport *t)
{
	return t->fingerprint;
}

static const char *describe(const struct fm_transport *t)
{
	return t->describe;
}

const struct fm_transport_ops fm_transport_ssh = {
        .open = ssh_open_,
        .close = fm_ssh_free,
        .exec = chan_exec,
        .read = chan_read,
        .write = chan_write,
        .eof = chan_eof,
        .ended = chan_ended,
        .finish = chan_finish,
        .discard = chan_discard,
        .set_wake = set_wake,
        .host_key = host_key,
        .describe = describe,
};
