/* outlive.c: wants to run on when the job is over: forks twice, leaves session and group, ignores TERM. */
#include "hostile.h"

static int attempt(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return syscall(435 /* clone3 */, NULL, 0) >= 0 || setsid() >= 0;
	if (pid == 0) {
		signal(SIGTERM, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		setsid();
		if (fork() != 0)
			_exit(0);
		prctl(PR_SET_PDEATHSIG, 0);
		prctl(PR_SET_NAME, "hostile-lives");
		for (int fd = 0; fd < 64; fd++)
			close(fd);
		for (int i = 0; i < 600; i++)
			usleep(500000);
		_exit(0);
	}
	return 1;
}
