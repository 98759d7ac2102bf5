/* timing_parts.h: what the files of the task time share. */
#ifndef FM_WORKER_TIMING_PARTS_H
#define FM_WORKER_TIMING_PARTS_H

#include "agent/worker/counter.h"
#include "agent/worker/host.h"
#include "agent/worker/operation.h"
#include "agent/worker/timing.h"

#define FM_TIMING_WARM_ONE_NS 50000000u /* a call this long is warm after one */

struct fm_window {
	uint64_t calls, ns;
	struct fm_count count;
	unsigned events;
};

struct fm_timing {
	const struct fm_order *order;
	struct fm_operation op;
	struct fm_counter counter;
	struct fm_host host;
	fm_crypt_hash *frame;
	const char *reason; /* of the end line, should the next step fail */
	uint64_t random, stack_shift, message_offset, digest_offset;
	uint64_t first_call_ns;
	uint64_t batch_ns, batch_calls; /* the fastest warm batch: t1 = batch_ns / batch_calls */
	bool settled, slope_differs;
	int64_t frame_milli;
	struct fm_count span_count; /* with span_ns the start of a span that tells counts per ns */
	uint64_t span_ns;
	uint64_t enabled_ns, running_ns; /* at the start of the windows */
	struct fm_moment before, after;
	unsigned count;
	struct fm_window windows[FM_ORDER_WINDOWS_MAX];
	uint64_t widths[FM_ORDER_WINDOWS_MAX + 1]; /* before the first and behind every window */
};

/* One window of calls of function (the operation's or the frame's). Sets t->reason. */
FM_CHECK int fm_timing_measure(
        struct fm_timing *t, fm_crypt_hash *function, uint64_t calls, struct fm_window *w);

/* Everything before the windows: first call and gate, warm-up, cost of the frame, slope; sizes gets
 * t->count window sizes. */
FM_CHECK int fm_timing_prepare(struct fm_timing *t, uint64_t sizes[FM_ORDER_WINDOWS_MAX]);

/* All facts, then the windows. */
void fm_timing_tell(struct fm_timing *t);

#endif
