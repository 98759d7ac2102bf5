/* judge.h: whether a measured process stands, by evidence outside its counts. */
#ifndef FM_AGENT_JUDGE_H
#define FM_AGENT_JUDGE_H

#include "agent/work.h"

/* What the agent knows beside the worker's own facts. */
struct fm_judge_facts {
	unsigned attempt, most; /* of this slot, from 1; a disturbed one below most is replaced */
	int64_t throttled;      /* times the CPU quota stopped our cgroup meanwhile, -1 unknown */
	int64_t clock_hz;       /* the core's clock as checked, 0 or -1 unknown */
	bool core_cycles;       /* what the counts are */
	int64_t width_milli;    /* the most this core was seen to do at once, 0 or -1 unknown */
};

/* Sets state and reason of p, whose columns hold the worker's facts. Claims of more time than there
 * was make it invalid with reason impossible: its windows are not to be kept. */
void fm_judge(const struct fm_child *child, const struct fm_run *run,
        const struct fm_judge_facts *facts, struct fm_process *p);

/* NULL, or why a call cannot have been so short: fewer than 20 core cycles or 4 ns, or than 0.3
 * core cycles or 0.06 ns per byte. text: at least 100 bytes. */
const char *fm_judge_floor(
        const struct fm_process *p, unsigned bytes, bool core_cycles, char *text, size_t size);

#endif
