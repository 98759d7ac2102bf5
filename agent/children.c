/* children.c: serves children until they end or their time is over, and leaves nothing of them
 * behind. */
#include "agent/agent.h"
#include "agent/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS 2000000000u /* between TERM and KILL */
#define POLL_MAX 200         /* children at once */

static int signal_pipe[2] = {-1, -1};
static bool adopts;
static struct {
	int fd;
	unsigned every_ms;
	uint64_t last_ns;
	int (*serve)(void *arg);
	void *arg;
} service = {-1, 0, 0, NULL, NULL};

static void on_child(int number)
{
	int saved = errno;

	(void)number;
	if (write(signal_pipe[1], "c", 1) < 0)
		errno = saved;
	errno = saved;
}

int fm_child_init(bool subreaper)
{
	struct sigaction act;

	for (int fd = 3; fd < 256; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags >= 0)
			(void)fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
	}
	if (signal_pipe[0] < 0 && pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
		return fm_fail_errno("pipe for SIGCHLD");
	memset(&act, 0, sizeof act);
	act.sa_handler = on_child;
	act.sa_flags = SA_RESTART | SA_NOCLDSTOP;
	if (sigaction(SIGCHLD, &act, NULL) != 0)
		return fm_fail_errno("SIGCHLD");
	act.sa_handler = SIG_IGN;
	if (sigaction(SIGPIPE, &act, NULL) != 0)
		return fm_fail_errno("SIGPIPE");
	/* Not there under qemu-user: then what a child leaves behind goes to process 1 and only its
	 * group can be killed. */
	adopts = subreaper && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
	return FM_OK;
}

bool fm_child_adopts(void)
{
	return adopts;
}

void fm_child_serve(int fd, unsigned every_ms, int (*serve)(void *arg), void *arg)
{
	service.fd = fd;
	service.every_ms = every_ms;
	service.last_ns = fm_agent_now_ns();
	service.serve = serve;
	service.arg = arg;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Reads what is there. Returns false at the end of the pipe. */
static bool drain(int fd, struct fm_buf *into, uint64_t *dropped, bool *flood)
{
	char piece[16384];

	for (;;) {
		ssize_t n = read(fd, piece, sizeof piece);
		size_t keep;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN;
		if (n == 0)
			return false;
		keep = into->max - into->len;
		if (keep > (size_t)n)
			keep = (size_t)n;
		if (keep > 0 && fm_buf_put(into, piece, keep) != FM_OK)
			keep = 0;
		if (keep < (size_t)n) {
			*dropped += (uint64_t)n - keep;
			*flood = true;
		}
	}
}

static void serve_pipes(struct fm_child *c)
{
	bool flood = false, ignored = false;
	uint64_t dropped = 0;

	if (c->out_fd >= 0 && !drain(c->out_fd, &c->output, &c->output_dropped, &ignored))
		close_fd(&c->out_fd);
	if (c->result_fd >= 0 && !drain(c->result_fd, &c->results, &dropped, &flood))
		close_fd(&c->result_fd);
	if (flood && c->killed == FM_CHILD_ALIVE) {
		c->killed = FM_CHILD_FLOOD;
		c->kill_sent = true;
		kill(-c->pid, SIGKILL);
	}
}

static void check_deadline(struct fm_child *c, uint64_t now)
{
	if (now < c->deadline_ns || c->kill_sent)
		return;
	if (c->killed == FM_CHILD_ALIVE) {
		c->killed = FM_CHILD_TIMEOUT;
		kill(-c->pid, SIGTERM);
		c->deadline_ns = now + GRACE_NS;
		return;
	}
	c->kill_sent = true;
	kill(-c->pid, SIGKILL);
	kill(c->pid, SIGKILL);
}

static bool tracked(const struct fm_child *children, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (children[i].pid == pid)
			return true;
	return false;
}

/* Kills and reaps children that are not in the table. Returns how many there were. */
static size_t kill_strays(const struct fm_child *children, size_t n)
{
	char path[64], text[8192], *at, *end;
	size_t found = 0;
	ssize_t len;
	int fd;

	snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof text - 1);
	close(fd);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	for (at = text; *at != '\0'; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (pid <= 1 || tracked(children, n, (pid_t)pid))
			continue;
		kill((pid_t)pid, SIGKILL);
		if (waitpid((pid_t)pid, NULL, 0) == (pid_t)pid)
			found++;
	}
	return found;
}

/* The child has been reaped: its group and what it left to us go, the rest of its pipes is read. */
static void finish(struct fm_child *children, size_t n, size_t index)
{
	struct fm_child *c = &children[index];

	c->elapsed_ns = fm_agent_now_ns() - c->started_ns;
	kill(-c->pid, SIGKILL);
	c->pid = 0;
	while (kill_strays(children, n) > 0)
		;
	serve_pipes(c);
	close_fd(&c->out_fd);
	close_fd(&c->result_fd);
}

void fm_child_kill_all(struct fm_child *children, size_t n)
{
	uint64_t until = fm_agent_now_ns() + GRACE_NS;
	size_t alive;

	for (size_t i = 0; i < n; i++)
		if (children[i].pid > 0)
			kill(-children[i].pid, SIGTERM);
	do {
		bool late = fm_agent_now_ns() > until;
		struct pollfd p = {signal_pipe[0], POLLIN, 0};

		alive = 0;
		for (size_t i = 0; i < n; i++) {
			struct fm_child *c = &children[i];

			if (c->pid <= 0)
				continue;
			if (late)
				kill(-c->pid, SIGKILL);
			serve_pipes(c);
			if (waitpid(c->pid, &c->status, WNOHANG) == c->pid) {
				c->killed = FM_CHILD_CANCELLED;
				finish(children, n, i);
			} else {
				alive++;
			}
		}
		if (alive > 0)
			(void)poll(&p, 1, 20);
	} while (alive > 0);
}

/* Serves the agent's own descriptor or timer when it is due. */
static int serve_service(const struct pollfd *p, uint64_t now)
{
	bool due = service.every_ms != 0 &&
	           now - service.last_ns >= (uint64_t)service.every_ms * 1000000u;

	if (service.serve == NULL || ((p == NULL || p->revents == 0) && !due))
		return FM_OK;
	service.last_ns = now;
	return service.serve(service.arg);
}

/* How long poll may sleep: until the next deadline or turn of the service. */
static int sleep_ms(const struct fm_child *children, size_t n, uint64_t now)
{
	uint64_t until = now + 60000000000u;

	for (size_t i = 0; i < n; i++)
		if (children[i].pid > 0 && !children[i].kill_sent &&
		        children[i].deadline_ns < until)
			until = children[i].deadline_ns;
	if (service.every_ms != 0 &&
	        service.last_ns + (uint64_t)service.every_ms * 1000000u < until)
		until = service.last_ns + (uint64_t)service.every_ms * 1000000u;
	return until <= now ? 0 : (int)((until - now) / 1000000u) + 1;
}

static size_t fill_poll(struct pollfd *p, const struct fm_child *children, size_t n)
{
	size_t used = 0;

	p[used++] = (struct pollfd){signal_pipe[0], POLLIN, 0};
	p[used++] = (struct pollfd){service.fd, POLLIN, 0};
	for (size_t i = 0; i < n; i++) {
		if (children[i].pid <= 0)
			continue;
		p[used++] = (struct pollfd){children[i].out_fd, POLLIN, 0};
		p[used++] = (struct pollfd){children[i].result_fd, POLLIN, 0};
	}
	return used;
}

int fm_child_wait(struct fm_child *children, size_t n, size_t *ended)
{
	struct pollfd p[2 + 2 * POLL_MAX];

	if (n > POLL_MAX)
		return fm_fail(FM_ERR_INTERNAL, "%zu children at once", n);
	for (;;) {
		uint64_t now = fm_agent_now_ns();
		size_t used = fill_poll(p, children, n), alive = 0;
		char bytes[256];
		int rc;

		(void)poll(p, used, sleep_ms(children, n, now));
		while (read(signal_pipe[0], bytes, sizeof bytes) > 0)
			;
		now = fm_agent_now_ns();
		rc = serve_service(&p[1], now);
		if (rc != FM_OK) {
			fm_child_kill_all(children, n);
			return rc;
		}
		for (size_t i = 0; i < n; i++) {
			struct fm_child *c = &children[i];

			if (c->pid <= 0)
				continue;
			alive++;
			serve_pipes(c);
			if (waitpid(c->pid, &c->status, WNOHANG) == c->pid) {
				finish(children, n, i);
				*ended = i;
				return FM_OK;
			}
			check_deadline(c, now);
		}
		if (alive == 0)
			return fm_fail(FM_ERR_INTERNAL, "nothing to wait for");
	}
}

int fm_child_run(const struct fm_command *what, struct fm_child *c)
{
	size_t ended;
	int rc = fm_child_start(what, c);

	return rc != FM_OK ? rc : fm_child_wait(c, 1, &ended);
}

int fm_child_sweep(void)
{
	uint64_t until = fm_agent_now_ns() + 5000000000u;

	while (kill_strays(NULL, 0) > 0)
		if (fm_agent_now_ns() > until)
			return fm_fail(FM_ERR_INTERNAL, "children that cannot be ended");
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno == ECHILD)
			return FM_OK;
		if (pid == 0)
			return fm_fail(FM_ERR_INTERNAL, "a child is still alive");
	}
}
