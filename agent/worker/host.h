/* host.h: what the worker asks the kernel about itself and its CPU: pinning, /proc and /sys
 * readings, scheduling facts. */
#ifndef FM_WORKER_HOST_H
#define FM_WORKER_HOST_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The one reader of /proc and /sys: the file's text, at most size - 1 bytes, NUL-terminated, last
 * LF cut. Negative code when it cannot be read (out is then ""). */
FM_CHECK int fm_host_read(const char *path, char *out, size_t size);

/* Its first number, or -1. */
int64_t fm_host_number(const char *path);

/* Pins this process to cpu (-1: the last one it may use) and confirms it; *out is the CPU.
 * FM_ERR_SYSTEM. */
FM_CHECK int fm_host_pin(int cpu, int *out);

/* FM_ERR_CONFIG when the personality has address randomisation switched off. */
FM_CHECK int fm_host_check_aslr(void);

/* True if a list such as "0-3,8" contains cpu. */
bool fm_host_list_has(const char *list, int cpu);

/* Name of the core's kind (cpu_core, cpu_atom, capacity-N, uniform) or "unknown"; at most size - 1
 * bytes. */
void fm_host_core_type(int cpu, char *out, size_t size);

/* Descriptors that stay readable when the sandbox has closed the paths. */
struct fm_host {
	int cpu, schedstat, stat, throttle[2], temperature;
};
void fm_host_open(struct fm_host *h, int cpu);

/* One moment. What cannot be read is -1. */
struct fm_moment {
	int64_t run_delay_ns, nvcsw, nivcsw, minflt, majflt, thread_cpu_ns, utime_us, stime_us;
	int64_t steal_ticks, throttle, temperature_mc; /* only with slow */
	int cpu;
	uint64_t ns; /* wall time of it */
};

/* slow: also the files of the whole machine (some 20 us). */
void fm_host_moment(const struct fm_host *h, bool slow, struct fm_moment *m);

/* Difference that keeps -1 for unknown. */
int64_t fm_host_since(int64_t before, int64_t after);

#endif
