/* calls.h: the system calls that measured code may not make, as a seccomp filter. */
#ifndef FM_WORKER_CALLS_H
#define FM_WORKER_CALLS_H

#include "protocol/error.h"
#include <stdbool.h>

/* For the rest of this process: no new process or program, no socket or other way to talk, no hand
 * on other processes, nothing changed in the file system, no way to outlive the agent. *in_force
 * false: this kernel (or qemu-user) has no filters. */
FM_CHECK int fm_calls_enter(bool *in_force);

/* From here on no file is opened, either: where there is no Landlock. */
FM_CHECK int fm_calls_close_files(void);

#endif
