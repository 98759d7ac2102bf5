/* gate_judge.h: the status of one gate process. */
#ifndef FM_AGENT_GATE_JUDGE_H
#define FM_AGENT_GATE_JUDGE_H

#include "agent/work.h"

/* Sets kat_status, kat_reason and kat_missing of the unit from how its worker ended (which decides)
 * and what it said. */
void fm_gate_judge(struct fm_unit *u, const struct fm_child *child, const struct fm_run *run);

#endif
