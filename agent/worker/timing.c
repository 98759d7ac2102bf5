/* timing.c: the task time: one process gives one sample of one cell. */
#include "agent/worker/timing_parts.h"

#include "agent/worker/clock.h"
#include "agent/worker/result.h"
#include "agent/worker/width.h"

#define CHAIN 131072 /* additions of the short truth test: about 50 us */

static unsigned events_of(const struct fm_timing *t, const struct fm_moment *a,
        const struct fm_moment *b, uint64_t ns)
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
static int stopped_ns(struct fm_timing *t, uint64_t *stopped)
{
	uint64_t enabled, running;
	int rc;

	*stopped = 0;
	if (t->counter.source->times == NULL)
		return FM_OK;
	t->reason = "counter";
	if ((rc = t->counter.source->times(&t->counter, &enabled, &running)) == FM_OK)
		*stopped = (enabled - t->enabled_ns) - (running - t->running_ns);
	return rc;
}

static int run_windows(struct fm_timing *t, const uint64_t *sizes)
{
	struct fm_moment last = t->before, now;
	uint64_t stopped, stopped_before = 0;
	int rc;

	t->widths[0] = (uint64_t)fm_width_probe();
	for (unsigned i = 0; i < t->count; i++) {
		struct fm_window *w = &t->windows[i];

		fm_operation_dirty(&t->op);
		if ((rc = fm_timing_measure(t, t->op.hash, sizes[i], w)) != FM_OK)
			return rc;
		fm_host_moment(&t->host, false, &now);
		if ((rc = stopped_ns(t, &stopped)) != FM_OK)
			return rc;
		w->events = events_of(t, &last, &now, w->ns);
		if (stopped != stopped_before)
			w->events |= FM_EVENT_COUNTER;
		stopped_before = stopped;
		t->widths[i + 1] = (uint64_t)fm_width_probe();
		if ((rc = fm_operation_check(&t->op, false, &t->reason)) != FM_OK)
			return rc;
		fm_host_moment(&t->host, false, &last);
	}
	return FM_OK;
}

static int sample(struct fm_timing *t)
{
	uint64_t sizes[FM_ORDER_WINDOWS_MAX];
	int rc;

	if ((rc = fm_timing_prepare(t, sizes)) != FM_OK)
		return rc;
	t->reason = "counter";
	if (t->counter.source->times != NULL && (rc = t->counter.source->times(&t->counter,
	                                                 &t->enabled_ns, &t->running_ns)) != FM_OK)
		return rc;
	fm_host_moment(&t->host, true, &t->before);
	if ((rc = run_windows(t, sizes)) != FM_OK)
		return rc;
	fm_host_moment(&t->host, true, &t->after);
	return fm_operation_check(&t->op, true, &t->reason);
}

/* Moves the stack by 0 to 4080 bytes: another layout in every process. */
__attribute__((noinline)) static int sample_shifted(struct fm_timing *t)
{
	unsigned char *pad = __builtin_alloca(t->stack_shift + 16);
	int rc;

	__asm__ volatile("" : : "r"(pad) : "memory");
	rc = sample(t);
	__asm__ volatile("" : : "r"(pad) : "memory"); /* no tail call: the shift lasts until here */
	return rc;
}

static int open_all(struct fm_timing *t, const struct fm_order *o)
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
	static struct fm_timing t;

	if (open_all(&t, o) != FM_OK || fm_operation_load(&t.op, &t.reason) != FM_OK ||
	        sample_shifted(&t) != FM_OK)
		fm_result_fail(t.reason);
	fm_timing_tell(&t);
	fm_result_ok();
}
