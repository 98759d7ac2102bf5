/* identity.h: Ed25519 keys: the seed file, the public line, the fingerprint. Secrets live in locked
 * memory. */
#ifndef FM_IDENTITY_H
#define FM_IDENTITY_H

#include "protocol/error.h"
#include <stdbool.h>

#define FM_PUBLIC_LINE \
	80 /* "ssh-ed25519 " + 68 base64 characters, no comment, no LF: exactly 80 bytes + NUL */
#define FM_FINGERPRINT 51 /* "SHA256:" + 43 base64 characters + NUL */

struct fm_public {
	unsigned char key[32];
};
struct fm_identity; /* secret and public half, in sodium_malloc memory */

/* Makes dirfd/name (0600, O_EXCL, never through a link): 32-byte seed as 64 hex digits and LF.
 * EEXIST is FM_ERR_SYSTEM. */
FM_CHECK int fm_identity_create(int dirfd, const char *name);

/* Refuses another owner, a mode wider than 0600, a link, any other length. *out is freed (and
 * wiped) with fm_identity_free. */
FM_CHECK int fm_identity_load(int dirfd, const char *name, struct fm_identity **out);
FM_CHECK int fm_identity_from_seed(
        const unsigned char seed[32], struct fm_identity **out); /* tests, golden vectors */
void fm_identity_free(struct fm_identity *id);
const struct fm_public *fm_identity_public(const struct fm_identity *id);

/* Detached Ed25519 signature over bytes; used by sshsig.c only. */
FM_CHECK int fm_identity_sign(
        const struct fm_identity *id, const void *bytes, size_t len, unsigned char sig[64]);

void fm_public_line(const struct fm_public *pub, char out[FM_PUBLIC_LINE + 1]);
FM_CHECK int fm_public_parse(
        const char *line, struct fm_public *out); /* exactly the 80 bytes of a public line */
void fm_public_fingerprint(const struct fm_public *pub, char out[FM_FINGERPRINT]);
bool fm_public_equal(const struct fm_public *a, const struct fm_public *b);

#endif
