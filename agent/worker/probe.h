/* probe.h: tries something that may end in a signal, in a child that may die of it. */
#ifndef FM_WORKER_PROBE_H
#define FM_WORKER_PROBE_H

#include "protocol/error.h"

/* Runs attempt(arg) in a fork with handlers for SIGILL, SIGSEGV and SIGBUS on a stack of their own.
 * FM_OK: it came back, whatever it found. FM_ERR_MISSING: the words are the signal's name. At most
 * 10 seconds. */
FM_CHECK int fm_probe(void (*attempt)(void *arg), void *arg);

#endif
