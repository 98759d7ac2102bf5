/* ssh_resolve.h: what OpenSSH's own resolver says about a host (`ssh -G`), with the inventory's
 * keys on top. */
#ifndef FM_SSH_RESOLVE_H
#define FM_SSH_RESOLVE_H

#include "orchestrator/inventory.h"
#include <stdbool.h>
#include <stdint.h>

#define FM_SSH_IDENTITIES \
	6 /* key files that may be offered; sshd ends a line after MaxAuthTries, 6 by default */
#define FM_SSH_KNOWN_HOSTS 4

struct fm_ssh_target {
	char hostname[256], user[64];
	int port, family;                  /* family: AF_UNSPEC, AF_INET, AF_INET6 */
	char *identity[FM_SSH_IDENTITIES]; /* paths; the inventory's first; those that are not there
	                                      are left out */
	size_t identity_count;
	char *agent;                           /* socket of the ssh-agent, NULL: none */
	char *host_key_alias;                  /* NULL: none */
	char *known_hosts[FM_SSH_KNOWN_HOSTS]; /* the user's own files: looked at by enrol only */
	size_t known_hosts_count;
	char *jump;          /* [user@]host[:port], comma separated; NULL: none */
	char *proxy_command; /* tokens replaced; NULL: none */
	bool asked;          /* false: there is no OpenSSH client, only inventory keys count */
};

/* Runs `ssh -G` (argument vector, no shell, 10 s). FM_ERR_CONFIG when it refuses the user's
 * configuration, FM_ERR_TIMEOUT. */
FM_CHECK int fm_ssh_resolve(
        const struct fm_system *system, struct fm_ssh_target *out, int wake, uint64_t deadline);
void fm_ssh_target_free(struct fm_ssh_target *t);

/* Fills *out from the text of `ssh -G` and the inventory: the part without a child process. text
 * NULL: no client there. */
FM_CHECK int fm_ssh_target_parse(
        const struct fm_system *system, const char *text, struct fm_ssh_target *out);

#endif
