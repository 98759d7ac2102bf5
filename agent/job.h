/* job.h: the detached part: builds, gates, measures, seals (one process per campaign and host). */
#ifndef FM_AGENT_JOB_H
#define FM_AGENT_JOB_H

#include "agent/agent.h"

/* `fleetmark-agent job CAMPAIGN`: runs jobs/<campaign> to its end. Tells on descriptor 3 (then
 * closed) whether it has begun: "ok", or class, reason and text of the error, a line each. */
FM_CHECK int fm_job_main(const struct fm_agent *a, const char *campaign);

#endif
