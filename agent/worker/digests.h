/* digests.h: the task digest: what the timed messages hash to, and how long a call takes. */
#ifndef FM_WORKER_DIGESTS_H
#define FM_WORKER_DIGESTS_H

#include "agent/worker/operation.h"

#define FM_DIGESTS_BATCH_NS 20000 /* below this a single reading of the clock says little */

/* The task: ends the process. */
_Noreturn void fm_digests_run(const struct fm_order *o);

/* Doubles *calls until that many take at least 20 us; returns the ns of the last batch. *bad
 * collects return codes. */
uint64_t fm_digests_batch(struct fm_operation *op, uint64_t *calls, int *bad);

#endif
