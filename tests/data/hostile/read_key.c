/* read_key.c: wants the agent's key: by its name, through /proc, through the agent's folder, by making it readable. */
#include "hostile.h"

static int can_read(int dir, const char *path)
{
	char text[65];
	int fd = openat(dir, path, O_RDONLY), got;

	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof text) > 0;
	close(fd);
	return got;
}

static int attempt(void)
{
	char path[300];
	int dir = open(WORK, O_PATH), got = 0;

	snprintf(path, sizeof path, "/proc/%d/root" WORK "/key", (int)getppid());
	got |= can_read(AT_FDCWD, WORK "/key");
	got |= can_read(AT_FDCWD, "/proc/self/root" WORK "/key");
	got |= can_read(AT_FDCWD, path);
	if (dir >= 0) {
		got |= can_read(dir, "key");
		close(dir);
	}
	got |= chmod(WORK "/key", 0600) == 0;
	got |= link(WORK "/key", "/tmp/fleetmark-hostile-key") == 0;
	return got;
}
