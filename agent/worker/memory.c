/* memory.c: the task memory: resident memory of this process before and after one call. */
#include "agent/worker/memory.h"

#include "agent/worker/host.h"
#include "agent/worker/operation.h"
#include "agent/worker/result.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

void fm_memory_run(const struct fm_order *o)
{
	struct fm_operation op;
	const char *reason = "system";
	char digest[65];
	int cpu, status, reset, bad;
	bool was_reset;
	int64_t baseline, peak;

	if (fm_host_pin(o->cpu, &cpu) != FM_OK)
		fm_result_fail("pin");
	fm_result_number("cpu", cpu);
	status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	reset = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (fm_operation_open(&op, o, o->bytes[0], 0, 0, &reason) != FM_OK ||
	        fm_operation_load(&op, &reason) != FM_OK)
		fm_result_fail(reason);
	(void)status_kib(status, "VmHWM:"); /* touches the stack that reading needs */
	was_reset =
	        reset >= 0 && write(reset, "5", 1) == 1; /* 5: the high water mark starts anew */
	baseline = status_kib(status, "VmRSS:");
	bad = fm_operation_loop(&op, op.hash, 1);
	peak = status_kib(status, "VmHWM:");
	if (bad != 0) {
		(void)fm_fail(FM_ERR_MEASURE, "CryptHash returned %d", bad);
		fm_result_fail("cryptofail");
	}
	fm_operation_keep(&op, digest);
	if (fm_operation_check(&op, true, &reason) != FM_OK)
		fm_result_fail(reason);
	if (baseline < 0 || peak < 0) {
		(void)fm_fail(FM_ERR_SYSTEM, "/proc/self/status has no VmRSS and VmHWM");
		fm_result_fail("system");
	}
	fm_result_number("rss_baseline_process_kib", baseline);
	fm_result_number("rss_peak_process_kib", peak);
	fm_result_number("io_buffers_bytes", (int64_t)(op.message.len + op.digest.len));
	fm_result_number("hwm_reset", was_reset);
	fm_result_ok();
}
