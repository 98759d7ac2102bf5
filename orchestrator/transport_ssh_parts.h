/* transport_ssh_parts.h: what the transport_ssh files share; only they include it. */
#ifndef FM_TRANSPORT_SSH_PARTS_H
#define FM_TRANSPORT_SSH_PARTS_H

#include "orchestrator/ssh_resolve.h"
#include "orchestrator/transport.h"
#include <libssh/libssh.h>

struct fm_transport {
	ssh_session s; /* non-blocking throughout: every wait is ours */
	struct fm_ssh_target target;
	const struct fm_system *system;
	int wake;
	pid_t proxy; /* child behind the socket, -1: none */
	char fingerprint[64];
	char how[64]; /* the key that was taken */
	char describe[500];
	bool pinned;
};

FM_CHECK int fm_ssh_new(struct fm_transport **out, const struct fm_system *system, int wake);
void fm_ssh_free(struct fm_transport *t); /* ends the session; NULL allowed */

/* Waits until the socket can do what libssh wants of it and events ask, at most a second; FM_OK
 * also when nothing happened. */
FM_CHECK int fm_ssh_wait(struct fm_transport *t, short events, uint64_t deadline);

/* FM_ERR_DROPPED with libssh's words. */
int fm_ssh_failed(struct fm_transport *t, const char *step);

/* transport_ssh_reach.c: socket and key exchange; then, once the key is believed, authentication.
 */
FM_CHECK int fm_ssh_reach(struct fm_transport *t, const struct fm_home *home, uint64_t deadline);
FM_CHECK int fm_ssh_authenticate(struct fm_transport *t, uint64_t deadline);

/* transport_ssh_key.c: is it the host's key? */
FM_CHECK int fm_ssh_check_key(struct fm_transport *t, const struct fm_home *home);

char *fm_ssh_known_hosts(const struct fm_home *home); /* path; the caller frees */

#endif
