/* transport.c: what both transports share: the clock of deadlines, waiting, children. */
#include "orchestrator/transport.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_FDS 7

uint64_t fm_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * FM_S + (uint64_t)ts.tv_nsec;
}

const struct fm_transport_ops *fm_transport_for(const struct fm_system *system)
{
	return system->transport == FM_TRANSPORT_LOCAL ? &fm_transport_local : &fm_transport_ssh;
}

int fm_transport_wait(struct pollfd *fds, unsigned count, int wake, uint64_t deadline)
{
	struct pollfd all[WAIT_FDS + 1];

	if (count > WAIT_FDS)
		return fm_fail(FM_ERR_INTERNAL, "too many descriptors in one wait");
	for (;;) {
		uint64_t now = fm_now_ns();
		uint64_t left = deadline > now ? (deadline - now) / FM_MS + 1 : 0;
		int n;

		for (unsigned i = 0; i < count; i++)
			all[i] = fds[i];
		all[count] = (struct pollfd){.fd = wake, .events = POLLIN};
		n = poll(all, count + 1, left > 60000 ? 60000 : (int)left);
		if (n < 0 && errno != EINTR)
			return fm_fail_errno("poll");
		if (n > 0 && wake >= 0 && all[count].revents != 0)
			return fm_fail(FM_ERR_INTERRUPTED, "interrupted");
		if (n > 0) {
			for (unsigned i = 0; i < count; i++)
				fds[i].revents = all[i].revents;
			return FM_OK;
		}
		if (left == 0)
			return fm_fail(FM_ERR_TIMEOUT, "no answer");
	}
}

static int wait_until(pid_t pid, int *status, uint64_t deadline)
{
	for (;;) {
		struct timespec nap = {0, 5 * 1000 * 1000};
		pid_t got = waitpid(pid, status, WNOHANG);

		if (got == pid || (got < 0 && errno != EINTR))
			return 1;
		if (fm_now_ns() >= deadline)
			return 0;
		nanosleep(&nap, NULL);
	}
}

int fm_transport_reap(pid_t pid, uint64_t deadline)
{
	int status = 0;

	if (pid <= 1 || wait_until(pid, &status, deadline))
		return status;
	kill(-pid, SIGTERM);
	kill(pid, SIGTERM);
	if (wait_until(pid, &status, fm_now_ns() + 200 * FM_MS))
		return status;
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	(void)wait_until(pid, &status, fm_now_ns() + 2 * FM_S);
	return status;
}

void fm_transport_child(void)
{
	static const int defaults[] = {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGQUIT};
	sigset_t none;

	setsid();
	for (unsigned i = 0; i < sizeof defaults / sizeof *defaults; i++)
		signal(defaults[i], SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
