/* anchor.h: the controller's public line that a reader has from elsewhere than the tree. */
#ifndef FM_ANCHOR_H
#define FM_ANCHOR_H

#include "orchestrator/command.h"
#include "protocol/identity.h"

/* From --key FILE, else controller.pub in $FLEETMARK_HOME, which is not made here. One line; a
 * comment behind the key is not looked at. FM_ERR_USAGE naming the file. */
FM_CHECK int fm_anchor_read(const struct fm_options *o, struct fm_public *out);

#endif
