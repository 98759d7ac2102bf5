/* mandate.h: what this host was told to do, after every question whether it may. */
#ifndef FM_AGENT_MANDATE_H
#define FM_AGENT_MANDATE_H

#include "agent/agent.h"
#include "agent/jobplan.h"

struct fm_mandate {
	struct fm_jobplan plan;
	struct fm_dispatch dispatch;
	struct fm_public controller;
	char plan_sha256[65];
};

/* Checks the plan in the folder jobdir/plan: sealed by the pinned controller, text of that system
 * for our own key, our architecture, our agent's source. system NULL: whichever text names our key.
 * FM_ERR_UNENROLLED, FM_ERR_REFUSED, FM_ERR_ARCH, FM_ERR_SIGNATURE ... */
FM_CHECK int fm_mandate_plan(const struct fm_agent *a, int jobdir, const char *plan,
        const char *system, struct fm_mandate *out);

/* The same for jobs/<campaign>/plan together with a dispatch: plan digest, campaign, candidates. */
FM_CHECK int fm_mandate_load(const struct fm_agent *a, int jobdir, const char *campaign,
        const void *dispatch, size_t len, struct fm_mandate *out);
void fm_mandate_free(struct fm_mandate *m);

/* Writes the dispatch's nonces into the ledger of the work folder (fsynced); FM_ERR_REFUSED if one
 * was used for anything else. */
FM_CHECK int fm_mandate_note(const struct fm_agent *a, const struct fm_mandate *m);

#endif
