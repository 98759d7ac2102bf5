/* trial.h: one slot of one cell: its process, and more of them if it was disturbed. */
#ifndef FM_AGENT_TRIAL_H
#define FM_AGENT_TRIAL_H

#include "agent/work.h"

/* Runs what slot `round` of the cell still needs: nothing if the spool has its final process, else
 * attempts until one is accepted, two disturbed ones were replaced, or three in a row were invalid
 * (the cell is failed then). */
FM_CHECK int fm_trial_slot(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell, unsigned round);

/* Has the cell an accepted process? */
bool fm_trial_any(const struct fm_cell_work *cell);

/* Runs the planning process of the cell unless the spool has it, and takes from it what a process
 * costs (process_ns; unchanged if it was invalid). */
FM_CHECK int fm_trial_planning(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell);

#endif
