/* crash.c: turns a fatal signal of measured code into result lines, on a stack of its own. */
#include "agent/worker/crash.h"

#include "agent/worker/buffer.h"
#include "agent/worker/result.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static unsigned char handler_stack[1u << 16];
static volatile sig_atomic_t gate;
static bool (*mends)(const void *);

static void fact_signal(int number)
{
	char text[] = "fact signal 00\n";

	text[12] = (char)('0' + number / 10 % 10);
	text[13] = (char)('0' + number % 10);
	fm_result_raw(number < 10 ? "fact signal " : text);
	if (number < 10)
		fm_result_raw((char[]){(char)('0' + number), '\n', '\0'});
}

static void on_fatal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (mends != NULL && (number == SIGSEGV || number == SIGBUS) && mends(info->si_addr))
		return;
	if (gate != 0)
		fm_result_raw(
		        (number == SIGSEGV || number == SIGBUS) && fm_buffer_guards(info->si_addr)
		                ? "status OVERFLOW\n"
		                : "status CRASH\n");
	fact_signal(number);
	fm_result_raw("end fail signal\n");
	fm_result_exit(1);
}

static void on_alarm(int number)
{
	(void)number;
	if (gate != 0)
		fm_result_raw("status TIMEOUT\n");
	fm_result_raw("end fail time_limit\n");
	fm_result_exit(1);
}

int fm_crash_install(int in_gate)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS};
	stack_t stack = {.ss_sp = handler_stack, .ss_size = sizeof handler_stack};
	struct sigaction action;
	sigset_t none;

	gate = in_gate;
	memset(&action, 0, sizeof action);
	sigfillset(&action.sa_mask);
	action.sa_flags = SA_SIGINFO | SA_ONSTACK;
	action.sa_sigaction = on_fatal;
	if (sigaltstack(&stack, NULL) != 0)
		return fm_fail_errno("sigaltstack");
	for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
		if (sigaction(fatal[i], &action, NULL) != 0)
			return fm_fail_errno("sigaction %d", fatal[i]);
	action.sa_flags = SA_ONSTACK;
	action.sa_handler = on_alarm;
	if (sigaction(SIGALRM, &action, NULL) != 0)
		return fm_fail_errno("sigaction SIGALRM");
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) != 0)
		return fm_fail_errno("sigprocmask");
	return FM_OK;
}

void fm_crash_watch(bool (*mend)(const void *))
{
	mends = mend;
}

void fm_crash_limit(unsigned seconds)
{
	alarm(seconds);
}
