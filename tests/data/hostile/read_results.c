/* read_results.c: wants what other candidates measured, and what the host has of the campaign. */
#include "hostile.h"

static int can_list(const char *path)
{
	DIR *dir = opendir(path);

	if (dir == NULL)
		return 0;
	closedir(dir);
	return 1;
}

static int attempt(void)
{
	int fd = open(WORK "/controller.pub", O_RDONLY);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || can_list(WORK) || can_list(WORK "/jobs") || can_list(WORK "/src") || can_list("/proc") ||
	       truncate(WORK "/controller.pub", 0) == 0 || unlink(WORK "/jobs/none") == 0 ||
	       rename(WORK "/key.pub", WORK "/key.gone") == 0;
}
