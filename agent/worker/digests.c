/* digests.c: the task digest: what the timed messages hash to, and how long a call takes. */
#include "agent/worker/digests.h"

#include "agent/worker/clock.h"
#include "agent/worker/host.h"
#include "agent/worker/operation.h"
#include "agent/worker/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t fm_digests_batch(struct fm_operation *op, uint64_t *calls, int *bad)
{
	for (;;) {
		uint64_t ns = fm_clock_ns();

		*bad |= fm_operation_loop(op, op->hash, *calls);
		ns = fm_clock_ns() - ns;
		if (ns >= FM_DIGESTS_BATCH_NS || *calls >= (1u << 24))
			return ns;
		*calls *= 2;
	}
}

/* ns per call, rounded up: median of three batches. */
static uint64_t time_call(struct fm_operation *op, int *bad)
{
	uint64_t batches[3], calls = 1;

	(void)fm_digests_batch(op, &calls, bad);
	for (size_t i = 0; i < 3; i++) {
		uint64_t ns = fm_clock_ns();

		*bad |= fm_operation_loop(op, op->hash, calls);
		batches[i] = fm_clock_ns() - ns;
	}
	return (fm_clock_quantile(batches, 3, 500) + calls - 1) / calls;
}

static int tell(struct fm_operation *op, uint64_t bytes, const char **reason)
{
	char digest[65], message[65], key[64];
	uint64_t t1;
	int bad, rc;

	fm_operation_message(op, bytes);
	fm_operation_dirty(op);
	*reason = "cryptofail";
	if ((bad = fm_operation_loop(op, op->hash, 1)) != 0)
		return fm_fail(
		        FM_ERR_MEASURE, "CryptHash returned %d for %" PRIu64 " bytes", bad, bytes);
	fm_operation_keep(op, digest);
	fm_operation_dirty(op);
	t1 = time_call(op, &bad);
	if (bad != 0)
		return fm_fail(
		        FM_ERR_MEASURE, "CryptHash returned %d for %" PRIu64 " bytes", bad, bytes);
	if ((rc = fm_operation_check(op, true, reason)) != FM_OK)
		return rc;
	fm_operation_message_sha256(op, message);
	snprintf(key, sizeof key, "digest_sha256_%" PRIu64, bytes);
	fm_result_fact(key, "%s", digest);
	snprintf(key, sizeof key, "message_sha256_%" PRIu64, bytes);
	fm_result_fact(key, "%s", message);
	snprintf(key, sizeof key, "t1_ns_%" PRIu64, bytes);
	fm_result_number(key, (int64_t)t1);
	return FM_OK;
}

void fm_digests_run(const struct fm_order *o)
{
	struct fm_operation op;
	const char *reason = "system";
	uint64_t largest = 0;
	int cpu;

	if (fm_host_pin(o->cpu, &cpu) != FM_OK)
		fm_result_fail("pin");
	fm_result_number("cpu", cpu);
	for (size_t i = 0; i < o->bytes_count; i++)
		largest = o->bytes[i] > largest ? o->bytes[i] : largest;
	if (fm_operation_open(&op, o, largest, 0, 0, &reason) != FM_OK ||
	        fm_operation_load(&op, &reason) != FM_OK)
		fm_result_fail(reason);
	for (size_t i = 0; i < o->bytes_count; i++)
		if (tell(&op, o->bytes[i], &reason) != FM_OK)
			fm_result_fail(reason);
	fm_result_number("elapsed_ns", (int64_t)fm_clock_elapsed());
	fm_result_ok();
}
