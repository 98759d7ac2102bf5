/* connect.c: name lookup and connect with deadlines; children for jump hosts. */
#include "orchestrator/connect.h"
#include "orchestrator/ssh_resolve.h"
#include "orchestrator/transport.h"
#include "protocol/buf.h"
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESS_WAIT    (10 * FM_S)
#define RESOLVER_WAIT   (20 * FM_S) /* glibc asks two servers twice in that time */
#define USER_TIMEOUT_MS 30000

static void set_options(int fd)
{
	const int one = 1, idle = 10, interval = 5, count = 4;
	const unsigned lost = USER_TIMEOUT_MS;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost, sizeof lost);
}

/* One address. */
static int try_address(const struct addrinfo *a, int wake, uint64_t deadline, int *out)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
	int error = 0, rc = FM_OK;
	socklen_t len = sizeof error;

	if (fd < 0)
		return fm_fail_errno("socket");
	set_options(fd);
	if (connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
		struct pollfd p = {fd, POLLOUT, 0};

		error = errno;
		if (error == EINPROGRESS) {
			rc = fm_transport_wait(&p, 1, wake, deadline);
			if (rc == FM_OK && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
				error = errno;
		}
		if (rc == FM_OK && error != 0)
			rc = fm_fail(FM_ERR_CONNECT, "%s", strerror(error));
	}
	if (rc != FM_OK) {
		close(fd);
		return rc;
	}
	*out = fd;
	return FM_OK;
}

/* A lookup in a thread of its own, since no resolver call has a deadline. Two hold it: who asks and
 * the thread; the later one to let go frees it, so one that is given up costs a few hundred bytes
 * until the resolver answers. */
struct lookup {
	char host[300], service[8];
	struct addrinfo hints, *found;
	int status, error; /* of getaddrinfo; errno with EAI_SYSTEM */
	int done[2];       /* a pipe: the thread closes its end when it has an answer */
	atomic_int holders;
};

static void let_go(struct lookup *l)
{
	if (atomic_fetch_sub(&l->holders, 1) > 1)
		return;
	if (l->found != NULL)
		freeaddrinfo(l->found);
	free(l);
}

static void *ask(void *arg)
{
	struct lookup *l = arg;

	l->status = getaddrinfo(l->host, l->service, &l->hints, &l->found);
	l->error = errno;
	close(l->done[1]);
	let_go(l);
	return NULL;
}

/* The thread blocks all signals: they are for the main thread. */
static int start_asking(struct lookup *l)
{
	pthread_t thread;
	sigset_t all, old;
	int error;

	if (pipe2(l->done, O_CLOEXEC) != 0)
		return fm_fail_errno("a pipe for the resolver");
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	atomic_fetch_add(&l->holders, 1);
	error = pthread_create(&thread, NULL, ask, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (error == 0) {
		pthread_detach(thread);
		return FM_OK;
	}
	atomic_fetch_sub(&l->holders, 1);
	close(l->done[0]);
	close(l->done[1]);
	errno = error;
	return fm_fail_errno("a thread for the resolver");
}

/* Asks the resolver, at most RESOLVER_WAIT, until deadline or a wake; l->status and l->found are
 * set with FM_OK.
 */
static int look_up(struct lookup *l, int wake, uint64_t deadline)
{
	uint64_t most = fm_now_ns() + RESOLVER_WAIT;
	struct pollfd p;
	int rc = start_asking(l);

	if (rc != FM_OK)
		return rc;
	p = (struct pollfd){l->done[0], POLLIN, 0};
	rc = fm_transport_wait(&p, 1, wake, most < deadline ? most : deadline);
	if (rc == FM_ERR_TIMEOUT)
		rc = fm_fail(FM_ERR_RESOLVE, "%s: the resolver does not answer", l->host);
	close(l->done[0]);
	return rc;
}

/* The addresses of a name; *out is freed with freeaddrinfo. Literals never leave this thread. */
static int resolve(
        const char *host, int port, int family, int wake, uint64_t deadline, struct addrinfo **out)
{
	struct lookup *l = fm_alloc(sizeof *l);
	int rc = FM_OK;

	*out = NULL;
	if (l == NULL)
		return FM_ERR_MEMORY;
	memset(l, 0, sizeof *l);
	atomic_init(&l->holders, 1);
	snprintf(l->host, sizeof l->host, "%s", host);
	snprintf(l->service, sizeof l->service, "%d", port);
	l->hints = (struct addrinfo){.ai_family = family,
	        .ai_socktype = SOCK_STREAM,
	        .ai_flags = AI_NUMERICSERV | AI_NUMERICHOST};
	l->status = getaddrinfo(l->host, l->service, &l->hints, &l->found);
	l->error = errno;
	if (l->status == EAI_NONAME) {
		l->hints.ai_flags = AI_NUMERICSERV;
		rc = look_up(l, wake, deadline);
	}
	if (rc == FM_OK && l->status != 0)
		rc = fm_fail(FM_ERR_RESOLVE, "%s: %s", host,
		        l->status == EAI_SYSTEM ? strerror(l->error) : gai_strerror(l->status));
	if (rc == FM_OK) {
		*out = l->found;
		l->found = NULL;
	}
	let_go(l);
	return rc;
}

int fm_connect(const char *host, int port, int family, int wake, uint64_t deadline, int *fd)
{
	struct addrinfo *list = NULL;
	int rc;

	*fd = -1;
	rc = resolve(host, port, family, wake, deadline, &list);
	if (rc != FM_OK)
		return rc;
	rc = fm_fail(FM_ERR_RESOLVE, "%s has no address", host);
	for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
		uint64_t now = fm_now_ns();

		if (now >= deadline) {
			rc = fm_fail(FM_ERR_TIMEOUT, "no answer");
			break;
		}
		rc = try_address(
		        a, wake, deadline - now > ADDRESS_WAIT ? now + ADDRESS_WAIT : deadline, fd);
		if (rc == FM_OK || rc == FM_ERR_INTERRUPTED)
			break;
	}
	freeaddrinfo(list);
	if (rc != FM_OK && rc != FM_ERR_INTERRUPTED)
		rc = fm_wrap(rc, "%s port %d", host, port);
	return rc;
}

/* [USER@]HOST[:PORT] as words of an ssh command line. */
struct hop {
	char host[300], port[8];
};

static void split_hop(const char *text, struct hop *h)
{
	const char *colon = strrchr(text, ':');
	const char *bracket = strrchr(text, ']');

	memset(h, 0, sizeof *h);
	if (colon != NULL && (bracket == NULL || colon > bracket) &&
	        (bracket != NULL || strchr(text, ':') == colon)) {
		snprintf(h->port, sizeof h->port, "%.6s", colon + 1);
		snprintf(h->host, sizeof h->host, "%.*s", (int)(colon - text), text);
	} else {
		snprintf(h->host, sizeof h->host, "%s", text);
	}
}

static void run_child(int fd, char *const argv[])
{
	int null = open("/dev/null", O_WRONLY);

	fm_transport_child();
	if (dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || null < 0 || dup2(null, 2) < 0)
		_exit(126);
	execvp(argv[0], argv);
	_exit(127);
}

static int start_child(char *const argv[], int *fd, pid_t *child)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return fm_fail_errno("socket pair");
	*child = fork();
	if (*child == 0)
		run_child(pair[1], argv);
	close(pair[1]);
	if (*child < 0) {
		close(pair[0]);
		return fm_fail_errno("fork");
	}
	*fd = pair[0];
	if (fcntl(*fd, F_SETFL, O_NONBLOCK) != 0)
		return fm_fail_errno("socket pair");
	return FM_OK;
}

/* The last hop carries the stream; those before it go into -J. */
static int start_jump(const struct fm_ssh_target *t, const char *known_hosts, int *fd, pid_t *child)
{
	char *hops = fm_strdup(t->jump), *last, *files = NULL, *to = NULL;
	char *argv[24];
	struct hop hop;
	int n = 0, rc = FM_ERR_MEMORY;

	if (hops == NULL)
		goto out;
	last = strrchr(hops, ',');
	if (last != NULL)
		*last++ = '\0';
	split_hop(last != NULL ? last : hops, &hop);
	if (hop.host[0] == '-' || hop.host[0] == '\0' || hops[0] == '-') {
		rc = fm_fail(
		        FM_ERR_CONFIG, "jump = %s: [user@]host[:port], comma separated", t->jump);
		goto out;
	}
	files = fm_sprintf("UserKnownHostsFile=\"%s\"%s%s%s", known_hosts,
	        t->known_hosts_count > 0 ? " \"" : "",
	        t->known_hosts_count > 0 ? t->known_hosts[0] : "",
	        t->known_hosts_count > 0 ? "\"" : "");
	to = fm_sprintf(
	        strchr(t->hostname, ':') != NULL ? "[%s]:%d" : "%s:%d", t->hostname, t->port);
	if (files == NULL || to == NULL)
		goto out;
	argv[n++] = (char[]){"ssh"};
	argv[n++] = (char[]){"-o"};
	argv[n++] = (char[]){"BatchMode=yes"};
	argv[n++] = (char[]){"-o"};
	argv[n++] = (char[]){"StrictHostKeyChecking=yes"};
	argv[n++] = (char[]){"-o"};
	argv[n++] = files;
	if (last != NULL) {
		argv[n++] = (char[]){"-J"};
		argv[n++] = hops;
	}
	if (hop.port[0] != '\0') {
		argv[n++] = (char[]){"-p"};
		argv[n++] = hop.port;
	}
	argv[n++] = (char[]){"-W"};
	argv[n++] = to;
	argv[n++] = hop.host;
	argv[n] = NULL;
	rc = start_child(argv, fd, child);
out:
	free(hops);
	free(files);
	free(to);
	return rc;
}

int fm_connect_proxy(const struct fm_ssh_target *t, const char *known_hosts, int *fd, pid_t *child)
{
	char *command, *argv[4] = {(char[]){"/bin/sh"}, (char[]){"-c"}};
	int rc;

	*fd = -1;
	*child = -1;
	if (t->jump != NULL)
		return start_jump(t, known_hosts, fd, child);
	command = fm_sprintf("exec %s", t->proxy_command);
	if (command == NULL)
		return FM_ERR_MEMORY;
	argv[2] = command;
	argv[3] = NULL;
	rc = start_child(argv, fd, child);
	free(command);
	return rc;
}
