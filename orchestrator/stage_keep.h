/* stage_keep.h: where a fetched bundle goes: into bundles/ with the journal's word, or into
 * rejected/ with the reason. */
#ifndef FM_STAGE_KEEP_H
#define FM_STAGE_KEEP_H

#include "orchestrator/host.h"

/* Journal `received` and `accepted`, then the rename. A second manifest for one nonce: both are set
 * aside (FM_OK, the job is done). */
FM_CHECK int fm_keep_accepted(
        struct fm_host *h, struct fm_host_job *j, const char *folder, const char *manifest_sha256);

/* Moves bundles/<system>/<candidate>, if it is there, to incoming/superseded/: nothing is deleted. */
FM_CHECK int fm_keep_set_aside(
        const struct fm_campaign *c, const char *system, const char *candidate);

/* rejected/<system>/<candidate>.<attempt>/ with reason.txt made of this thread's error text;
 * journal `rejected`. code is why. */
FM_CHECK int fm_keep_rejected(struct fm_host *h, struct fm_host_job *j, const char *folder,
        const char *manifest_sha256, int code);

/* Start-up: accepted bundles whose rename a crash prevented are moved from incoming/, other
 * leftovers go. A bundle that is nowhere to be found is dispatched again. */
FM_CHECK int fm_keep_repair(struct fm_campaign *c);

#endif
