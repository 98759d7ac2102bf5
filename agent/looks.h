/* looks.h: whether the processes of a cell are enough: asked at 20, 30, 40, 50 and 60 of them,
 * never in between, for that would bend the interval. */
#ifndef FM_AGENT_LOOKS_H
#define FM_AGENT_LOOKS_H

#include "agent/work.h"

struct fm_look {
	unsigned n;        /* accepted processes */
	double mean;       /* of their means, counts (ns without a counter) per call */
	double half_width; /* of its 95 % interval, relative; -1: fewer than two */
	bool bimodal;      /* two groups of processes: their interval says less than it seems */
	unsigned needed;   /* processes that the spread seen asks for, 0 unknown */
};

/* True when a look is due after this round. */
bool fm_look_due(unsigned round);

/* FM_ERR_MEMORY only. */
FM_CHECK int fm_look_take(const struct fm_cell_work *cell, struct fm_look *out);

/* The stop word ("target", "cap"), NULL to go on. */
const char *fm_look_stop(const struct fm_look *look, unsigned round);

#endif
