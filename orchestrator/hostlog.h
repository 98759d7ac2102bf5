/* hostlog.h: the raw log of one system: what came outside frames, capped, with our own dated lines
 * between. */
#ifndef FM_HOSTLOG_H
#define FM_HOSTLOG_H

#include "protocol/error.h"
#include <stddef.h>

#define FM_HOSTLOG_MAX (64u << 20) /* bytes of one log; what is over is counted, not kept */

/* fd -1: no log. Losing a log line is never an error of the campaign. */
void fm_hostlog_raw(int fd, const void *bytes, size_t len);
void fm_hostlog_say(int fd, const char *format, ...) FM_PRINTF(2, 3);

#endif
