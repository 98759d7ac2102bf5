/* hostfile.h: the one reader of /proc and /sys, for the agent and the worker. */
#ifndef FM_HOSTFILE_H
#define FM_HOSTFILE_H

#include "protocol/error.h"
#include <dirent.h>
#include <stddef.h>

/* Opens a file below /proc or /sys for reading (close-on-exec, never waiting). -1 and errno. */
int fm_hostfile_open(const char *path);

/* Its text, at most size - 1 bytes, NUL-terminated. Returns the bytes, -1 (out is "", errno says
 * why) when it cannot be read. */
int fm_hostfile_read(const char *path, char *out, size_t size);

/* A folder there; NULL and errno. The caller closes it with closedir. */
DIR *fm_hostfile_dir(const char *path);

#endif
