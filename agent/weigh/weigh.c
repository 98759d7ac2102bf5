/* weigh.c: the task memory: what one operation needs of stack, heap and process. */
#include "agent/weigh/weigh.h"

#include "agent/weigh/heap.h"
#include "agent/weigh/maps.h"
#include "agent/weigh/stack.h"
#include "agent/worker/crash.h"
#include "agent/worker/host.h"
#include "agent/worker/operation.h"
#include "agent/worker/result.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct weigh {
	struct fm_operation op;
	fm_crypt_hash *function; /* the operation's, or the one that does nothing */
	uint64_t done;           /* calls of the operation */
	uint64_t second_allocs;
	struct fm_heap first; /* after the first call */
	int status, reset;    /* descriptors of /proc/self */
	int bad;
};

/* One "Key:   N kB" of the open /proc/self/status; -1 unknown. Allocates nothing. */
static int64_t status_kib(int fd, const char *key)
{
	char text[4096];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	const char *line;

	if (n <= 0)
		return -1;
	text[n] = '\0';
	line = strstr(text, key);
	return line == NULL ? -1 : strtoll(line + strlen(key), NULL, 10);
}

__attribute__((noinline)) static int nothing(
        int digest_bits, const unsigned char *msg, unsigned long long bits, unsigned char *digest)
{
	(void)digest_bits;
	(void)msg;
	(void)bits;
	(void)digest;
	return 0;
}

/* One call, wherever the stack pointer stands; counted if it is the operation's. */
static void one_call(void *arg)
{
	struct weigh *w = arg;
	bool real = w->function == w->op.hash;
	uint64_t allocs = fm_heap_now()->allocs;

	fm_heap_count(real);
	w->bad |= fm_operation_loop(&w->op, w->function, 1);
	fm_heap_count(false);
	w->done += real;
	if (real && w->done == 1)
		w->first = *fm_heap_now();
	if (real && w->done == 2)
		w->second_allocs = fm_heap_now()->allocs - allocs;
}

/* The digest must be that of the first call. */
static int checked(struct weigh *w, const char **reason)
{
	*reason = "cryptofail";
	if (w->bad != 0)
		return fm_fail(FM_ERR_MEASURE, "CryptHash returned %d", w->bad);
	return fm_operation_check(&w->op, true, reason);
}

/* The first call, on the stack of the process: what it adds to the resident memory. */
static int weigh_process(struct weigh *w, const char **reason)
{
	char digest[65];
	int64_t baseline, peak;
	bool was_reset;

	(void)status_kib(w->status, "VmHWM:"); /* touches the stack that reading needs */
	was_reset = w->reset >= 0 &&
	            write(w->reset, "5", 1) == 1; /* 5: the high water mark starts anew */
	baseline = status_kib(w->status, "VmRSS:");
	one_call(w);
	peak = status_kib(w->status, "VmHWM:");
	fm_operation_keep(&w->op, digest);
	if (checked(w, reason) != FM_OK)
		return FM_ERR_MEASURE;
	*reason = "system";
	if (baseline < 0 || peak < 0)
		return fm_fail(FM_ERR_SYSTEM, "/proc/self/status has no VmRSS and VmHWM");
	fm_result_number("rss_baseline_process_kib", baseline);
	fm_result_number("rss_peak_process_kib", peak);
	fm_result_number("io_buffers_bytes", (int64_t)(w->op.message.len + w->op.digest.len));
	fm_result_number("hwm_reset", was_reset);
	return FM_OK;
}

/* Two warm calls on the painted stack, less what a call that does nothing leaves there. Only faults
 * may come between, and they have a stack of their own. */
static int weigh_stack(struct weigh *w, const char **reason)
{
	size_t empty, touched;
	sigset_t most;

	sigfillset(&most);
	sigdelset(&most, SIGSEGV);
	sigdelset(&most, SIGBUS);
	sigdelset(&most, SIGSYS);
	*reason = "system";
	if (sigprocmask(SIG_SETMASK, &most, NULL) != 0)
		return fm_fail_errno("sigprocmask");
	w->function = nothing;
	empty = fm_stack_run(one_call, w);
	w->function = w->op.hash;
	fm_operation_dirty(&w->op);
	touched = fm_stack_run(one_call, w);
	sigemptyset(&most);
	(void)sigprocmask(SIG_SETMASK, &most, NULL);
	if (checked(w, reason) != FM_OK)
		return FM_ERR_MEASURE;
	fm_result_number("stack_touched_bytes", (int64_t)(touched - empty));
	fm_result_number("stack_region_bytes", (int64_t)fm_stack_region());
	return FM_OK;
}

/* The rest of the calls: what each leaves behind. */
static int weigh_heap(struct weigh *w, uint64_t calls, const char **reason)
{
	const struct fm_heap *now = fm_heap_now();
	uint64_t grown;
	int64_t unaccounted;

	while (w->done < calls) {
		fm_operation_dirty(&w->op);
		one_call(w);
		if (checked(w, reason) != FM_OK)
			return FM_ERR_MEASURE;
	}
	unaccounted = fm_maps_unaccounted();
	if (unaccounted >= 0)
		fm_result_number("unaccounted_mapping_bytes", unaccounted);
	*reason = "memory";
	if (now->lost)
		return fm_fail(FM_ERR_MEASURE, "more than %d blocks of the heap live at once",
		        FM_HEAP_BLOCKS);
	grown = now->requested > w->first.requested ? now->requested - w->first.requested : 0;
	fm_result_number("heap_peak_requested_bytes", (int64_t)w->first.requested_peak);
	fm_result_number("heap_peak_usable_bytes", (int64_t)w->first.usable_peak);
	fm_result_number("allocs_per_call", (int64_t)w->second_allocs);
	fm_result_number("leak_bytes_per_call", (int64_t)((grown + calls - 2) / (calls - 1)));
	return FM_OK;
}

void fm_weigh_run(const struct fm_order *o)
{
	static struct weigh w;
	const char *reason = "pin";
	int cpu;

	fm_heap_start();
	if (fm_host_pin(o->cpu, &cpu) != FM_OK)
		fm_result_fail(reason);
	fm_result_number("cpu", cpu);
	w.status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	w.reset = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	fm_maps_open();
	reason = "memory";
	if (fm_stack_open(o->stack_region) != FM_OK ||
	        fm_operation_open(&w.op, o, o->bytes[0], 0, 0, &reason) != FM_OK ||
	        fm_operation_load(&w.op, &reason) != FM_OK)
		fm_result_fail(reason);
	fm_crash_watch(fm_stack_mend);
	w.function = w.op.hash;
	fm_maps_mark();
	if (weigh_process(&w, &reason) != FM_OK || weigh_stack(&w, &reason) != FM_OK ||
	        weigh_heap(&w, o->calls, &reason) != FM_OK)
		fm_result_fail(reason);
	fm_result_ok();
}
