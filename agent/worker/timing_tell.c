/* timing_tell.c: the facts and windows of the task time. */
#include "agent/worker/timing_parts.h"

#include "agent/worker/clock.h"
#include "agent/worker/counters.h"
#include "agent/worker/result.h"
#include "agent/worker/width.h"

static void tell_counter(struct fm_timing *t)
{
	uint64_t enabled, running;
	struct fm_count now, counts;
	uint64_t ns = fm_clock_ns() - t->span_ns;

	if (t->counter.hz == 0 && t->counter.label == FM_LABEL_REF_TICKS &&
	        fm_counter_read(&t->counter, &now) == FM_OK &&
	        fm_count_since(t->span_count, now, &counts) == FM_OK && ns > 0)
		t->counter.hz = (uint64_t)((double)counts.value * 1e9 / (double)ns + 0.5);
	fm_counters_tell(&t->counter);
	if (t->counter.source->times != NULL &&
	        t->counter.source->times(&t->counter, &enabled, &running) == FM_OK) {
		fm_result_number("time_enabled_ns", (int64_t)(enabled - t->enabled_ns));
		fm_result_number("time_running_ns", (int64_t)(running - t->running_ns));
	} else {
		fm_result_number("time_enabled_ns", -1);
		fm_result_number("time_running_ns", -1);
	}
}

static void tell_moments(const struct fm_moment *a, const struct fm_moment *b)
{
	fm_result_number("span_ns", (int64_t)(b->ns - a->ns));
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

void fm_timing_tell(struct fm_timing *t)
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
	fm_width_tell(t->widths, t->count + 1);
	fm_operation_message_sha256(&t->op, hex);
	fm_result_fact("message_sha256", "%s", hex);
	if (t->order->warm && !t->settled && t->first_call_ns <= FM_TIMING_WARM_ONE_NS)
		fm_result_fact("note", "unsettled");
	if (t->slope_differs)
		fm_result_fact("note", "slope_differs");
	fm_result_number("elapsed_ns", (int64_t)fm_clock_elapsed());
	for (unsigned i = 0; i < t->count; i++) {
		const struct fm_window *w = &t->windows[i];

		fm_result_window(w->calls, w->ns,
		        w->count.label == FM_LABEL_NS ? NULL : &w->count.value, w->events);
	}
}
