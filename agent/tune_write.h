/* tune_write.h: one write to a file of /proc or /sys, with our own rights or by sudo. */
#ifndef FM_AGENT_TUNE_WRITE_H
#define FM_AGENT_TUNE_WRITE_H

#include <stdbool.h>

#define FM_TUNE_SUDO_S 10 /* seconds that all of one call's sudo may take together */

/* What sudo made of one call: begins as all zero, is handed to every write of it. Once it refused,
 * it is not asked again. */
struct fm_tune_sudo {
	bool refused;
	long long until_ms; /* CLOCK_MONOTONIC, set by the first use */
	char said[200];     /* first line of its complaint, printable ASCII */
};

/* Writes value and LF to the file. Without the right to, and not as root, the same write is made by
 * `sudo -n tee`, which may neither ask for a password nor have a terminal. False when neither wrote
 * it. */
bool fm_tune_write(const char *path, const char *value, struct fm_tune_sudo *sudo);

#endif
