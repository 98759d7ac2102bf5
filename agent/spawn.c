/* spawn.c: starts one child: descriptors, limits, process group and walls between fork and exec. */
#include "agent/spawn.h"
#include "agent/agent.h"
#include "agent/sandbox.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void limit(int what, uint64_t value)
{
	struct rlimit r = {(rlim_t)value, (rlim_t)value};

	if (setrlimit(what, &r) != 0)
		_exit(126);
}

/* Puts the descriptors into place: each is first moved out of the way, then to its number. */
static void place_descriptors(const int from[5])
{
	int high[5];

	for (int i = 0; i < 5; i++) {
		high[i] = from[i] < 0 ? -1 : fcntl(from[i], F_DUPFD_CLOEXEC, 10);
		if (from[i] >= 0 && high[i] < 0)
			_exit(126);
	}
	for (int i = 0; i < 5; i++) {
		if (high[i] < 0)
			close(i);
		else if (dup2(high[i], i) < 0)
			_exit(126);
	}
}

/* The child's side between fork and exec: only system calls. */
static void become(const struct fm_command *what, const int from[5], pid_t parent)
{
	static const char *const nothing[] = {NULL};
	struct sigaction act;
	sigset_t none;

	memset(&act, 0, sizeof act);
	act.sa_handler = SIG_DFL;
	sigaction(SIGPIPE, &act, NULL);
	sigaction(SIGCHLD, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (getppid() != parent)
		_exit(126);
	if (what->cwd >= 0 ? fchdir(what->cwd) != 0 : chdir("/") != 0)
		_exit(126);
	if (what->nice != 0)
		(void)setpriority(PRIO_PROCESS, 0, what->nice);
	limit(RLIMIT_CORE, 0);
	if (what->file_max != 0)
		limit(RLIMIT_FSIZE, what->file_max);
	if (what->memory_max != 0)
		limit(RLIMIT_AS, what->memory_max);
	place_descriptors(from);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (what->readable != NULL || what->writable != NULL)
		fm_sandbox_enter(what->readable, what->writable);
	execve(what->argv[0], (char *const *)(uintptr_t)what->argv,
	        (char *const *)(uintptr_t)(what->env == NULL ? nothing : what->env));
	_exit(127);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int fm_child_start(const struct fm_command *what, struct fm_child *c)
{
	int out[2] = {-1, -1}, result[2] = {-1, -1}, null = -1, rc = FM_ERR_SYSTEM;
	pid_t parent = getpid();

	memset(c, 0, sizeof *c);
	c->out_fd = c->result_fd = -1;
	c->output = FM_BUF_INIT(what->output_max);
	c->results = FM_BUF_INIT(what->results_max);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0 || pipe2(out, O_CLOEXEC) != 0 ||
	        (what->results && pipe2(result, O_CLOEXEC) != 0)) {
		rc = fm_fail_errno("pipes for %s", what->argv[0]);
		goto out;
	}
	c->started_ns = fm_agent_now_ns();
	c->deadline_ns = c->started_ns + what->timeout_ms * 1000000u;
	c->pid = fork();
	if (c->pid == 0) {
		int from[5] = {what->input >= 0 ? what->input : null, out[1], out[1], what->order,
		        result[1]};

		become(what, from, parent);
	}
	if (c->pid < 0) {
		c->pid = 0;
		rc = fm_fail_errno("fork for %s", what->argv[0]);
		goto out;
	}
	setpgid(c->pid, c->pid);
	c->out_fd = out[0];
	c->result_fd = result[0];
	out[0] = result[0] = -1;
	(void)fcntl(c->out_fd, F_SETFL, O_NONBLOCK);
	if (c->result_fd >= 0)
		(void)fcntl(c->result_fd, F_SETFL, O_NONBLOCK);
	rc = FM_OK;
out:
	close_fd(&null);
	close_fd(&out[0]);
	close_fd(&out[1]);
	close_fd(&result[0]);
	close_fd(&result[1]);
	return rc;
}

void fm_child_free(struct fm_child *c)
{
	close_fd(&c->out_fd);
	close_fd(&c->result_fd);
	fm_buf_free(&c->output);
	fm_buf_free(&c->results);
}

bool fm_child_good(const struct fm_child *c, char *text, size_t size)
{
	if (c->killed == FM_CHILD_TIMEOUT)
		snprintf(text, size, "killed after %llu s",
		        (unsigned long long)(c->elapsed_ns / 1000000000u));
	else if (c->killed == FM_CHILD_FLOOD)
		snprintf(text, size, "wrote more than it may");
	else if (WIFSIGNALED(c->status))
		snprintf(text, size, "died of signal %d", WTERMSIG(c->status));
	else if (WEXITSTATUS(c->status) != 0)
		snprintf(text, size, "ended with status %d", WEXITSTATUS(c->status));
	else
		return true;
	return false;
}

char *fm_child_find(const char *program)
{
	static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};

	for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
		char *path = fm_sprintf("%s/%s", folders[i], program);

		if (path != NULL && access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}
