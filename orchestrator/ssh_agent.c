/* ssh_agent.c: relays the agent protocol, leaving out every key that is not named for the host. */
#include "orchestrator/ssh_agent.h"
#include "orchestrator/keyblob.h"
#include "orchestrator/transport.h"
#include "protocol/buf.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define MESSAGE_MAX (256u << 10) /* OpenSSH's own limit */
#define PUBLIC_MAX  (16u << 10)
#define AGENT_WAIT  (30 * FM_S)

enum { FAILURE = 5, REQUEST_IDENTITIES = 11, IDENTITIES_ANSWER = 12, SIGN_REQUEST = 13 };

struct sieve {
	int agent, library;
	struct fm_buf allowed[FM_SSH_IDENTITIES]; /* key blobs */
	size_t count;
};

static uint32_t get32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put32(char *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (char)(v >> (24 - 8 * i));
}

static int read_exact(int fd, char *bytes, size_t len, uint64_t deadline)
{
	while (len > 0) {
		struct pollfd p = {fd, POLLIN, 0};
		ssize_t n;

		if (fm_transport_wait(&p, 1, -1, deadline) != FM_OK)
			return FM_ERR_TIMEOUT;
		n = read(fd, bytes, len);
		if (n <= 0)
			return FM_ERR_DROPPED;
		bytes += n;
		len -= (size_t)n;
	}
	return FM_OK;
}

/* One message with its length in front. */
static int read_message(int fd, struct fm_buf *out, uint64_t deadline)
{
	char head[4], *room;
	uint32_t len;
	int rc = read_exact(fd, head, 4, deadline);

	if (rc != FM_OK)
		return rc;
	len = get32(head);
	if (len == 0 || len > MESSAGE_MAX)
		return FM_ERR_FORM;
	out->len = 0;
	if ((rc = fm_buf_put(out, head, 4)) != FM_OK || (room = fm_buf_room(out, len)) == NULL)
		return FM_ERR_MEMORY;
	rc = read_exact(fd, room, len, deadline);
	out->len += len;
	return rc;
}

static int write_message(int fd, const struct fm_buf *m)
{
	size_t done = 0;

	while (done < m->len) {
		ssize_t n = send(fd, m->data + done, m->len - done, MSG_NOSIGNAL);

		if (n <= 0)
			return FM_ERR_DROPPED;
		done += (size_t)n;
	}
	return FM_OK;
}

static bool allowed(const struct sieve *s, const char *blob, size_t len)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->allowed[i].len == len && memcmp(s->allowed[i].data, blob, len) == 0)
			return true;
	}
	return false;
}

/* A string (length and bytes) at *at of the message; false if it does not fit. */
static bool take_string(const struct fm_buf *m, size_t *at, const char **bytes, size_t *len)
{
	if (m->len - *at < 4)
		return false;
	*len = get32(m->data + *at);
	if (m->len - *at - 4 < *len)
		return false;
	*bytes = m->data + *at + 4;
	*at += 4 + *len;
	return true;
}

/* The agent's list without what is not allowed; *kept is how many stay. */
static int sift(const struct sieve *s, const struct fm_buf *in, struct fm_buf *out, size_t *kept)
{
	size_t at = 9;
	uint32_t n;
	int rc;

	*kept = 0;
	out->len = 0;
	if (in->len < 9 || in->data[4] != IDENTITIES_ANSWER)
		return FM_ERR_FORM;
	n = get32(in->data + 5);
	rc = fm_buf_put(out, in->data, 9);
	while (rc == FM_OK && n-- > 0) {
		const char *blob, *comment;
		size_t start = at, blob_len, comment_len;

		if (!take_string(in, &at, &blob, &blob_len) ||
		        !take_string(in, &at, &comment, &comment_len))
			return FM_ERR_FORM;
		if (!allowed(s, blob, blob_len))
			continue;
		rc = fm_buf_put(out, in->data + start, at - start);
		++*kept;
	}
	if (rc == FM_OK) {
		put32(out->data, (uint32_t)(out->len - 4));
		put32(out->data + 5, (uint32_t)*kept);
	}
	return rc;
}

static int fail_message(struct fm_buf *out)
{
	static const char failure[5] = {0, 0, 0, 1, FAILURE};

	out->len = 0;
	return fm_buf_put(out, failure, sizeof failure);
}

/* One request of the library, answered. */
static int relay(struct sieve *s, struct fm_buf *request, struct fm_buf *answer)
{
	struct fm_buf full = FM_BUF_INIT(MESSAGE_MAX + 4);
	size_t at = 5, len = 0, kept;
	const char *blob = NULL;
	int rc = read_message(s->library, request, UINT64_MAX);

	if (rc != FM_OK)
		return rc;
	if (request->data[4] == REQUEST_IDENTITIES) {
		if ((rc = write_message(s->agent, request)) == FM_OK &&
		        (rc = read_message(s->agent, &full, fm_now_ns() + AGENT_WAIT)) == FM_OK)
			rc = sift(s, &full, answer, &kept);
	} else if (request->data[4] == SIGN_REQUEST && take_string(request, &at, &blob, &len) &&
	           allowed(s, blob, len)) {
		if ((rc = write_message(s->agent, request)) == FM_OK)
			rc = read_message(s->agent, answer, fm_now_ns() + AGENT_WAIT);
	} else {
		rc = fail_message(answer);
	}
	fm_buf_free(&full);
	return rc == FM_OK ? write_message(s->library, answer) : rc;
}

static void sieve_free(struct sieve *s)
{
	if (s == NULL)
		return;
	if (s->agent >= 0)
		close(s->agent);
	if (s->library >= 0)
		close(s->library);
	for (size_t i = 0; i < s->count; i++)
		fm_buf_free(&s->allowed[i]);
	free(s);
}

static void *serve(void *arg)
{
	struct sieve *s = arg;
	struct fm_buf request = FM_BUF_INIT(MESSAGE_MAX + 4), answer = FM_BUF_INIT(MESSAGE_MAX + 4);

	while (relay(s, &request, &answer) == FM_OK)
		;
	fm_buf_free(&request);
	fm_buf_free(&answer);
	sieve_free(s);
	return NULL;
}

/* "type base64 comment" of FILE.pub as a key blob. */
static int add_public(struct sieve *s, const char *identity)
{
	struct fm_buf text = FM_BUF_INIT(PUBLIC_MAX), *blob = &s->allowed[s->count];
	char *path = fm_sprintf("%s.pub", identity);
	const char *at;
	int rc = FM_OK;

	if (path == NULL)
		return FM_ERR_MEMORY;
	if (fm_fs_read(AT_FDCWD, path, PUBLIC_MAX, &text) != FM_OK || text.len == 0)
		goto out; /* no public half: the file itself is tried */
	*blob = FM_BUF_INIT(PUBLIC_MAX);
	at = strchr(text.data, ' ');
	rc = fm_keyblob_decode(at != NULL ? at + 1 : "", blob);
	if (rc == FM_OK && blob->len > 0)
		s->count++;
	else
		fm_buf_free(blob);
out:
	fm_buf_free(&text);
	free(path);
	return rc;
}

static int connect_agent(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof a.sun_path)
		return -1;
	memcpy(a.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof a) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* How many of the allowed keys the agent holds now. */
static size_t ask_count(struct sieve *s)
{
	static const char ask[5] = {0, 0, 0, 1, REQUEST_IDENTITIES};
	struct fm_buf m = FM_BUF_INIT(MESSAGE_MAX + 4), out = FM_BUF_INIT(MESSAGE_MAX + 4);
	size_t kept = 0;

	if (fm_buf_put(&m, ask, sizeof ask) != FM_OK || write_message(s->agent, &m) != FM_OK ||
	        read_message(s->agent, &m, fm_now_ns() + AGENT_WAIT) != FM_OK ||
	        sift(s, &m, &out, &kept) != FM_OK)
		kept = 0;
	fm_buf_free(&m);
	fm_buf_free(&out);
	return kept;
}

int fm_ssh_agent_start(const struct fm_ssh_target *t, int *fd, size_t *count)
{
	struct sieve *s = fm_alloc(sizeof *s);
	int pair[2] = {-1, -1}, rc = FM_OK;
	pthread_t thread;

	*fd = -1;
	*count = 0;
	if (s == NULL)
		return FM_ERR_MEMORY;
	s->agent = t->agent != NULL ? connect_agent(t->agent) : -1;
	s->library = -1;
	for (size_t i = 0; rc == FM_OK && s->agent >= 0 && i < t->identity_count; i++)
		rc = add_public(s, t->identity[i]);
	if (rc != FM_OK || s->count == 0 || (*count = ask_count(s)) == 0)
		goto out;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
		rc = fm_fail_errno("socket pair");
		goto out;
	}
	s->library = pair[0];
	if (pthread_create(&thread, NULL, serve, s) != 0) {
		close(pair[1]);
		rc = fm_fail(FM_ERR_SYSTEM, "thread for the ssh-agent");
		goto out;
	}
	pthread_detach(thread);
	*fd = pair[1];
	s = NULL;
out:
	if (rc != FM_OK || *fd < 0)
		*count = 0;
	sieve_free(s);
	return rc;
}
