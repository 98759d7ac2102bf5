/* operation.c: one measured operation: a library's function on one message. */
#include "agent/worker/operation.h"

#include "agent/worker/crash.h"
#include "agent/worker/ops.h"
#include "agent/worker/result.h"
#include "protocol/buf.h"
#include "protocol/digest.h"

#include <string.h>
#include <sys/mman.h>

static unsigned char message_byte(uint64_t i, uint64_t bytes)
{
	return (unsigned char)(131 * i + bytes);
}

void fm_operation_message(struct fm_operation *op, uint64_t bytes)
{
	op->message.len = (size_t)bytes;
	for (size_t i = 0; i < op->message.len; i++)
		op->message.data[i] = message_byte(i, bytes);
	/* the canary follows the shorter message */
	memset(op->message.data + op->message.len, FM_CANARY, FM_CANARY_BYTES);
}

int fm_operation_open(struct fm_operation *op, const struct fm_order *o, uint64_t bytes,
        size_t message_offset, size_t digest_offset, const char **reason)
{
	int rc;

	memset(op, 0, sizeof *op);
	op->digest_bits = o->digest_bits;
	*reason = "memory";
	if ((rc = fm_buffer_open(&op->message, (size_t)bytes, message_offset)) != FM_OK ||
	        (rc = fm_buffer_open(&op->digest, (o->digest_bits + 7) / 8, digest_offset)) !=
	                FM_OK)
		return rc;
	if ((op->expected = fm_alloc(op->digest.len)) == NULL)
		return FM_ERR_MEMORY;
	fm_operation_message(op, bytes);
	/* not allowed everywhere, and not needed for a right result */
	(void)mlock(op->message.data, op->message.len);
	(void)mlock(op->digest.data, op->digest.len);
	*reason = "library";
	return fm_library_open(&op->library, o->library, o->library_sha256);
}

int fm_operation_load(struct fm_operation *op, const char **reason)
{
	int rc;

	*reason = "system";
	if ((rc = fm_crash_install(0)) != FM_OK ||
	        (rc = fm_confine_memory(FM_CONFINE_MEMORY)) != FM_OK ||
	        (rc = fm_confine_enter(&op->confine, op->library.fd)) != FM_OK)
		return rc;
	fm_confine_tell(&op->confine);
	*reason = "library";
	if ((rc = fm_library_load(&op->library)) != FM_OK)
		return rc;
	op->hash = op->library.hash;
	*reason = "system";
	return fm_confine_close_files(&op->confine);
}

int fm_operation_loop(const struct fm_operation *op, fm_crypt_hash *function, uint64_t calls)
{
	return fm_ops->loop(op, function, calls);
}

__attribute__((noinline)) int fm_operation_calls(
        const struct fm_operation *op, fm_crypt_hash *function, uint64_t calls)
{
	const unsigned char *message = op->message.data;
	unsigned char *digest = op->digest.data;
	const unsigned long long bits = fm_library_bits(op->message.len);
	const int digest_bits = (int)op->digest_bits;
	int bad = 0;

	for (uint64_t i = 0; i < calls; i++) {
		/* the compiler may assume nothing about what is called and what it touches */
		__asm__ volatile("" : "+r"(function), "+r"(message), "+r"(digest) : : "memory");
		bad |= function(digest_bits, message, bits, digest);
	}
	return bad;
}

void fm_operation_dirty(struct fm_operation *op)
{
	memset(op->digest.data, (int)(op->turn++ & 0xff), op->digest.len);
}

void fm_operation_keep(struct fm_operation *op, char hex[65])
{
	memcpy(op->expected, op->digest.data, op->digest.len);
	fm_sha256_hex(op->expected, op->digest.len, hex);
}

int fm_operation_check(const struct fm_operation *op, bool whole, const char **reason)
{
	*reason = "gate_mismatch";
	if (memcmp(op->expected, op->digest.data, op->digest.len) != 0)
		return fm_fail(FM_ERR_MEASURE,
		        "a call gave another digest than the first one of this process");
	if (!whole)
		return FM_OK;
	*reason = "canary";
	if (!fm_buffer_whole(&op->digest))
		return fm_fail(FM_ERR_MEASURE, "bytes beside the digest were written");
	if (!fm_buffer_whole(&op->message))
		return fm_fail(FM_ERR_MEASURE, "bytes beside the message were written");
	for (size_t i = 0; i < op->message.len; i++)
		if (op->message.data[i] != message_byte(i, op->message.len))
			return fm_fail(FM_ERR_MEASURE, "byte %zu of the message was changed", i);
	return FM_OK;
}

void fm_operation_message_sha256(const struct fm_operation *op, char hex[65])
{
	fm_sha256_hex(op->message.data, op->message.len, hex);
}
