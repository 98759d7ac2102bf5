/* gate_order.h: orders and time limits of what runs before anything is timed. */
#ifndef FM_AGENT_GATE_ORDER_H
#define FM_AGENT_GATE_ORDER_H

#include "agent/work.h"

#define FM_GATE_MESSAGE "message_2_33" /* below the work folder: 1 GiB, made once per host */

/* One worker process of the gate. */
enum fm_gate_kind {
	FM_GATE_PACE,   /* how long a call takes: limits come from it */
	FM_GATE_KAT,    /* the known answers */
	FM_GATE_SOUND,  /* properties beyond them */
	FM_GATE_MEMORY, /* stack, heap and process of one cell, by fleetmark-weigh */
};
struct fm_gate_task {
	enum fm_gate_kind kind;
	struct fm_candidate_work *candidate;
	struct fm_unit *unit;
	struct fm_cell_work *cell; /* of FM_GATE_MEMORY */
};

/* Seconds that so many calls over so many bytes together may take: 20 times what the unit's pace
 * promises and a floor for starting under load; never more than the profile's most. */
unsigned fm_gate_seconds(
        const struct fm_job *j, const struct fm_unit *u, uint64_t calls, uint64_t bytes);

/* The whole order (job text), and the ms after which the agent ends the process itself. */
FM_CHECK int fm_gate_order(const struct fm_job *j, const struct fm_gate_task *t, int cpu,
        struct fm_buf *order, uint64_t *limit_ms);

/* Whether KAT_2_33 is to be made for this unit. */
bool fm_gate_long(const struct fm_job *j, const struct fm_unit *u);

/* The generators once per job, and where KAT_2_33 is wanted its message once per host. Without the
 * room for it j->no_message says so. */
FM_CHECK int fm_gate_prepare(struct fm_job *j);

#endif
