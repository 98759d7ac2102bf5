/* accept.h: decides whether one bundle is what the plan asked for; the same code for a bundle just
 * fetched and for `verify`. */
#ifndef FM_ACCEPT_H
#define FM_ACCEPT_H

#include "orchestrator/evidence.h"
#include "orchestrator/plan.h"

/* What the caller knows of the dispatch. */
struct fm_expect {
	const struct fm_plan *plan;
	const char *plan_sha256;  /* digest of plan/MANIFEST.sha256 */
	const char *system, *candidate, *job_nonce;
	int64_t attempt;
};

/* Everything but the seal of the folder dirfd (fm_seal_check comes first): evidence against the
 * plan, sources, cells, KAT logs, library digests, sample files (evidence guide V11 to V15). Each
 * finding goes to report(arg, code, where, text) if it is not NULL; the first one is the result.
 * evidence (may be NULL) gets what was read. */
typedef void fm_accept_report(void *arg, int code, const char *where, const char *text);
FM_CHECK int fm_accept_check(int dirfd, const struct fm_expect *want, fm_accept_report *report,
        void *arg, struct fm_evidence *evidence);

#endif
