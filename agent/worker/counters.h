/* counters.h: the tasks counters and clock: which counter this CPU offers, and how fast its clocks
 * run. */
#ifndef FM_WORKER_COUNTERS_H
#define FM_WORKER_COUNTERS_H

#include "agent/worker/counter.h"
#include "agent/worker/order.h"

#define FM_COUNTERS_CHAIN 1000000 /* additions of one run of the truth test */

/* The tasks: both end the process. */
_Noreturn void fm_counters_run(const struct fm_order *o);
_Noreturn void fm_counters_clock_run(const struct fm_order *o);

/* The facts of a counter: label, source, scope, pmu, hz, resolution, read_pair_milli,
 * truth_permille. */
void fm_counters_tell(const struct fm_counter *c);

#endif
