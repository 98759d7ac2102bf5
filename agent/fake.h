/* fake.h: the agent's side of a made-up machine. Only in builds with FLEETMARK_TESTING. */
#ifndef FM_AGENT_FAKE_H
#define FM_AGENT_FAKE_H

#ifdef FLEETMARK_TESTING
#include "agent/runner.h"

/* The orders of this agent name the world at path (absolute; kept) from now on. */
FM_CHECK int fm_fake_use(const char *path);

/* How many processes were timed before the next one, of all cells and of its own. */
void fm_fake_turn(uint64_t turn, uint64_t cell_turn);

/* The keys of the world for an order, nothing without one. */
FM_CHECK int fm_fake_order(struct fm_buf *order);

/* Gives the ended child the time that its world says it took. */
void fm_fake_child(const struct fm_run *run, struct fm_child *c);

/* With a world: time that its children took so far. False: time is real. */
bool fm_fake_clock(uint64_t *ns);
#endif

#endif
