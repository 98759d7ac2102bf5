/* keyblob.h: the base64 column of OpenSSH's key files: as bytes, and as the fingerprint people
 * compare. */
#ifndef FM_KEYBLOB_H
#define FM_KEYBLOB_H

#include "protocol/buf.h"

/* Appends the bytes behind base64 text, up to its first other character. out may end up empty. */
FM_CHECK int fm_keyblob_decode(const char *text, struct fm_buf *out);

/* "SHA256:" and 43 base64 characters of a key blob. */
void fm_keyblob_print(const struct fm_buf *blob, char out[51]);

#endif
