/* probe.c: tries something that may end in a signal, in a child that may die of it. */
#include "agent/worker/probe.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S     10
#define STATUS_BASE 64 /* exit status STATUS_BASE + signal */

static unsigned char child_stack[1u << 16];

static void on_signal(int number)
{
	_exit(STATUS_BASE + number);
}

_Noreturn static void run_child(void (*attempt)(void *arg), void *arg)
{
	static const int caught[] = {SIGILL, SIGSEGV, SIGBUS};
	stack_t stack = {.ss_sp = child_stack, .ss_size = sizeof child_stack};
	struct sigaction action;

	memset(&action, 0, sizeof action);
	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK;
	if (sigaltstack(&stack, NULL) != 0)
		_exit(1);
	for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++)
		if (sigaction(caught[i], &action, NULL) != 0)
			_exit(1);
	signal(SIGALRM, SIG_DFL);
	alarm(LIMIT_S);
	attempt(arg);
	_exit(0);
}

static int say_signal(int number)
{
	static const struct {
		int number;
		const char *name;
	} names[] = {{SIGILL, "SIGILL"}, {SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"}};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (names[i].number == number)
			return fm_fail(FM_ERR_MISSING, "%s", names[i].name);
	return fm_fail(FM_ERR_MISSING, "signal %d", number);
}

int fm_probe(void (*attempt)(void *arg), void *arg)
{
	int status = 0;
	pid_t child = fork();

	if (child < 0)
		return fm_fail_errno("fork for a probe");
	if (child == 0)
		run_child(attempt, arg);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return fm_fail_errno("waiting for a probe");
	if (WIFSIGNALED(status))
		return say_signal(WTERMSIG(status));
	if (WEXITSTATUS(status) > STATUS_BASE)
		return say_signal(WEXITSTATUS(status) - STATUS_BASE);
	if (WEXITSTATUS(status) != 0)
		return fm_fail(FM_ERR_SYSTEM, "the probe could not start");
	return FM_OK;
}
