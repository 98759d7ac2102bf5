/* enrol.h: makes a host known to the controller: its key, bound to its name, with a signed
 * statement, in the trust store. */
#ifndef FM_ENROL_H
#define FM_ENROL_H

#include "orchestrator/home.h"
#include "orchestrator/session.h"

/* Over an open session: the host makes its key if it has none, pins this controller, signs the
 * statement; the key goes into the home's trust store under name. yes: without asking; else the
 * terminal is asked, and without one it is FM_ERR_USAGE with the command to repeat. *changed tells
 * whether the trust store got a key. Nothing happens when the host and the trust store agree
 * already. */
FM_CHECK int fm_enrol(
        struct fm_home *home, struct fm_session *s, const char *name, bool yes, bool *changed);

/* The name under which the trust store holds this public line; "" if none, out has 65 bytes. */
FM_CHECK int fm_enrol_name_of(const struct fm_home *home, const char *public_line, char *out);

/* Does the trust store hold a key for this name now? */
FM_CHECK int fm_enrol_known(
        const struct fm_home *home, const char *name, bool *known, struct fm_public *key);

#endif
