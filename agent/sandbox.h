/* sandbox.h: closes the file system for a compiler that reads hostile sources. */
#ifndef FM_AGENT_SANDBOX_H
#define FM_AGENT_SANDBOX_H

/* The kernel's Landlock ABI, 0 where there is none. */
int fm_sandbox_abi(void);

/* For the child between fork and exec (system calls only): from here on only the system's folders
 * and `readable` can be read, only `writable` and /dev/null written, no socket
 * opened and no other process touched; each may be NULL. Where the kernel has no Landlock or no
 * filters that part does not happen. */
void fm_sandbox_enter(const char *readable, const char *writable);

#endif
