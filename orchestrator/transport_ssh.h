/* transport_ssh.h: what enrolment needs of SSH beyond the table of transport.h. */
#ifndef FM_TRANSPORT_SSH_H
#define FM_TRANSPORT_SSH_H

#include "orchestrator/transport.h"

/* Connects up to the key exchange. FM_OK when the host's key is pinned or in the home's
 * known_hosts, or could be added there: because it has the fingerprint given (may be NULL), or
 * because the user's own known_hosts holds it for this host. Else FM_ERR_HOSTKEY_*, the text naming
 * the fingerprint offered, which is left in offered ("" if it did not come so far). added tells
 * that known_hosts got a line. */
FM_CHECK int fm_ssh_learn(const struct fm_system *system, const struct fm_home *home,
        const char *fingerprint, uint64_t deadline, char offered[64], bool *added);

#endif
