/* weigh.h: the task memory: what one operation needs of stack, heap and process. */
#ifndef FM_WEIGH_WEIGH_H
#define FM_WEIGH_WEIGH_H

#include "agent/worker/order.h"

/* The task: ends the process. */
_Noreturn void fm_weigh_run(const struct fm_order *o);

#endif
