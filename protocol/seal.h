/* seal.h: sealed folders: plain files + MANIFEST.sha256 + MANIFEST.sha256.sig (FORMATS.md section
 * 3). */
#ifndef FM_SEAL_H
#define FM_SEAL_H

#include "protocol/identity.h"
#include "protocol/manifest_file.h"

#define FM_MANIFEST_NAME "MANIFEST.sha256"
#define FM_SIG_NAME      "MANIFEST.sha256.sig"
#define FM_TSR_NAME      "MANIFEST.sha256.tsr"

/* Seals the folder: manifest, fsync, rename, signature the same way, fsync. A crash in between
 * leaves an unsealed folder, never a wrong one. hex (may be NULL) gets the digest of the manifest.
 */
FM_CHECK int fm_seal(int dirfd, enum fm_seal_kind kind, const struct fm_identity *id, char hex[65]);

/* Signature first, then grammar, then every file. m may be NULL, and then the manifest is never
 * held in memory; else it gets it (fm_manifest_free). */
FM_CHECK int fm_seal_check(int dirfd, enum fm_seal_kind kind, const struct fm_public *pub,
        char hex[65], struct fm_manifest *m);

/* Signature (pub NULL: not looked at), then grammar, of a manifest that stays in its file; *out is
 * closed with fm_manifest_file_close. */
FM_CHECK int fm_seal_open(int dirfd, enum fm_seal_kind kind, const struct fm_public *pub,
        struct fm_manifest_file **out);

/* Grammar and every file, without the signature: that nothing changed since it was sealed, not who
 * sealed it. */
FM_CHECK int fm_seal_check_files(int dirfd, enum fm_seal_kind kind);

/* Only signature and grammar, no other file is opened: for folders whose files are fetched or
 * checked by others. */
FM_CHECK int fm_seal_check_manifest(int dirfd, enum fm_seal_kind kind, const struct fm_public *pub,
        char hex[65], struct fm_manifest *m);

#endif
