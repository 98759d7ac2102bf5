/* fake.h: counters and clocks of a made-up machine. Only in builds with FLEETMARK_TESTING. */
#ifndef FM_WORKER_FAKE_H
#define FM_WORKER_FAKE_H

#ifdef FLEETMARK_TESTING
#include "agent/worker/host.h"
#include "agent/worker/order.h"

struct perf_event_attr;

/* Puts the process's world in the place of the real counters and clocks, its time at 0. The order
 * (NULL: none) names what is timed and says how many processes came before. */
void fm_fake_begin(const struct fm_order *o);

/* As in the windows of process number turn (from 0): what the world plays per process shows. */
void fm_fake_windows(uint64_t turn);

/* The real ones again. */
void fm_fake_end(void);

/* How often an event was opened, and what was asked for last. */
unsigned fm_fake_opened(struct perf_event_attr *last);

/* False without a fake; else what fm_host_moment would read. */
bool fm_fake_moment(const struct fm_host *h, bool slow, struct fm_moment *m);
#endif

#endif
