/* clockcheck.h: the checks of the core clock of one candidate: at its start, now and then between
 * rounds, at its end. */
#ifndef FM_AGENT_CLOCKCHECK_H
#define FM_AGENT_CLOCKCHECK_H

#include "agent/work.h"

/* The first check is the one the job began with. */
void fm_clockcheck_begin(struct fm_job *j);

/* One more check if the last one is long enough ago: a minute, and a tenth of the time since the
 * start, so that a day has some fifty. Called between rounds, while nothing is measured. */
FM_CHECK int fm_clockcheck_due(struct fm_job *j);

/* One more check. A worker that cannot do it leaves none. */
FM_CHECK int fm_clockcheck_take(struct fm_job *j);

#endif
