/* seal_check.c: the signature and digest part of `fleetmark verify` alone, for timing: seal_check
 * TREE CONTROLLER.pub; or what a command takes: seal_check --run COMMAND... Prints seconds of wall
 * clock, user and system time, and the peak of resident memory in KiB. */
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double seconds(const struct timeval *t)
{
	return (double)t->tv_sec + (double)t->tv_usec / 1e6;
}

static void print(double wall, int who)
{
	struct rusage r;

	(void)getrusage(who, &r);
	(void)fprintf(stderr, "%.3f %.3f %.3f %ld\n", wall, seconds(&r.ru_utime),
	        seconds(&r.ru_stime), r.ru_maxrss);
}

static int run(char **argv)
{
	double start = now();
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		(void)execvp(argv[0], argv);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	print(now() - start, RUSAGE_CHILDREN);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

int main(int argc, char **argv)
{
	struct fm_buf line = FM_BUF_INIT(1024);
	struct fm_public anchor;
	double start = now();
	char hex[65];
	int dirfd = -1, rc;

	if (argc > 2 && strcmp(argv[1], "--run") == 0)
		return run(argv + 2);
	if (argc != 3) {
		(void)fprintf(stderr, "usage: seal_check TREE CONTROLLER.pub | --run COMMAND...\n");
		return 2;
	}
	if ((rc = fm_crypto_init()) == FM_OK &&
	        (rc = fm_fs_read(AT_FDCWD, argv[2], 1024, &line)) == FM_OK && line.len > 0) {
		line.data[strcspn(line.data, "\n")] = '\0';
		rc = fm_public_parse(line.data, &anchor);
	}
	if (rc == FM_OK && (rc = fm_fs_dir(AT_FDCWD, argv[1], &dirfd)) == FM_OK)
		rc = fm_seal_check(dirfd, FM_SEAL_TREE, &anchor, hex, NULL);
	if (rc != FM_OK)
		(void)fprintf(stderr, "%s\n", fm_error_text());
	print(now() - start, RUSAGE_SELF);
	fm_buf_free(&line);
	if (dirfd >= 0)
		(void)close(dirfd);
	return rc == FM_OK ? 0 : 1;
}
