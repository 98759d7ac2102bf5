/* timing_prepare.c: the steps before the windows: first call, warm-up, frame, window sizes, slope.
 */
#include "agent/worker/timing_parts.h"

#include "agent/worker/clock.h"
#include "agent/worker/digests.h"

#include <string.h>

#define WARM_MIN_NS     1000000u
#define WARM_MAX_NS     20000000u
#define WARM_LIMIT_NS   200000000u  /* where others take the CPU */
#define COLD_LEAST_NS   2000u       /* a clock may move in steps of 1 us */
#define WARM_NONE_NS    5000000000u /* a call this long needs no warm-up */
#define LEAST_WINDOW_NS 20000u
#define CALLS_MOST      ((uint64_t)1 << 43)
#define FRAME_CALLS     10000
#define FRAME_WINDOWS   9
#define SLOPE_MAX_NS    1000000u

/* One window. ns stands outside the counter, which stands outside the loop. */
int fm_timing_measure(
        struct fm_timing *t, fm_crypt_hash *function, uint64_t calls, struct fm_window *w)
{
	struct fm_count a, b;
	uint64_t ns;
	int bad, rc;

	w->calls = calls;
	t->reason = "counter";
	ns = fm_clock_ns();
	if (t->counter.label == FM_LABEL_NS) {
		bad = fm_operation_loop(&t->op, function, calls);
		w->ns = fm_clock_ns() - ns;
		w->count = (struct fm_count){FM_LABEL_NS, w->ns};
	} else {
		if ((rc = fm_counter_read(&t->counter, &a)) != FM_OK)
			return rc;
		bad = fm_operation_loop(&t->op, function, calls);
		if ((rc = fm_counter_read(&t->counter, &b)) != FM_OK)
			return rc;
		w->ns = fm_clock_ns() - ns;
		if ((rc = fm_count_since(a, b, &w->count)) != FM_OK)
			return rc;
	}
	t->reason = "cryptofail";
	return bad == 0 ? FM_OK : fm_fail(FM_ERR_MEASURE, "CryptHash returned non-zero");
}

static int first_call(struct fm_timing *t)
{
	struct fm_window w;
	char hex[65];
	int rc;

	fm_operation_dirty(&t->op);
	if ((rc = fm_timing_measure(t, t->op.hash, 1, &w)) != FM_OK)
		return rc;
	t->first_call_ns = w.ns;
	fm_operation_keep(&t->op, hex);
	t->reason = "gate_mismatch";
	if (t->order->digest_sha256[0] != '\0' && strcmp(hex, t->order->digest_sha256) != 0)
		return fm_fail(FM_ERR_MEASURE, "SHA-256 of the digest is %s, ordered was %s", hex,
		        t->order->digest_sha256);
	t->batch_ns = w.ns == 0 ? 1 : w.ns;
	t->batch_calls = 1;
	return fm_operation_check(&t->op, true, &t->reason);
}

static bool agree(const uint64_t ns[3])
{
	uint64_t low = ns[0], high = ns[0];

	for (size_t i = 1; i < 3; i++) {
		low = ns[i] < low ? ns[i] : low;
		high = ns[i] > high ? ns[i] : high;
	}
	return high - low <= high / 100;
}

/* At least 3 calls and 1 ms, until three batches in a row agree within 1 %, at most 20 ms of work.
 * What a call takes is told by the fastest batch, and not above the first call: one that lost the
 * CPU would make windows that are far too short. A first batch that lost it was too small: then
 * larger ones follow. */
static int warm_up(struct fm_timing *t)
{
	const uint64_t began = fm_clock_ns();
	const uint64_t cold = t->first_call_ns > COLD_LEAST_NS ? t->first_call_ns : COLD_LEAST_NS;
	uint64_t last[3] = {0}, calls = 1, ns, best, batches = 0, spent;
	int bad = 0;

	if (t->first_call_ns > WARM_NONE_NS || !t->order->warm)
		return FM_OK;
	ns = fm_digests_batch(&t->op, &calls, &bad);
	best = ns < calls * cold ? ns : calls * cold;
	while (t->first_call_ns <= FM_TIMING_WARM_ONE_NS) {
		last[batches++ % 3] = ns;
		spent = fm_clock_ns() - began;
		t->settled = batches >= 3 && agree(last);
		if ((t->settled && spent >= WARM_MIN_NS && calls * batches >= 3) ||
		        best * batches >= WARM_MAX_NS || spent >= WARM_LIMIT_NS)
			break;
		ns = fm_clock_ns();
		bad |= fm_operation_loop(&t->op, t->op.hash, calls);
		ns = fm_clock_ns() - ns;
		best = ns < best ? ns : best;
		if (ns < FM_DIGESTS_BATCH_NS / 2 && calls < CALLS_MOST) {
			calls *= 2;
			best = 2 * ns;
			batches = 0;
		}
	}
	t->batch_ns = best == 0 ? 1 : best;
	t->batch_calls = calls;
	t->reason = "cryptofail";
	return bad == 0 ? FM_OK : fm_fail(FM_ERR_MEASURE, "CryptHash returned non-zero");
}

/* Calls that last at least ns, by t1, and at least one. */
static uint64_t calls_for(const struct fm_timing *t, double ns)
{
	double calls = ns * (double)t->batch_calls / (double)t->batch_ns;

	return calls >= (double)CALLS_MOST ? CALLS_MOST : (uint64_t)calls + 1;
}

/* What one window must last so that the counter's step and cost are small in it. */
static double least_window_ns(struct fm_timing *t)
{
	struct fm_count now, counts;
	double least = LEAST_WINDOW_NS, per_ns, step, pair;
	uint64_t ns = fm_clock_ns() - t->span_ns;

	if (fm_counter_read(&t->counter, &now) != FM_OK ||
	        fm_count_since(t->span_count, now, &counts) != FM_OK || counts.value == 0 ||
	        ns == 0)
		return least;
	per_ns = (double)counts.value / (double)ns;
	step = 100.0 * (double)t->counter.resolution / per_ns;
	pair = 0.2 * (double)t->counter.read_pair_milli / per_ns;
	least = step > least ? step : least;
	return pair > least ? pair : least;
}

/* Cost of the empty call, thousandths of a count: median of 9 windows. -1 without the frame's
 * library. */
static int measure_frame(struct fm_timing *t)
{
	uint64_t counts[FRAME_WINDOWS];
	struct fm_window w;
	int rc;

	t->frame_milli = -1;
	if (t->frame == NULL)
		return FM_OK;
	for (size_t i = 0; i < FRAME_WINDOWS; i++) {
		if ((rc = fm_timing_measure(t, t->frame, FRAME_CALLS, &w)) != FM_OK)
			return rc;
		counts[i] = w.count.value;
	}
	t->frame_milli = ((int64_t)(1000 * fm_clock_quantile(counts, FRAME_WINDOWS, 500)) -
	                         t->counter.read_pair_milli) /
	                 FRAME_CALLS;
	return FM_OK;
}

/* Windows of b and 2b: (T(2b) - T(b)) / b must agree with (T(b) - read_pair) / b. */
static int check_slope(struct fm_timing *t, uint64_t calls)
{
	struct fm_window one, two;
	double by_slope, net, gap;
	int rc;

	if (t->batch_ns / t->batch_calls >= SLOPE_MAX_NS || !t->order->warm)
		return FM_OK;
	if ((rc = fm_timing_measure(t, t->op.hash, calls, &one)) != FM_OK ||
	        (rc = fm_timing_measure(t, t->op.hash, 2 * calls, &two)) != FM_OK)
		return rc;
	by_slope = ((double)two.count.value - (double)one.count.value) / (double)calls;
	net = ((double)one.count.value - (double)t->counter.read_pair_milli / 1000.0) /
	      (double)calls;
	gap = by_slope > net ? by_slope - net : net - by_slope;
	t->slope_differs = gap > net / 100.0 && gap * (double)calls > (double)t->counter.resolution;
	return FM_OK;
}

int fm_timing_prepare(struct fm_timing *t, uint64_t sizes[FM_ORDER_WINDOWS_MAX])
{
	uint64_t total, by_time, least;
	int rc;

	if ((rc = first_call(t)) != FM_OK || (rc = warm_up(t)) != FM_OK ||
	        (rc = measure_frame(t)) != FM_OK)
		return rc;
	least = calls_for(t, least_window_ns(t));
	/* a tenth more, for what t1 was too slow */
	by_time = t->order->min_ns == 0 ? 0 : calls_for(t, 1.1 * (double)t->order->min_ns);
	total = by_time > t->order->calls ? by_time : t->order->calls;
	t->count = fm_timing_sizes(
	        fm_timing_random(&t->random), total, least, t->order->windows, sizes);
	return check_slope(t, sizes[0]);
}
