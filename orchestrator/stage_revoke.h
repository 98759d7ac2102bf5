/* stage_revoke.h: bundles whose key does not count any more leave the tree before it is sealed. */
#ifndef FM_STAGE_REVOKE_H
#define FM_STAGE_REVOKE_H

#include "orchestrator/campaign.h"

/* Looks at every accepted bundle with the home's trust of now: one whose key was revoked, or ended before it came, is rejected in
 * the journal (verify/revoked) and moves to rejected/<system>/<candidate>.<attempt>/ with a reason.txt. A move that a crash left
 * undone is done first. Nothing is deleted. */
FM_CHECK int fm_stage_revoke(struct fm_campaign *c);

#endif
