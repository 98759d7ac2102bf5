/* select_sets.h: -l with the sets @failed and @unreachable of the campaign's journal. */
#ifndef FM_SELECT_SETS_H
#define FM_SELECT_SETS_H

#include "orchestrator/command.h"
#include "orchestrator/home.h"
#include "orchestrator/inventory.h"

/* Applies o->limit to inv; the journal is only read when the limit names a set. */
FM_CHECK int fm_select_systems(
        const struct fm_options *o, struct fm_inventory *inv, struct fm_home *home);

#endif
