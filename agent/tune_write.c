/* tune_write.c: writes a setting of the kernel, where it must be by sudo, which gets no terminal,
 * no password and ten seconds. */
#include "agent/tune_write.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SUDO "/usr/bin/sudo"

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void run_tee(const char *path, int in, int said)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || setsid() < 0 || dup2(in, 0) < 0 || dup2(null, 1) < 0 || dup2(said, 2) < 0)
		_exit(126);
	execl(SUDO, "sudo", "-n", "/usr/bin/tee", path, (char *)NULL);
	dprintf(2, SUDO ": %s\n", strerror(errno));
	_exit(127);
}

/* The first line that comes, until the other end is closed; false at the deadline. */
static bool listen_to(int fd, struct fm_tune_sudo *s)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	size_t len = 0;
	char bytes[512];

	for (;;) {
		long long left = s->until_ms - now_ms();
		ssize_t n;

		if (left <= 0 || (n = poll(&p, 1, (int)left)) == 0)
			return false;
		if (n > 0 && (n = read(fd, bytes, sizeof bytes)) == 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		for (ssize_t i = 0; i < n && len + 1 < sizeof s->said && bytes[i] != '\n'; i++)
			s->said[len++] = bytes[i] >= ' ' && bytes[i] < 127 ? bytes[i] : '?';
		if (n > 0 && len + 1 < sizeof s->said && memchr(bytes, '\n', (size_t)n) != NULL)
			len = sizeof s->said - 1; /* a second line is not kept */
	}
}

/* True when it ended with 0. One that runs as root cannot be killed by us: it is left alone. */
static bool ended_well(pid_t pid, bool in_time, struct fm_tune_sudo *s)
{
	int status = -1;
	pid_t done = 0;

	if (!in_time)
		kill(-pid, SIGKILL);
	while ((done = waitpid(pid, &status, WNOHANG)) == 0 && in_time && now_ms() < s->until_ms)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	if (!in_time || done == 0)
		snprintf(s->said, sizeof s->said, "did not end within %d s", FM_TUNE_SUDO_S);
	return done == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool write_as_root(const char *path, const char *line, size_t len, struct fm_tune_sudo *s)
{
	int in[2] = {-1, -1}, said[2] = {-1, -1};
	bool good = false;
	pid_t pid = -1;

	if (geteuid() == 0 || s->refused)
		return false;
	if (s->until_ms == 0)
		s->until_ms = now_ms() + FM_TUNE_SUDO_S * 1000;
	memset(s->said, 0, sizeof s->said);
	if (pipe2(in, O_CLOEXEC) != 0 || pipe2(said, O_CLOEXEC) != 0)
		goto out;
	if ((pid = fork()) == 0)
		run_tee(path, in[0], said[1]);
	if (pid < 0 || write(in[1], line, len) != (ssize_t)len)
		goto out;
	close(in[1]);
	close(said[1]);
	in[1] = said[1] = -1;
	good = ended_well(pid, listen_to(said[0], s), s);
out:
	s->refused = !good;
	for (int i = 0; i < 2; i++) {
		if (in[i] >= 0)
			close(in[i]);
		if (said[i] >= 0)
			close(said[i]);
	}
	return good;
}

bool fm_tune_write(const char *path, const char *value, struct fm_tune_sudo *sudo)
{
	char line[512];
	int len = snprintf(line, sizeof line, "%s\n", value), fd;
	bool good;

	if (len < 0 || (size_t)len >= sizeof line)
		return false;
	if ((fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC)) < 0)
		return (errno == EACCES || errno == EPERM) &&
		       write_as_root(path, line, (size_t)len, sudo);
	good = write(fd, line, (size_t)len) == len;
	return close(fd) == 0 && good;
}
