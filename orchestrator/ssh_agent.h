/* ssh_agent.h: a ssh-agent seen through a sieve: only keys that may be offered to this host, so a
 * full agent never uses up its tries. */
#ifndef FM_SSH_AGENT_H
#define FM_SSH_AGENT_H

#include "orchestrator/ssh_resolve.h"

/* Starts a thread between *fd (for the library) and the agent's socket. Shown are keys whose public
 * half lies beside an identity of the target (FILE.pub), at most FM_SSH_IDENTITIES. *count is how
 * many the agent holds of them; 0: *fd is -1 and nothing was started. The thread ends when the
 * library closes its end. */
FM_CHECK int fm_ssh_agent_start(const struct fm_ssh_target *t, int *fd, size_t *count);

#endif
