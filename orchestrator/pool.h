/* pool.h: one thread per host, at most so many at a time; signals end them all in an orderly way.
 */
#ifndef FM_POOL_H
#define FM_POOL_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>

/* Runs work(items[i], wake) for every item on its own thread, at most jobs (0: as many as there
 * are, at most 128) at a time, lowered to what open files allow. wake becomes readable at the first
 * SIGINT, SIGTERM or SIGHUP; threads then have 5 s to end. Returns FM_OK, or FM_ERR_INTERRUPTED
 * when there was a signal; items whose thread did not start are left alone. When a thread does not
 * end in time, or at a second signal, the process exits with 130 at once. */
typedef void fm_pool_work(void *item, int wake);
FM_CHECK int fm_pool_run(fm_pool_work *work, void *const *items, size_t count, int jobs);

/* The signal was SIGHUP: hosts go on by themselves, nothing is cancelled. */
bool fm_pool_detached(void);

#endif
