/* ops.h: the instructions and system calls that everything counted comes from: the one thing about
 * counting that a test may replace. */
#ifndef FM_WORKER_OPS_H
#define FM_WORKER_OPS_H

#include "agent/worker/library.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_event_attr;
struct fm_operation;

struct fm_counter_ops {
	/* Whether a source can be had: a perf event's descriptor (attr not NULL), 0 for a source
	 * that needs none, or a negative errno. This thread, any CPU, never in a group. */
	int (*open)(const char *source, const struct perf_event_attr *attr);
	/* The event's page, NULL and errno; until unmap. */
	volatile void *(*map)(int fd, size_t size);
	void (*unmap)(volatile void *page, size_t size);
	/* Value, time enabled, time running of the event, as read(2) would. */
	ssize_t (*read)(int fd, uint64_t all[3]);
	int (*toggle)(int fd, bool on);
	void (*close)(int fd);
	/* The register behind a page's index, counted from 0; false for one that cannot be read
	 * here. */
	bool (*fast_read)(uint32_t index, uint64_t *value);
	/* The constant clock of the processor (TSC, CNTVCT), and the rate its register claims (0:
	 * none). */
	uint64_t (*ticks)(void);
	uint64_t (*ticks_claim)(void);
	/* CLOCK_MONOTONIC_RAW in ns. */
	uint64_t (*clock)(void);
	/* rounds x 256 dependent register-to-register additions. */
	void (*chain)(uint64_t rounds);
	/* One look at the core's width (width.h), thousandths; -1: says nothing. */
	int64_t (*width)(void);
	/* calls calls of function on the operation's message, in a row; non-zero if one returned
	 * that. */
	int (*loop)(const struct fm_operation *op, fm_crypt_hash *function, uint64_t calls);
};

/* The real ones, unless a test changed it. */
extern const struct fm_counter_ops *fm_ops;
extern const struct fm_counter_ops fm_ops_real;

#endif
