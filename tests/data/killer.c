/* killer.c: preloaded into the controller: ends it with SIGKILL before the KILL_AT-th call that changes the disk for good.
 * KILL_COUNT names a file that gets the number of such calls of a run that came to its end. With FULL_AT the disk is full from that
 * call on: what needs room fails with ENOSPC, removing does not. Other programs are left alone. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;

static int is_controller(void)
{
	return strcmp(program_invocation_short_name, "fleetmark") == 0;
}

/* Counts a call; true: the disk is full. */
static int count(void)
{
	const char *at = getenv("KILL_AT"), *full = getenv("FULL_AT");
	long call;

	if (!is_controller())
		return 0;
	call = atomic_fetch_add(&calls, 1) + 1;
	if (at != NULL && call == atol(at))
		kill(getpid(), SIGKILL);
	return full != NULL && call >= atol(full);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("KILL_COUNT");
	FILE *f = path == NULL || !is_controller() ? NULL : fopen(path, "w");

	if (f != NULL) {
		fprintf(f, "%ld\n", atomic_load(&calls));
		fclose(f);
	}
}

#define WRAP(name, declared, passed, room)                               \
	int name declared                                                \
	{                                                                \
		static int(*real) declared;                              \
		if (real == NULL)                                        \
			*(void **)&real = dlsym(RTLD_NEXT, #name);       \
		if (count() && (room)) {                                 \
			errno = ENOSPC;                                  \
			return -1;                                       \
		}                                                        \
		return real passed;                                      \
	}

WRAP(fsync, (int fd), (fd), 1)
WRAP(fdatasync, (int fd), (fd), 1)
WRAP(syncfs, (int fd), (fd), 1)
WRAP(ftruncate, (int fd, off_t len), (fd, len), 0)
WRAP(rename, (const char *from, const char *to), (from, to), 1)
WRAP(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to), 1)
WRAP(mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), 1)
WRAP(unlinkat, (int fd, const char *path, int flags), (fd, path, flags), 0)
WRAP(unlink, (const char *path), (path), 0)
