/* profile.h: what a profile asks of one cell: processes, calls, windows, and the time that takes
 * (guide: smoke, guide, rigorous). */
#ifndef FM_AGENT_PROFILE_H
#define FM_AGENT_PROFILE_H

#include "agent/work.h"

#define FM_PROFILE_BUDGET_NS 900000000000ull /* of one cell */
#define FM_PROFILE_LOOKS     20u /* first look, and the least processes of a full cell */
#define FM_PROFILE_MOST      60u

/* What the planning process of a cell does: as much as one of profile rigorous. */
void fm_profile_planning(struct fm_cell_work *cell);

/* From t1_ns and, if a planning process told it, process_ns (0: unknown): processes, most, windows,
 * calls, min_ns, warm, few_calls; process_ns is then what one process will take. */
void fm_profile_plan(const struct fm_job *j, struct fm_cell_work *cell);

/* What the cell will take in all, if it is done with its least processes. */
uint64_t fm_profile_cost_ns(const struct fm_cell_work *cell);

/* What a cell may use before it is closed as it is. */
uint64_t fm_profile_budget_ns(const struct fm_job *j);

#endif
