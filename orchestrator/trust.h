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
	struct fm_trust_key *keys;
	size_t count;
	struct fm_public *revoked;
	size_t revoked_count;
	int64_t version;
	char issued_at[21];
};
void fm_trust_free(struct fm_trust *t);

/* Reads a trust folder strictly and checks its seal against anchor and every enrolment statement of a listed key
 * (signature, system, key, this controller). */
FM_CHECK int fm_trust_read(int dirfd, const struct fm_public *anchor, struct fm_trust *out);

/* Makes the first, empty trust folder of a home, or adds a system's key with its statement and signature; version up by one, sealed
 * again (written beside, then swapped). A key already used by another system is FM_ERR_IDENTITY. An older key of the same system ends one
 * second before the new one begins. */
FM_CHECK int fm_trust_init(struct fm_home *h);
FM_CHECK int fm_trust_add(struct fm_home *h, const char *system, const struct fm_public *key, const char *statement, size_t statement_len,
	const char *signature, size_t signature_len);

/* The key of this system valid at the stamp YYYY-MM-DDTHH:MM:SSZ; NULL if none or revoked. */
const struct fm_trust_key *fm_trust_find(const struct fm_trust *t, const char *system, const char *stamp);
bool fm_trust_revoked(const struct fm_trust *t, const struct fm_public *key);

/* Copies the home's sealed trust folder into the (new) folder to. */
FM_CHECK int fm_trust_copy(const struct fm_home *h, int to);

/* Enrolment statement text and its check: same system, challenge, controller; signature by the key inside; *key gets it. */
FM_CHECK int fm_trust_check_statement(const char *system, const char *challenge, const struct fm_public *controller, const char *statement,
	size_t len, const char *signature, size_t signature_len, struct fm_public *key);

#endif
