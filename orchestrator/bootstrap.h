/* bootstrap.h: from a fresh `exec /bin/sh` to a running agent: marker, agent pushed and built if it
 * is absent (FORMATS.md section 7). */
#ifndef FM_BOOTSTRAP_H
#define FM_BOOTSTRAP_H

#include "orchestrator/session.h"

/* *out is a channel whose far side is `fleetmark-agent attach`; no byte of a frame has been read.
 * Noise and stderr go to log (may be -1). FM_ERR_SHELL: no marker within 20 s; FM_ERR_WORKDIR,
 * FM_ERR_NO_SPACE, FM_ERR_MISSING (with the install line), FM_ERR_BUILD. */
FM_CHECK int fm_bootstrap(const struct fm_transport_ops *ops, struct fm_transport *t,
        const struct fm_system *system, const struct fm_agent_source *agent, int log,
        struct fm_channel **out);

#endif
