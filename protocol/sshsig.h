/* sshsig.h: the one signature form: OpenSSH SSHSIG, Ed25519, SHA-512, one spelling (FORMATS.md
 * section 3). */
#ifndef FM_SSHSIG_H
#define FM_SSHSIG_H

#include "protocol/buf.h"
#include "protocol/error.h"
#include "protocol/identity.h"

#define FM_SSHSIG_MAX 4096 /* bytes of a .sig file that is looked at */

/* Appends the armoured signature over message to out. */
FM_CHECK int fm_sshsig_sign(const struct fm_identity *id, const char *namespace,
        const void *message, size_t len, struct fm_buf *out);

/* FM_OK only if sig is, byte for byte, what our writer makes from its 64 signature bytes, this key
 * and this namespace, and the signature holds. Else FM_ERR_SIGNATURE (or FM_ERR_FORM for what is no
 * such armour). */
FM_CHECK int fm_sshsig_verify(const struct fm_public *pub, const char *namespace,
        const void *message, size_t len, const char *sig, size_t sig_len);

/* The same for a message whose SHA-512 is known. */
FM_CHECK int fm_sshsig_verify_hash(const struct fm_public *pub, const char *namespace,
        const unsigned char sha512[64], const char *sig, size_t sig_len);

#endif
