/* timing.c: the task time: one process gives one sample of one cell. */
#include "agent/worker/timing.h"

#include "agent/worker/clock.h"
#include "agent/worker/counters.h"
#include "agent/worker/digests.h"
#include "agent/worker/host.h"
#include "agent/worker/operation.h"
#include "agent/worker/result.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN           131072 /* additions of the short truth test: about 50 us */
#define WARM_MIN_NS     1000000u
#define WARM_MAX_NS     20000000u
#define WARM_NONE_NS    5000000000u /* a call this long needs no warm-up */
#define WARM_ONE_NS     50000000u
#define LEAST_WINDOW_NS 20000u
#define CALLS_MOST      ((uint64_t)1 << 43)
#define FRAME_CALLS     10000
#define FRAME_WINDOWS   9
#define SLOPE_MAX_NS    1000000u

struct window {
	uint64_t calls, ns;
	struct fm_count count;
	unsigned events;
};

struct timing {
	const struct fm_order *order;
	struct fm_operation op;
	struct fm_counter counter;
	struct fm_host host;
	fm_crypt_hash *frame;
	const char *reason; /* of the end line, should the next step fail */
	uint64_t random, stack_shift, message_offset, digest_offset;
	uint64_t first_call_ns;
	uint64_t batch_ns, batch_calls; /* the last warm batch: t1 = batch_ns / batch_calls */
	bool settled, slope_differs;
	int64_t frame_milli;
	struct fm_count span_count; /* with span_ns the start of a span that tells counts per ns */
	uint64_t span_ns;
	uint64_t enabled_ns, running_ns; /* at the start of the windows */
	struct fm_moment before, after;
	unsigned count;
	struct window windows[FM_ORDER_WINDOWS_MAX];
};

/* One window. ns stands outside the counter, which stands outside the loop. */
static int measure(struct timing *t, fm_crypt_hash *function, uint64_t calls, struct window *w)
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

static int first_call(struct timing *t)
{
	struct window w;
	char hex[65];
	int rc;

	fm_operation_dirty(&t->op);
	if ((rc = measure(t, t->op.hash, 1, &w)) != FM_OK)
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

/* At least 3 calls and 1 ms, until three batches in a row agree within 1 %, at most 20 ms. */
static int warm_up(struct timing *t)
{
	const uint64_t began = fm_clock_ns();
	uint64_t last[3] = {0}, calls = 1, ns, batches = 0, spent;
	int bad = 0;

	if (t->first_call_ns > WARM_NONE_NS || !t->order->warm)
		return FM_OK;
	ns = fm_digests_batch(&t->op, &calls, &bad);
	while (t->first_call_ns <= WARM_ONE_NS) {
		last[batches++ % 3] = ns;
		spent = fm_clock_ns() - began;
		t->settled = batches >= 3 && agree(last);
		if ((t->settled && spent >= WARM_MIN_NS && calls * batches >= 3) ||
		        spent >= WARM_MAX_NS)
			break;
		ns = fm_clock_ns();
		bad |= fm_operation_loop(&t->op, t->op.hash, calls);
		ns = fm_clock_ns() - ns;
	}
	t->batch_ns = ns == 0 ? 1 : ns;
	t->batch_calls = calls;
	t->reason = "cryptofail";
	return bad == 0 ? FM_OK : fm_fail(FM_ERR_MEASURE, "CryptHash returned non-zero");
}

/* Calls that last at least ns, by t1, and at least one. */
static uint64_t calls_for(const struct timing *t, double ns)
{
	double calls = ns * (double)t->batch_calls / (double)t->batch_ns;

	return calls >= (double)CALLS_MOST ? CALLS_MOST : (uint64_t)calls + 1;
}

/* What one window must last so that the counter's step and cost are small in it. */
static double least_window_ns(struct timing *t)
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
static int measure_frame(struct timing *t)
{
	uint64_t counts[FRAME_WINDOWS];
	struct window w;
	int rc;

	t->frame_milli = -1;
	if (t->frame == NULL)
		return FM_OK;
	for (size_t i = 0; i < FRAME_WINDOWS; i++) {
		if ((rc = measure(t, t->frame, FRAME_CALLS, &w)) != FM_OK)
			return rc;
		counts[i] = w.count.value;
	}
	t->frame_milli = ((int64_t)(1000 * fm_clock_quantile(counts, FRAME_WINDOWS, 500)) -
	                         t->counter.read_pair_milli) /
	                 FRAME_CALLS;
	return FM_OK;
}

/* Windows of b and 2b: (T(2b) - T(b)) / b must agree with (T(b) - read_pair) / b. */
static int check_slope(struct timing *t, uint64_t calls)
{
	struct window one, two;
	double by_slope, net, gap;
	int rc;

	if (t->batch_ns / t->batch_calls >= SLOPE_MAX_NS || !t->order->warm)
		return FM_OK;
	if ((rc = measure(t, t->op.hash, calls, &one)) != FM_OK ||
	        (rc = measure(t, t->op.hash, 2 * calls, &two)) != FM_OK)
		return rc;
	by_slope = ((double)two.count.value - (double)one.count.value) / (double)calls;
	net = ((double)one.count.value - (double)t->counter.read_pair_milli / 1000.0) /
	      (double)calls;
	gap = by_slope > net ? by_slope - net : net - by_slope;
	t->slope_differs = gap > net / 100.0 && gap * (double)calls > (double)t->counter.resolution;
	return FM_OK;
}

static unsigned events_of(
        const struct timing *t, const struct fm_moment *a, const struct fm_moment *b, uint64_t ns)
{
	const int64_t delay = fm_host_since(a->run_delay_ns, b->run_delay_ns);
	unsigned events = 0;

	if (b->cpu != t->host.cpu)
		events |= FM_EVENT_CPU;
	if (fm_host_since(a->nivcsw, b->nivcsw) > 0)
		events |= FM_EVENT_SWITCH;
	if (delay > 0 && (uint64_t)delay > ns / 1000)
		events |= FM_EVENT_DELAY;
	if (fm_host_since(a->minflt, b->minflt) > 0)
		events |= FM_EVENT_MINFLT;
	if (fm_host_since(a->majflt, b->majflt) > 0)
		events |= FM_EVENT_MAJFLT;
	if (fm_host_since(a->nvcsw, b->nvcsw) > 0)
		events |= FM_EVENT_SLEPT;
	return events;
}

/* Time the event did not count since the start of the windows, 0 if it cannot stop. */
static int stopped_ns(struct timing *t, uint64_t *stopped)
{
	uint64_t enabled, running;
	int rc;

	*stopped = 0;
	if (t->counter.ops->times == NULL)
		return FM_OK;
	t->reason = "counter";
	if ((rc = t->counter.ops->times(&t->counter, &enabled, &running)) == FM_OK)
		*stopped = (enabled - t->enabled_ns) - (running - t->running_ns);
	return rc;
}

static int run_windows(struct timing *t, const uint64_t *sizes)
{
	struct fm_moment last = t->before, now;
	uint64_t stopped, stopped_before = 0;
	int rc;

	for (unsigned i = 0; i < t->count; i++) {
		struct window *w = &t->windows[i];

		fm_operation_dirty(&t->op);
		if ((rc = measure(t, t->op.hash, sizes[i], w)) != FM_OK)
			return rc;
		fm_host_moment(&t->host, false, &now);
		if ((rc = stopped_ns(t, &stopped)) != FM_OK)
			return rc;
		w->events = events_of(t, &last, &now, w->ns);
		if (stopped != stopped_before)
			w->events |= FM_EVENT_COUNTER;
		stopped_before = stopped;
		if ((rc = fm_operation_check(&t->op, false, &t->reason)) != FM_OK)
			return rc;
		fm_host_moment(&t->host, false, &last);
	}
	return FM_OK;
}

static int sample(struct timing *t)
{
	uint64_t sizes[FM_ORDER_WINDOWS_MAX], total, by_time, least;
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
	if ((rc = check_slope(t, sizes[0])) != FM_OK)
		return rc;
	t->reason = "counter";
	if (t->counter.ops->times != NULL &&
	        (rc = t->counter.ops->times(&t->counter, &t->enabled_ns, &t->running_ns)) != FM_OK)
		return rc;
	fm_host_moment(&t->host, true, &t->before);
	if ((rc = run_windows(t, sizes)) != FM_OK)
		return rc;
	fm_host_moment(&t->host, true, &t->after);
	return fm_operation_check(&t->op, true, &t->reason);
}

/* Moves the stack by 0 to 4080 bytes: another layout in every process. */
__attribute__((noinline)) static int sample_shifted(struct timing *t)
{
	unsigned char *pad = __builtin_alloca(t->stack_shift + 16);

	__asm__ volatile("" : : "r"(pad) : "memory");
	return sample(t);
}

static void tell_counter(struct timing *t)
{
	uint64_t enabled, running;
	struct fm_count now, counts;
	uint64_t ns = fm_clock_ns() - t->span_ns;

	if (t->counter.hz == 0 && t->counter.label == FM_LABEL_REF_TICKS &&
	        fm_counter_read(&t->counter, &now) == FM_OK &&
	        fm_count_since(t->span_count, now, &counts) == FM_OK && ns > 0)
		t->counter.hz = (uint64_t)((double)counts.value * 1e9 / (double)ns + 0.5);
	fm_counters_tell(&t->counter);
	if (t->counter.ops->times != NULL &&
	        t->counter.ops->times(&t->counter, &enabled, &running) == FM_OK) {
		fm_result_number("time_enabled_ns", (int64_t)(enabled - t->enabled_ns));
		fm_result_number("time_running_ns", (int64_t)(running - t->running_ns));
	} else {
		fm_result_number("time_enabled_ns", -1);
		fm_result_number("time_running_ns", -1);
	}
}

static void tell_moments(const struct fm_moment *a, const struct fm_moment *b)
{
	fm_result_number("run_delay_ns", fm_host_since(a->run_delay_ns, b->run_delay_ns));
	fm_result_number("nvcsw", fm_host_since(a->nvcsw, b->nvcsw));
	fm_result_number("nivcsw", fm_host_since(a->nivcsw, b->nivcsw));
	fm_result_number("minflt", fm_host_since(a->minflt, b->minflt));
	fm_result_number("majflt", fm_host_since(a->majflt, b->majflt));
	fm_result_number("thread_cpu_ns", fm_host_since(a->thread_cpu_ns, b->thread_cpu_ns));
	fm_result_number("utime_us", fm_host_since(a->utime_us, b->utime_us));
	fm_result_number("stime_us", fm_host_since(a->stime_us, b->stime_us));
	fm_result_number("steal_ticks", fm_host_since(a->steal_ticks, b->steal_ticks));
	fm_result_number("throttle_delta", fm_host_since(a->throttle, b->throttle));
	fm_result_number("temp_start_mc", a->temperature_mc);
	fm_result_number("temp_end_mc", b->temperature_mc);
}

static void tell(struct timing *t)
{
	const uintptr_t entry = (uintptr_t)t->op.hash;
	char hex[65];

	tell_counter(t);
	fm_result_number("windows", t->count);
	fm_result_number("first_call_ns", (int64_t)t->first_call_ns);
	fm_result_number("t1_ns", (int64_t)((t->batch_ns + t->batch_calls - 1) / t->batch_calls));
	fm_result_number("frame_milli", t->frame_milli);
	tell_moments(&t->before, &t->after);
	fm_result_number("stack_shift", (int64_t)t->stack_shift);
	fm_result_number("message_offset", (int64_t)t->message_offset);
	fm_result_number("digest_offset", (int64_t)t->digest_offset);
	fm_result_number("entry_mod64", (int64_t)(entry % 64));
	fm_result_number("entry_mod4096", (int64_t)(entry % 4096));
	fm_operation_message_sha256(&t->op, hex);
	fm_result_fact("message_sha256", "%s", hex);
	if (t->order->warm && !t->settled && t->first_call_ns <= WARM_ONE_NS)
		fm_result_fact("note", "unsettled");
	if (t->slope_differs)
		fm_result_fact("note", "slope_differs");
	fm_result_number("elapsed_ns", (int64_t)fm_clock_elapsed());
	for (unsigned i = 0; i < t->count; i++) {
		const struct window *w = &t->windows[i];

		fm_result_window(w->calls, w->ns,
		        w->count.label == FM_LABEL_NS ? NULL : &w->count.value, w->events);
	}
}

static int open_all(struct timing *t, const struct fm_order *o)
{
	int cpu, rc;

	t->order = o;
	t->random = o->seed;
	t->message_offset = fm_timing_random(&t->random) % (FM_BUFFER_OFFSET_MAX / 64 + 1) * 64;
	t->digest_offset = fm_timing_random(&t->random) % (FM_BUFFER_OFFSET_MAX / 64 + 1) * 64;
	t->stack_shift = fm_timing_random(&t->random) % 256 * 16;
	t->reason = "pin";
	if ((rc = fm_host_pin(o->cpu, &cpu)) != FM_OK)
		return rc;
	fm_result_number("cpu", cpu);
	t->reason = "aslr";
	if ((rc = fm_host_check_aslr()) != FM_OK)
		return rc;
	t->reason = "counter";
	if ((rc = fm_counter_choose(&t->counter, cpu, o->counter, CHAIN, NULL)) != FM_OK ||
	        (rc = fm_counter_read(&t->counter, &t->span_count)) != FM_OK)
		return rc;
	t->span_ns = fm_clock_ns();
	fm_host_open(&t->host, cpu);
	fm_library_frame(&t->frame); /* without it frame_milli is unknown, and says so */
	return fm_operation_open(
	        &t->op, o, o->bytes[0], t->message_offset, t->digest_offset, &t->reason);
}

void fm_timing_run(const struct fm_order *o)
{
	static struct timing t;

	if (open_all(&t, o) != FM_OK || fm_operation_load(&t.op, &t.reason) != FM_OK ||
	        sample_shifted(&t) != FM_OK)
		fm_result_fail(t.reason);
	tell(&t);
	fm_result_ok();
}
