/* write_outside.c: wants to leave something behind, where others find it. */
#include "hostile.h"

static int can_write(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		return 0;
	close(fd);
	unlink(path);
	return 1;
}

static int attempt(void)
{
	return can_write(WORK "/hostile-was-here") || can_write("/tmp/hostile-was-here") ||
	       can_write("/dev/shm/hostile-was-here") || can_write("/var/tmp/hostile-was-here") ||
	       can_write("hostile-was-here") || mkdir("/tmp/hostile-folder", 0700) == 0 ||
	       symlink("/etc/passwd", "/tmp/hostile-link") == 0;
}
