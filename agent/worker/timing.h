/* timing.h: the task time: one process gives one sample of one cell. */
#ifndef FM_WORKER_TIMING_H
#define FM_WORKER_TIMING_H

#include "agent/worker/order.h"

/* The task: ends the process. */
_Noreturn void fm_timing_run(const struct fm_order *o);

/* splitmix64: the next number of the stream with this state. Offsets and window sizes come from it.
 */
uint64_t fm_timing_random(uint64_t *state);

/* Distributes calls over windows: at most `most` (1..FM_ORDER_WINDOWS_MAX) windows of at least
 * `least` calls; total is raised to one window if it is less. The sizes add up to the total exactly
 * and, above 10 calls a window, differ at random by up to 20 %. Returns the number of windows. */
unsigned fm_timing_sizes(uint64_t seed, uint64_t total, uint64_t least, unsigned most,
        uint64_t sizes[FM_ORDER_WINDOWS_MAX]);

#endif
