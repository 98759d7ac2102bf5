/* tune.h: settings of the kernel that make a host quieter: what would be changed, changing it, and
 * putting it back. */
#ifndef FM_AGENT_TUNE_H
#define FM_AGENT_TUNE_H

#include "agent/tune_write.h"
#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>

#define FM_TUNE_STATE "tune.state" /* in the work folder, while anything is changed */
#define FM_TUNE_MAX   64
#define FM_TUNE_TEXT  160

/* One file of /proc or /sys. outcome: "would" (listed only), "set", "refused" (no right to write
 * it), "kept" (it does not hold what was written), "restored", "foreign" (somebody else changed it
 * since), "rebooted" (the kernel has set it anew). */
struct fm_tune_item {
	char path[FM_TUNE_TEXT], old[FM_TUNE_TEXT], now[FM_TUNE_TEXT], wanted[FM_TUNE_TEXT];
	const char *outcome;
};
struct fm_tune_items {
	struct fm_tune_item at[FM_TUNE_MAX];
	size_t count;
};

/* What differs from the tuned values of the measured CPU, in the order it would be written. root is
 * put before every path: "" but in tests. */
void fm_tune_list(const char *root, int cpu, struct fm_tune_items *out);

/* Saves path, old and wanted value of everything listed in dirfd/tune.state, behind what stands
 * there already and never over an old value; then writes and reads back each. boot: digest of the
 * boot-id. A refused write is an outcome, not an error; sudo says what it made of
 * it. */
FM_CHECK int fm_tune_apply(int dirfd, const char *boot, const char *root,
        struct fm_tune_items *items, struct fm_tune_sudo *sudo);

/* Backwards through the state file; it goes when nothing of ours is left. After a reboot nothing is
 * written. *out is empty without a state file. FM_ERR_FORM for one that is not ours. */
FM_CHECK int fm_tune_restore(int dirfd, const char *boot, const char *root,
        struct fm_tune_items *out, struct fm_tune_sudo *sudo);

#endif
