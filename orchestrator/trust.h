/* trust.h: who may sign: allowed_signers, revoked_keys, trust.json, enrolment statements (FORMATS.md section 13). */
#ifndef FM_TRUST_H
#define FM_TRUST_H

#include "orchestrator/home.h"
#include "protocol/path.h"
#include <stdbool.h>

struct fm_trust_key {
	char system[FM_NAME_MAX + 1];
	struct fm_public key;
	char after[16], before[16]; /* YYYYMMDDHHMMSSZ; before "" if open */
};
struct fm_trust {
	struct fm_public controller;
	char controller_after[16];
	bool has_successor; /* only in a handover: the controller's next key */
	struct fm_public successor;
	char successor_after[16];
	struct fm_trust_key *keys;
	size_t count;
	struct fm_public *revoked;
	size_t revoked_count;
	int64_t version;
	char issued_at[21];
};
void fm_trust_free(struct fm_trust *t);

/* Reads a trust folder strictly and checks its seal against anchor and every enrolment statement of a listed key
 * (signature, system, key, this controller); a handover/ in it must be sealed by another key that names anchor as its
 * successor. */
FM_CHECK int fm_trust_read(int dirfd, const struct fm_public *anchor, struct fm_trust *out);

/* Makes the first, empty trust folder of a home, or adds a system's key with its statement and signature; version up by one, sealed
 * again (written beside, then swapped). A key already used by another system is FM_ERR_IDENTITY. An older key of the same system ends one
 * second before the new one begins. */
FM_CHECK int fm_trust_init(struct fm_home *h);
FM_CHECK int fm_trust_add(struct fm_home *h, const char *system, const struct fm_public *key, const char *statement, size_t statement_len,
	const char *signature, size_t signature_len);

/* A statement as a host gave it: signed by the new key (sig) and, if it names a previous key, by that one (prev, else len 0). */
struct fm_trust_statement {
	const char *system, *text, *sig, *prev;
	size_t text_len, sig_len, prev_len;
};

/* fm_trust_add for a statement that may follow an earlier key: then that must be the system's last key and prev its signature
 * (FM_ERR_IDENTITY, FM_ERR_SIGNATURE). The same key again changes nothing. */
FM_CHECK int fm_trust_follow(struct fm_home *h, const struct fm_trust_statement *s, const struct fm_public *key);

/* Ends a key of the system: the last one, or that with the fingerprint (NULL: the last). Retired: it counts until now. Stolen
 * since (a stamp YYYY-MM-DDTHH:MM:SSZ, not in the future): until then. Stolen, time unknown: also in revoked_keys, so that nothing it ever signed
 * counts. *which gets the key; *changed false: it was so already. FM_ERR_USAGE: no such key, or a time before it counted. */
enum fm_revocation { FM_RETIRED, FM_STOLEN_SINCE, FM_STOLEN };
FM_CHECK int fm_trust_revoke(struct fm_home *h, const char *system, const char *fingerprint, enum fm_revocation kind,
	const char *since, struct fm_trust_key *which, bool *changed);

/* The system's last key, whether it still counts or not; NULL if it never had one. */
const struct fm_trust_key *fm_trust_last(const struct fm_trust *t, const char *system);

/* The key of this system valid at the stamp YYYY-MM-DDTHH:MM:SSZ; NULL if none or revoked. */
const struct fm_trust_key *fm_trust_find(const struct fm_trust *t, const char *system, const char *stamp);
/* Did this key of the system count when the plan was issued, and had not ended when the bundle was received? Both are stamps. */
bool fm_trust_covers(const struct fm_trust *t, const char *system, const struct fm_public *key, const char *issued_at,
	const char *received_at);
bool fm_trust_revoked(const struct fm_trust *t, const struct fm_public *key);

/* The controller's key is followed by a new one: the old key's last act is the sealed folder trust/handover/, which names both;
 * the new trust folder, sealed by the new key, holds it and no system: each is enrolled again. The old key stays in the home as
 * `key.until-<stamp>`, its public line as `controller.pub.until-<stamp>`; h->id becomes the new one. Whatever a crash leaves of it
 * fm_home_key finishes or takes back. */
FM_CHECK int fm_trust_handover(struct fm_home *h);
FM_CHECK int fm_trust_handover_mend(struct fm_home *h); /* for fm_home_key: with the home locked, before the key is read */

/* Is the folder dirfd a handover that anchor sealed? Then *next is the key that follows it. */
bool fm_trust_successor(int dirfd, const struct fm_public *anchor, struct fm_public *next);

/* Copies the home's sealed trust folder into the (new) folder to. */
FM_CHECK int fm_trust_copy(const struct fm_home *h, int to);

/* Enrolment statement text and its check: same system, challenge, controller; signature by the key inside; *key gets it. */
FM_CHECK int fm_trust_check_statement(const char *system, const char *challenge, const struct fm_public *controller, const char *statement,
	size_t len, const char *signature, size_t signature_len, struct fm_public *key);

#endif
