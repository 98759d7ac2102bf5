/* rounds.h: the order in which the processes of a candidate run. */
#ifndef FM_AGENT_ROUNDS_H
#define FM_AGENT_ROUNDS_H

#include "agent/work.h"

/* Random complete blocks: round r runs one process of every open cell in a fresh permutation from
 * order_seed; after a round in which a look is due, cells that have enough leave. Goes on where the
 * spool ends: finished processes count, and the same seed gives the same orders. */
FM_CHECK int fm_rounds_blocks(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t count);

/* Cheapest cell first, its processes in a row. Sorts cells. */
FM_CHECK int fm_rounds_in_a_row(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t count);

/* Whether a cell of n processes, n < 20, has one in this round: they are spread over the first 20.
 */
bool fm_rounds_joins(unsigned n, unsigned round);

#endif
