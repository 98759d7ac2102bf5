/* crash.h: turns a fatal signal of measured code into result lines, on a stack of its own. */
#ifndef FM_WORKER_CRASH_H
#define FM_WORKER_CRASH_H

#include "protocol/error.h"
#include <stdbool.h>

/* Installs the handlers for SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT and SIGSYS on an
 * alternate stack: fact signal N, then, when in_gate, status CRASH (OVERFLOW if the address lies in
 * a guard page of fm_buffer), then end fail signal. SIGALRM becomes status TIMEOUT and end fail
 * time_limit. The parent must still judge by wait status: measured code can undo all this. */
FM_CHECK int fm_crash_install(int in_gate);

/* mend is asked first, in the handler, when an access at address failed: true means that it can be
 * tried again. */
void fm_crash_watch(bool (*mend)(const void *address));

/* Starts the limit of one file anew; 0 ends it. */
void fm_crash_limit(unsigned seconds);

#endif
