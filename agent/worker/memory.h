/* memory.h: the task memory: resident memory of this process before and after one call. */
#ifndef FM_WORKER_MEMORY_H
#define FM_WORKER_MEMORY_H

#include "agent/worker/order.h"

/* The task: ends the process. */
_Noreturn void fm_memory_run(const struct fm_order *o);

#endif
