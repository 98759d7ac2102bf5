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

/* The same where the key that is trusted is lost: the new one needs no signature of it. Without this
 * a host that offers another key than the trusted one is FM_ERR_IDENTITY. */
FM_CHECK int fm_enrol_lost(
        struct fm_home *home, struct fm_session *s, const char *name, bool yes, bool *changed);

/* The host makes a new key; it is trusted from now on if the old one signed it, and the old one ends
 * a second before. A change that was broken off before is finished first. */
FM_CHECK int fm_rotate(struct fm_home *home, struct fm_session *s, const char *name, bool yes);

/* The name under which the trust store holds this public line; "" if none, out has 65 bytes. */
FM_CHECK int fm_enrol_name_of(const struct fm_home *home, const char *public_line, char *out);

/* Does the trust store hold a key for this name now? */
FM_CHECK int fm_enrol_known(
        const struct fm_home *home, const char *name, bool *known, struct fm_public *key);

#endif
