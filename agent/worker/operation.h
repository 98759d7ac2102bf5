/* operation.h: one measured operation: a library's function on one message, with the buffers and
 * the checks around it. */
#ifndef FM_WORKER_OPERATION_H
#define FM_WORKER_OPERATION_H

#include "agent/worker/buffer.h"
#include "agent/worker/confine.h"
#include "agent/worker/library.h"
#include "agent/worker/order.h"

struct fm_operation {
	fm_crypt_hash *hash;
	struct fm_library library;
	struct fm_confine confine;
	unsigned digest_bits;
	struct fm_buffer message, digest;
	unsigned char *expected; /* digest of the first call; measured calls must give it again */
	unsigned turn;           /* what the digest buffer is overwritten with */
};

/* Buffers at these offsets (multiples of 64, see buffer.h), message byte i = (131 i + bytes) mod
 * 256, library opened and checked but not loaded. An error gives the end line's reason in *reason.
 */
FM_CHECK int fm_operation_open(struct fm_operation *op, const struct fm_order *o, uint64_t bytes,
        size_t message_offset, size_t digest_offset, const char **reason);

/* Sandbox on, library loaded, files closed, facts told. From here on no path can be opened and no
 * process made. */
FM_CHECK int fm_operation_load(struct fm_operation *op, const char **reason);

/* Another message in the same process: `bytes` must not exceed those of fm_operation_open. */
void fm_operation_message(struct fm_operation *op, uint64_t bytes);

/* calls calls in a row on the current message; non-zero if one returned non-zero. function is the
 * operation's or the frame's. The only loop that is ever timed. */
int fm_operation_calls(const struct fm_operation *op, fm_crypt_hash *function, uint64_t calls);

/* The same, unless a test put something else into its place (ops.h). */
int fm_operation_loop(const struct fm_operation *op, fm_crypt_hash *function, uint64_t calls);

/* Overwrites the digest buffer, so that a call that does nothing is seen. */
void fm_operation_dirty(struct fm_operation *op);

/* Keeps the digest as it now is as the expected one, and its SHA-256. */
void fm_operation_keep(struct fm_operation *op, char hex[65]);

/* The digest is the kept one, and (message too) canaries and message are whole. Else FM_ERR_MEASURE
 * and the reason. */
FM_CHECK int fm_operation_check(const struct fm_operation *op, bool whole, const char **reason);

void fm_operation_message_sha256(const struct fm_operation *op, char hex[65]);

#endif
