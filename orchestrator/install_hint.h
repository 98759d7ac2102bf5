/* install_hint.h: the command that installs what a host lacks, for its distribution. */
#ifndef FM_INSTALL_HINT_H
#define FM_INSTALL_HINT_H

#include <stddef.h>

/* os: ID or PRETTY_NAME of /etc/os-release ("" unknown); missing: names separated by spaces (gcc, libsodium,
 * tar, sha256sum ...). out gets "apt-get install gcc libsodium-dev" or the like; returns out. */
char *fm_install_hint(const char *os, const char *missing, char *out, size_t size);

#endif
