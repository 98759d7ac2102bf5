/* manifest_file.h: a manifest of any length, read from its file in passes, so that what is held
 * does not grow with its lines. Every pass must give the bytes of the first. */
#ifndef FM_MANIFEST_FILE_H
#define FM_MANIFEST_FILE_H

#include "protocol/manifest.h"

struct fm_manifest_file;

/* Opens path in the folder and reads it once, without a look at what it says: its digests are then
 * known. FM_ERR_SIZE beyond what the kind allows; a missing file is FM_ERR_SYSTEM with ENOENT in
 * errno. fm_manifest_file_close, NULL allowed. */
FM_CHECK int fm_manifest_file_open(
        int dirfd, const char *path, enum fm_seal_kind kind, struct fm_manifest_file **out);
void fm_manifest_file_close(struct fm_manifest_file *f);

const unsigned char *fm_manifest_file_sha512(const struct fm_manifest_file *f); /* 64 bytes */
const char *fm_manifest_file_sha256(const struct fm_manifest_file *f);          /* 64 digits */

/* The second pass: all that fm_manifest_parse asks for, and that no line names what the kind leaves
 * out. Only after it the lines may be read. */
FM_CHECK int fm_manifest_file_parse(const struct fm_manifest_file *f);

/* Its lines; behind the last one of a pass comes FM_ERR_DIGEST if the file was changed meanwhile.
 */
struct fm_manifest_source fm_manifest_file_source(const struct fm_manifest_file *f);

#endif
