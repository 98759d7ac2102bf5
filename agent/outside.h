/* outside.h: what the machine did while a process ran: heat and quota, read by the agent itself. */
#ifndef FM_AGENT_OUTSIDE_H
#define FM_AGENT_OUTSIDE_H

#include <stdint.h>

/* -1: cannot be read here. */
struct fm_outside {
	int64_t throttle;  /* times this core or its package was throttled by heat */
	int64_t cooling;   /* sum of the states of the cooling devices that hold processors back */
	int64_t throttled; /* times the quota stopped our cgroup */
	int64_t temp_mc;   /* thousandths of a degree Celsius */
};

/* The cooling alone. */
int64_t fm_outside_cooling(void);

void fm_outside_read(int cpu, struct fm_outside *out);

/* after - before, -1 if either is unknown. */
int64_t fm_outside_since(int64_t before, int64_t after);

#endif
