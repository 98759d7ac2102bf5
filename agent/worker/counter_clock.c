/* counter_clock.c: wall time as the last source: always there, label ns. */
#include "agent/worker/counter.h"

#include "agent/worker/clock.h"

static int open_clock(struct fm_counter *c, int cpu)
{
	(void)cpu;
	c->hz = 1000000000;
	return FM_OK;
}

static int read_clock(struct fm_counter *c, uint64_t *value)
{
	(void)c;
	*value = fm_clock_ns();
	return FM_OK;
}

const struct fm_counter_source fm_counter_clock = {
        "clock", FM_LABEL_NS, open_clock, read_clock, NULL, NULL};
