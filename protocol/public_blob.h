/* public_blob.h: a public key as SSH writes it inside other forms; shared by identity.c and
 * sshsig.c only. */
#ifndef FM_PUBLIC_BLOB_H
#define FM_PUBLIC_BLOB_H

#include "protocol/identity.h"

#define FM_KEY_TYPE    "ssh-ed25519"
#define FM_PUBLIC_BLOB 51 /* string "ssh-ed25519", string key */

void fm_public_blob(const struct fm_public *pub, unsigned char out[FM_PUBLIC_BLOB]);

#endif
