/* confine.h: closes what measured code has no business with, as far as this kernel can: new rights,
 * network, other processes, files. */
#ifndef FM_WORKER_CONFINE_H
#define FM_WORKER_CONFINE_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stdint.h>

/* What is in force. A kernel (or qemu-user) without a part leaves it at 0. */
struct fm_confine {
	bool no_new_privs, seccomp;
	int landlock; /* ABI, 0: none */
};

/* Before the library is loaded: no core dumps, no_new_privs, a seccomp filter (no socket, no exec,
 * no new process or thread, no hand on other processes), Landlock that leaves only reading the
 * system's library folders and library_fd. Everything else must be open already. Never fails for a
 * missing kernel feature. */
FM_CHECK int fm_confine_enter(struct fm_confine *s, int library_fd);

/* After it: no file can be opened at all. */
FM_CHECK int fm_confine_close_files(const struct fm_confine *s);

/* Address space of this process, and with it what measured code can allocate. Not enforced by
 * qemu-user; does nothing in a build with a sanitizer. */
#define FM_CONFINE_MEMORY      ((uint64_t)4 << 30)
#define FM_CONFINE_MEMORY_2_33 ((uint64_t)8 << 30) /* two messages of 1 GiB, and copies of one */
FM_CHECK int fm_confine_memory(uint64_t bytes);

/* The three facts. */
void fm_confine_tell(const struct fm_confine *s);

#endif
