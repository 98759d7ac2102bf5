/* clock.h: wall time, and the addition chain whose cost in core cycles is known. */
#ifndef FM_WORKER_CLOCK_H
#define FM_WORKER_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC_RAW in ns. */
uint64_t fm_clock_ns(void);

/* ns since the process called fm_clock_begin. */
void fm_clock_begin(void);
uint64_t fm_clock_elapsed(void);

#define FM_CHAIN_UNROLL 256

/* rounds x 256 dependent register-to-register additions: as many core cycles, on every core we
 * know. */
void fm_clock_chain(uint64_t rounds);

/* sorts values (n >= 1) and returns quantile p of them in permille, type 7 with integers: the lower
 * neighbour. */
uint64_t fm_clock_quantile(uint64_t *values, unsigned n, unsigned permille);

#endif
