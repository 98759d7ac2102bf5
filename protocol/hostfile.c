/* hostfile.c: the one reader of /proc and /sys, for the agent and the worker. */
#include "protocol/hostfile.h"

#include "protocol/world.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where the file really is; -1 and errno when the name is too long. */
static int place(const char *path, char full[4096])
{
	const char *root = "";
	int n;

#ifdef FLEETMARK_TESTING
	if (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0)
		root = fm_world_root();
#endif
	n = snprintf(full, 4096, "%s%s", root, path);

	if (n > 0 && n < 4096)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

int fm_hostfile_open(const char *path)
{
	char full[4096];

	return place(path, full) != 0 ? -1 : open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

DIR *fm_hostfile_dir(const char *path)
{
	char full[4096];

	return place(path, full) != 0 ? NULL : opendir(full);
}

int fm_hostfile_read(const char *path, char *out, size_t size)
{
	size_t used = 0;
	ssize_t n = 0;
	int fd, error;

	out[0] = '\0';
#ifdef FLEETMARK_TESTING
	if (fm_world_reading(path, out, size))
		return (int)strlen(out);
#endif
	if ((fd = fm_hostfile_open(path)) < 0)
		return -1;
	while (used < size - 1 && (n = read(fd, out + used, size - 1 - used)) > 0)
		used += (size_t)n;
	error = errno;
	close(fd);
	errno = error;
	out[used] = '\0';
	return n < 0 && used == 0 ? -1 : (int)used;
}
