/* width.h: how wide the core is for us: additions it does in the time of one that waits for the
 * one before it. */
#ifndef FM_WORKER_WIDTH_H
#define FM_WORKER_WIDTH_H

#include <stdint.h>

/* Where two threads share a core they share its adders, so a thread that has a neighbour does fewer
 * independent additions in a cycle, while a chain of dependent ones (one a cycle) hardly slows
 * down. Neither steal nor a context switch nor the clock shows such a neighbour, and the ratio of
 * the two does not depend on the clock. */

/* One look, about 10 us: thousandths of additions per link of the chain (3950 on a core with four
 * adders that is ours alone); -1 where that says nothing. Reads the clock and nothing else. */
int64_t fm_width_probe(void);

/* The real one, behind fm_ops. */
int64_t fm_width_measure(void);

/* Tells what n probes saw as facts: width_low_milli (a tenth of them was lower), width_milli
 * (median), width_high_milli (a tenth was higher); all -1 if n is 0 or one probe is -1. Sorts them.
 */
void fm_width_tell(uint64_t *probes, unsigned n);

#endif
