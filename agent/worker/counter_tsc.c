/* counter_tsc.c: ticks of the x86-64 time stamp counter: a constant clock, never cycles of the
 * core. */
#include "agent/worker/counter.h"

#if defined(__x86_64__)
#include "agent/worker/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The word stands in the first "flags" line of /proc/cpuinfo. */
static bool has_flag(const char *text, const char *word)
{
	const char *line = strstr(text, "\nflags"), *end, *at;
	const size_t len = strlen(word);

	if (line == NULL)
		return false;
	end = strchr(line + 1, '\n');
	for (at = strstr(line, word); at != NULL && (end == NULL || at < end);
	        at = strstr(at + 1, word))
		if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n' || at[len] == '\0'))
			return true;
	return false;
}

static int open_tsc(struct fm_counter *c, int cpu)
{
	char text[8192];
	int rc;

	(void)c;
	(void)cpu;
	if ((rc = fm_host_read("/proc/cpuinfo", text, sizeof text)) != FM_OK)
		return rc;
	if (!has_flag(text, "constant_tsc") || !has_flag(text, "nonstop_tsc"))
		return fm_fail(
		        FM_ERR_MISSING, "/proc/cpuinfo has not both constant_tsc and nonstop_tsc");
	return FM_OK;
}

static int read_tsc(struct fm_counter *c, uint64_t *value)
{
	uint32_t low, high;

	(void)c;
	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	*value = (uint64_t)high << 32 | low;
	return FM_OK;
}

const struct fm_counter_ops fm_counter_tsc = {
        "tsc", FM_LABEL_REF_TICKS, open_tsc, read_tsc, NULL, NULL};
#else
typedef int fm_counter_tsc_is_x86; /* ISO C wants a declaration in every file */
#endif
