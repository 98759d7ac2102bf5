/* estimate.h: how long a campaign may take, before anything was measured in it. */
#ifndef FM_ESTIMATE_H
#define FM_ESTIMATE_H

#include "orchestrator/plan.h"

#define FM_ESTIMATE_HOST_NS 20000000000ULL /* connecting, building the agent, counters, moving bundles */

struct fm_estimate { /* of one system */
	uint64_t ns;
	size_t cells, earlier; /* planned; of them estimated from an earlier campaign's measurements */
};

/* Sums up one system's work under the plan's profile: connecting, builds, known answers, processes of every cell. The time of a call
 * comes from the newest bundle of this system and candidate below the folder results, else from 20 cycles a byte at 2.5 GHz (orientation
 * only; deadlines on hosts come from their own measurements). */
FM_CHECK int fm_estimate_system(const struct fm_plan *p, const struct fm_plan_system *s, const char *results,
	struct fm_estimate *out);

/* The same of one candidate on one system, without what is once for each host. */
FM_CHECK int fm_estimate_job(const struct fm_plan *p, const char *system, const char *candidate, const char *results,
	struct fm_estimate *out);

/* Time of one cell with calls of t1_ns each, under a profile. */
uint64_t fm_estimate_cell(const char *profile, uint64_t t1_ns);

#endif
