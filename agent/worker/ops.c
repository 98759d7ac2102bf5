/* ops.c: the instructions and system calls that everything counted comes from. */
#include "agent/worker/ops.h"

#include "agent/worker/operation.h"
#include "agent/worker/width.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int open_source(const char *source, const struct perf_event_attr *attr)
{
	int fd;

	(void)source;
	if (attr == NULL)
		return 0;
	fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static volatile void *map(int fd, size_t size)
{
	void *page = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

static void unmap(volatile void *page, size_t size)
{
	munmap((void *)(uintptr_t)page, size);
}

static ssize_t read_event(int fd, uint64_t all[3])
{
	return read(fd, all, 3 * sizeof all[0]);
}

static int toggle(int fd, bool on)
{
	return ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static void close_event(int fd)
{
	close(fd);
}

static bool fast_read(uint32_t index, uint64_t *value)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	*value = (uint64_t)high << 32 | low;
	return true;
#elif defined(__aarch64__)
	if (index != 31) /* 31 is the cycle counter itself */
		return false;
	__asm__ volatile("isb\n\tmrs %0, pmccntr_el0" : "=r"(*value) : : "memory");
	return true;
#else
	*value = index;
	return false;
#endif
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
	uint64_t value;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value) : : "memory");
	return value;
#else
	return 0;
#endif
}

static uint64_t ticks_claim(void)
{
	uint64_t hz = 0;

#if defined(__aarch64__)
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
#endif
	return hz;
}

static uint64_t clock_raw(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void chain(uint64_t rounds)
{
	uint64_t sum = 1, step = 3;

	for (uint64_t i = 0; i < rounds; i++) {
		/* register to register: new cores fold an addition of a constant while renaming */
#if defined(__x86_64__)
		__asm__ volatile(".rept 256\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(step) : "cc");
#else
		__asm__ volatile(".rept 256\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(step));
#endif
	}
}

const struct fm_counter_ops fm_ops_real = {open_source, map, unmap, read_event, toggle, close_event,
        fast_read, ticks, ticks_claim, clock_raw, chain, fm_width_measure, fm_operation_calls};

const struct fm_counter_ops *fm_ops = &fm_ops_real;
