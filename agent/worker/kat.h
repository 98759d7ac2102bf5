/* kat.h: the gate: generates known-answer files and vectors through CryptHash and compares their
 * digests. */
#ifndef FM_WORKER_KAT_H
#define FM_WORKER_KAT_H

#include "agent/worker/buffer.h"
#include "agent/worker/library.h"
#include "agent/worker/order.h"

#include <stdio.h>

/* Worst first (FORMATS.md section 9); those the worker itself can give. */
enum fm_kat_status {
	FM_KAT_OVERFLOW,
	FM_KAT_CRYPTOFAIL,
	FM_KAT_MISMATCH,
	FM_KAT_LOADFAIL,
	FM_KAT_NOKAT,
	FM_KAT_PASS,
};

#define FM_KAT_LONG_BYTES ((size_t)1 << 30) /* message of KAT_2_33 */

/* What a gate works with. */
struct fm_kat {
	fm_crypt_hash *hash;
	unsigned digest_bits;
	struct fm_buffer digest, message;  /* message: 1 MiB */
	const unsigned char *message_2_33; /* mapped 1 GiB random message, NULL: not at hand */
	FILE *vectors;                     /* NULL: none */
	const char *instance;
	char where[160]; /* what is being computed, for messages */
};

/* One guarded call: the digest buffer is overwritten first. FM_KAT_PASS, FM_KAT_CRYPTOFAIL
 * (returned non-zero) or FM_KAT_OVERFLOW, with words in the thread's error text. */
enum fm_kat_status fm_kat_call(struct fm_kat *k, const unsigned char *msg, uint64_t bits);

/* Generates the file with this tag (KAT_2_12, KAT_2_23, KAT_2_33, KAT_Loop). FM_KAT_PASS: hex is
 * the digest of the canonical text, bytes the length of the text. */
enum fm_kat_status fm_kat_generate(
        struct fm_kat *k, const char *tag, char hex[65], uint64_t *bytes);

/* Writes the lines of this instance again with computed digests and hashes them; lines counts them,
 * agreed those that are equal, first (size bytes) names the first that is not. FM_KAT_LOADFAIL: the
 * file is no vectors file. */
enum fm_kat_status fm_kat_vectors(struct fm_kat *k, char hex[65], uint64_t *lines, uint64_t *agreed,
        char *first, size_t size);

/* The task: ends the process. */
_Noreturn void fm_kat_run(const struct fm_order *o);

#endif
