/* hint.h: the commands that messages suggest. */
#ifndef FM_HINT_H
#define FM_HINT_H

#include "orchestrator/command.h"

/* Writes "fleetmark" with the options this run was given that name places (-i, --results, --root),
 * so that the command can be pasted as it is, behind the words of format ("enrol x86_1"; the caller
 * vouches that they need no quotes). Cut when out (size bytes) is too small. Returns out. */
char *fm_hint(const struct fm_options *o, char *out, size_t size, const char *format, ...)
        __attribute__((format(printf, 4, 5)));

#endif
