/* hostcheck_parts.h: what the files of the host checks share; for hostcheck*.c only. */
#ifndef FM_AGENT_HOSTCHECK_PARTS_H
#define FM_AGENT_HOSTCHECK_PARTS_H

#include "agent/hostcheck.h"

/* One more check; good: 1 ok, 0 bad, -1 unknown. */
void fm_hostcheck_add(struct fm_checks *out, const char *check, const char *severity, int good,
        const char *value, const char *source);

/* hostcheck_beside.c: the thread that shares the measured core and what it has done so far; into
 * counter, before the counter is chosen. */
void fm_hostcheck_beside_begin(int cpu, struct fm_counter *counter);

/* Lanes, instruction sets, work of the sibling since then, pressure, cooling, clock source, and who
 * may read a counter. */
void fm_hostcheck_beside(int cpu, const struct fm_counter *counter, struct fm_checks *out);

#endif
