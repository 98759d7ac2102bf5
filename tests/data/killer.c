/* killer.c: preloaded into the controller: ends it with SIGKILL before the KILL_AT-th call that changes the disk for good.
 * KILL_COUNT names a file that gets the number of such calls of a run that came to its end. Other programs are left alone. */
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

static void count(void)
{
	const char *at = getenv("KILL_AT");

	if (is_controller() && atomic_fetch_add(&calls, 1) + 1 == (at == NULL ? -1 : atol(at)))
		kill(getpid(), SIGKILL);
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

#define WRAP(name, declared, passed)                                     \
	int name declared                                                \
	{                                                                \
		static int(*real) declared;                              \
		if (real == NULL)                                        \
			*(void **)&real = dlsym(RTLD_NEXT, #name);       \
		count();                                                 \
		return real passed;                                      \
	}

WRAP(fsync, (int fd), (fd))
WRAP(fdatasync, (int fd), (fd))
WRAP(ftruncate, (int fd, off_t len), (fd, len))
WRAP(rename, (const char *from, const char *to), (from, to))
WRAP(renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
WRAP(mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP(unlinkat, (int fd, const char *path, int flags), (fd, path, flags))
WRAP(unlink, (const char *path), (path))
