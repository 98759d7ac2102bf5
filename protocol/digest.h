/* digest.h: SHA-256, SHA-512, hex and random bytes (libsodium). fm_crypto_init must have succeeded
 * once in the process. */
#ifndef FM_DIGEST_H
#define FM_DIGEST_H

#include "protocol/error.h"
#include <stddef.h>
#include <stdint.h>

FM_CHECK int fm_crypto_init(void);   /* sodium_init; safe to call again */
const char *fm_crypto_version(void); /* "libsodium 1.0.18" */

void fm_sha256_hex(const void *bytes, size_t len, char hex[65]);

/* Incremental; the state is opaque and holds no heap. */
struct fm_sha256 {
	_Alignas(16) unsigned char opaque[128];
};
void fm_sha256_start(struct fm_sha256 *h);
void fm_sha256_add(struct fm_sha256 *h, const void *bytes, size_t len);
void fm_sha256_end(struct fm_sha256 *h, char hex[65]);

struct fm_sha512 {
	_Alignas(16) unsigned char opaque[256];
};
void fm_sha512_start(struct fm_sha512 *h);
void fm_sha512_add(struct fm_sha512 *h, const void *bytes, size_t len);
void fm_sha512_end(struct fm_sha512 *h, unsigned char out[64]);

void fm_hex(const void *bytes, size_t len, char *out);         /* 2 len + 1 bytes */
FM_CHECK int fm_unhex(const char *hex, void *out, size_t len); /* exactly 2 len lower-case digits */

void fm_random(void *out, size_t len);
void fm_random_hex(size_t bytes, char *out); /* 2 bytes + 1 */

#endif
