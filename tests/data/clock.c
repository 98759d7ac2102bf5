/* clock.c: preloaded (on a test host through /etc/ld.so.preload): the wall clock is wrong by the seconds in the file $CLOCK_OFFSET,
 * or in /etc/clock-offset. The monotonic clocks stay as they are. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset(void)
{
	long seconds = 0;
	const char *path = getenv("CLOCK_OFFSET");
	FILE *f = fopen(path != NULL ? path : "/etc/clock-offset", "r");

	if (f != NULL && fscanf(f, "%ld", &seconds) != 1)
		seconds = 0;
	if (f != NULL)
		fclose(f);
	return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, t);

	if (rc == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		t->tv_sec += offset();
	return rc;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *out)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	if (out != NULL)
		*out = now.tv_sec;
	return now.tv_sec;
}
