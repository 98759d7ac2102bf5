/* run.h: a whole campaign over an inventory: what `run` and `try` share. */
#ifndef FM_RUN_H
#define FM_RUN_H

#include "orchestrator/campaign.h"

/* Enrols what needs no word of the operator (local systems), opens the campaign, runs its hosts,
 * merges, seals, verifies, tells. *status is the exit status; the path of the tree is left in path
 * (freed by the caller) when there is one. Errors before the start are returned. */
FM_CHECK int fm_run_campaign(const struct fm_options *o, struct fm_inventory *inv,
        struct fm_home *home, int *status, char **path);

/* Merge, pages, seal, verification of what was sealed, summary on stdout; *status gets 0, 1, 3
 * or 4. */
FM_CHECK int fm_run_finish(struct fm_campaign *c, int *status);

#endif
