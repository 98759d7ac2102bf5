/* heap.h: the allocator functions of this program: what measured code asks for is counted and
 * handed on to libc's.
 *
 * heap.c defines and exports malloc, calloc, realloc, free, aligned_alloc, posix_memalign,
 * memalign, valloc and pvalloc: the loader binds them before libc's, so no LD_PRELOAD is needed.
 * For one thread, as measured code has no other. */
#ifndef FM_WEIGH_HEAP_H
#define FM_WEIGH_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Over everything counted so far. Bytes as asked for, and as malloc_usable_size has them. A block
 * that was made while nothing was counted never enters. */
struct fm_heap {
	uint64_t requested, usable; /* of the blocks that live now */
	uint64_t requested_peak, usable_peak;
	uint64_t allocs;
	bool lost; /* more than FM_HEAP_BLOCKS lived at once: the sums are too small */
};
#define FM_HEAP_BLOCKS 12288

/* Finds libc's functions and touches the table, so that counting needs no new page. */
void fm_heap_start(void);

/* Counts from here on, or no longer. */
void fm_heap_count(bool on);

const struct fm_heap *fm_heap_now(void);

/* Usable bytes of the counted blocks that live in begin..end, each with its header, in whole pages
 * as libc maps large ones. */
uint64_t fm_heap_mapped(uintptr_t begin, uintptr_t end);

#endif
