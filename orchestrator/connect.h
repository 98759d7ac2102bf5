/* connect.h: a connected TCP socket to a host: our own lookup and connect, each step with a
 * deadline. */
#ifndef FM_CONNECT_H
#define FM_CONNECT_H

#include "protocol/error.h"
#include <stdint.h>
#include <sys/types.h>

/* Looks the name up (a slow resolver delays only this host, and not beyond the deadline), tries
 * address after address, at most 10 s each. *fd is non-blocking, CLOEXEC, with TCP_NODELAY, keepalive (lost after
 * about 30 s) and TCP_USER_TIMEOUT. FM_ERR_RESOLVE,
 * FM_ERR_CONNECT (the last address's reason), FM_ERR_TIMEOUT, FM_ERR_INTERRUPTED. */
FM_CHECK int fm_connect(const char *host, int port, int family, int wake, uint64_t deadline,
        int *fd);

struct fm_ssh_target;

/* The far end of a proxy: a child (`ssh -W` through the jump host, or the proxy command) with a
 * socket pair as its standard input and output. */
FM_CHECK int fm_connect_proxy(
        const struct fm_ssh_target *t, const char *known_hosts, int *fd, pid_t *child);

#endif
