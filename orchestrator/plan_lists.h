/* plan_lists.h: the lists beside plan.json: sources, known answers, vectors. */
#ifndef FM_PLAN_LISTS_H
#define FM_PLAN_LISTS_H

#include "orchestrator/plan.h"

/* Fills sources, kat lines and vectors of a plan just read, and checks them against its digests and
 * counts. */
FM_CHECK int fm_plan_read_lists(int dirfd, struct fm_plan *p);

#endif
