/* drng.h: the deterministic generator that makes the messages of the known-answer files: Hash_DRBG
 * of SP 800-90A with SM3, no personalisation, the seed the only entropy. */
#ifndef FM_WORKER_DRNG_H
#define FM_WORKER_DRNG_H

#include "protocol/error.h"
#include <stddef.h>
#include <stdint.h>

#define FM_DRNG_BYTES    55 /* 440 bits: one block of SM3 with its padding */
#define FM_DRNG_SEED_MAX 64

/* Big-endian numbers of 440 bits. */
struct fm_drng {
	unsigned char v[FM_DRNG_BYTES], c[FM_DRNG_BYTES], counter[FM_DRNG_BYTES];
};

/* seed_len at most FM_DRNG_SEED_MAX bytes. */
void fm_drng_init(struct fm_drng *d, const void *seed, size_t seed_len);

/* The generator of a known-answer file: an 8-character tag such as "KAT_2_12", eight times. */
void fm_drng_init_tag(struct fm_drng *d, const char *tag);

/* Writes ceil(bits / 8) bytes, unused low bits of the last one 0. 0 bits write nothing but still
 * move the generator on. */
void fm_drng_get(struct fm_drng *d, unsigned char *out, uint64_t bits);

/* The known states of the generator with tag KAT_2_12, and two digests of SM3: a few microseconds.
 * FM_ERR_INTERNAL with words when this build of ours is wrong. */
FM_CHECK int fm_drng_selftest(void);

/* The messages of KAT_2_12, KAT_2_23 and KAT_Loop against their known SHA-256: some 50 ms. */
FM_CHECK int fm_drng_selftest_messages(void);

/* SHA-256 of the 2^33-bit message of KAT_2_33. */
#define FM_DRNG_2_33_SHA256 "ab730b2a860224764d6ff1f17d417be419614404b7aa1c660e0e4fca26ba45af"

#endif
