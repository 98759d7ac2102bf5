/* stack.h: a painted stack that tells how deep a function wrote.
 *
 * Reserved address space of FM_STACK_MOST between two guard pages; its upper part can be written
 * and holds a pattern. A write below that part makes it twice as long, as often as it takes. */
#ifndef FM_WEIGH_STACK_H
#define FM_WEIGH_STACK_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>

#define FM_STACK_FIRST ((size_t)1 << 20)
#define FM_STACK_MOST  ((size_t)1 << 30)

/* region: bytes at the beginning, whole pages, at most FM_STACK_MOST. Once per process. */
FM_CHECK int fm_stack_open(size_t region);

/* Calls function(arg) on the stack twice, painted with a pattern and with its complement: the bytes
 * from the top down to the lowest one that either call changed. */
size_t fm_stack_run(void (*function)(void *), void *arg);

/* Bytes that can be written now. */
size_t fm_stack_region(void);

/* For fm_crash_watch: an access just below the region makes it longer, and the access can be tried
 * again. */
bool fm_stack_mend(const void *address);

#endif
