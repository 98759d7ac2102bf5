/* selftest.h: the task selftest, and the 1 GiB message of KAT_2_33, made once per host. */
#ifndef FM_WORKER_SELFTEST_H
#define FM_WORKER_SELFTEST_H

#include "agent/worker/order.h"

/* The task: ends the process. */
_Noreturn void fm_selftest_run(const struct fm_order *o);

/* Maps the message read-only: from path, whose SHA-256 is checked first, or (path NULL) made in
 * memory. FM_ERR_MEMORY when the host has less free than the gate needs. Stays mapped until the
 * process ends. */
FM_CHECK int fm_selftest_map_message(const char *path, const unsigned char **out);

#endif
