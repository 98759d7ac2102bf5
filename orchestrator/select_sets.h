/* select_sets.h: the systems a command is about: -l with the sets @failed and @unreachable of the
 * campaign's journal, or the command's operands. */
#ifndef FM_SELECT_SETS_H
#define FM_SELECT_SETS_H

#include "orchestrator/command.h"
#include "orchestrator/home.h"
#include "orchestrator/inventory.h"

/* Applies o->limit to inv; the journal is only read when the limit names a set. */
FM_CHECK int fm_select_systems(
        const struct fm_options *o, struct fm_inventory *inv, struct fm_home *home);

/* Applies the operands (names, globs, ranges), of which there is at least one, to inv. */
FM_CHECK int fm_select_operands(const struct fm_options *o, struct fm_inventory *inv);

#endif
