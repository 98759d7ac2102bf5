/* counter_perf.c: user-mode core cycles from one pinned perf event, read by instruction (mapped
 * page) or by read(2). */
#include "agent/worker/counter.h"

#include "agent/worker/host.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEVICES        "/sys/bus/event_source/devices"
#define ARM_CPU_CYCLES 0x11
#define ARM_USER_64BIT 3

/* The PMU that owns cpu: the entry whose list of CPUs has it, else the single "cpu". type -1: the
 * host names none. Refuses when there are lists and none has this CPU: the generic event would
 * silently count another kind of core. */
static int find_pmu(int cpu, char *name, size_t size, int64_t *type)
{
	DIR *dir = opendir(DEVICES);
	struct dirent *entry;
	char path[512], list[512];
	bool lists = false, found = false;

	*type = -1;
	snprintf(name, size, "none");
	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "cpu", 3) != 0 && strncmp(entry->d_name, "armv", 4) != 0)
			continue;
		snprintf(path, sizeof path, DEVICES "/%s/cpus", entry->d_name);
		if (fm_host_read(path, list, sizeof list) == FM_OK) {
			lists = true;
			found = fm_host_list_has(list, cpu);
		} else {
			found = strcmp(entry->d_name, "cpu") == 0;
		}
		if (found) {
			snprintf(path, sizeof path, DEVICES "/%s/type", entry->d_name);
			*type = fm_host_number(path);
			snprintf(name, size, "%.39s", entry->d_name);
		}
	}
	if (dir != NULL)
		closedir(dir);
	if (lists && !found)
		return fm_fail(FM_ERR_MISSING, "no PMU of this host lists CPU %d", cpu);
	return FM_OK;
}

static int say_errno(int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return fm_fail(FM_ERR_MISSING, "no PMU on this CPU (%s)",
		        error == ENOENT ? "ENOENT" : strerror(error));
	case EACCES:
	case EPERM:
		return fm_fail(FM_ERR_MISSING, "perf_event_paranoid = %" PRId64,
		        fm_host_number("/proc/sys/kernel/perf_event_paranoid"));
	case ENOSYS:
		return fm_fail(FM_ERR_MISSING, "no perf in this kernel (or emulated)");
	default:
		return fm_fail(FM_ERR_MISSING, "perf_event_open: %s", strerror(error));
	}
}

/* user: the event shall be readable by instruction, which aarch64 wants said when it is opened. */
static int open_event(struct fm_counter *c, int cpu, bool user)
{
	struct perf_event_attr attr;
	int64_t type;
	int rc = find_pmu(cpu, c->pmu, sizeof c->pmu, &type);

	if (rc != FM_OK)
		return rc;
	memset(&attr, 0, sizeof attr);
	attr.size = sizeof attr;
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
#if defined(__aarch64__)
	if (type > PERF_TYPE_MAX) {
		attr.type = (uint32_t)type;
		attr.config = ARM_CPU_CYCLES;
	}
	if (user)
		attr.config1 = ARM_USER_64BIT;
#else
	(void)user;
	if (type >
	        PERF_TYPE_MAX) /* a hybrid's PMU; the generic event would belong to the big cores */
		attr.config |= (uint64_t)type << 32;
#endif
	attr.pinned = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	c->fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (c->fd < 0) {
		c->fd = -1;
		return say_errno(errno);
	}
	return FM_OK;
}

static void close_event(struct fm_counter *c)
{
	if (c->page != NULL)
		munmap(c->page, c->page_size);
	if (c->fd >= 0)
		close(c->fd);
	c->page = NULL;
	c->fd = -1;
}

/* value, time enabled, time running */
static int read_all(struct fm_counter *c, uint64_t all[3])
{
	ssize_t n = read(c->fd, all, 3 * sizeof all[0]);

	if (n == 0)
		return fm_fail(FM_ERR_MEASURE,
		        "the pinned event is in error state: something else owns the counter");
	if (n != (ssize_t)(3 * sizeof all[0]))
		return fm_fail_errno("reading the event");
	return FM_OK;
}

static int read_times(struct fm_counter *c, uint64_t *enabled_ns, uint64_t *running_ns)
{
	uint64_t all[3] = {0};
	int rc = read_all(c, all);

	*enabled_ns = all[1];
	*running_ns = all[2];
	return rc;
}

static int read_by_call(struct fm_counter *c, uint64_t *value)
{
	uint64_t all[3] = {0};
	int rc = read_all(c, all);

	*value = all[0];
	return rc;
}

static int open_read(struct fm_counter *c, int cpu)
{
	return open_event(c, cpu, false);
}

const struct fm_counter_ops fm_counter_perf_read = {
        "perf_read", FM_LABEL_CORE_CYCLES, open_read, read_by_call, read_times, close_event};

/* The register behind the page's index (from 0); false for one that cannot be read here. */
static inline bool read_register(uint32_t index, uint64_t *value)
{
#if defined(__x86_64__)
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	*value = (uint64_t)high << 32 | low;
	return true;
#else
	if (index != 31) /* 31 is the cycle counter itself */
		return false;
	__asm__ volatile("isb\n\tmrs %0, pmccntr_el0" : "=r"(*value) : : "memory");
	return true;
#endif
}

static int read_page(struct fm_counter *c, uint64_t *value)
{
	const volatile struct perf_event_mmap_page *page = c->page;
	uint32_t sequence, index, width;
	uint64_t offset, count;

	do {
		sequence = page->lock;
		__asm__ volatile("" : : : "memory");
		index = page->index;
		offset = (uint64_t)page->offset;
		width = page->pmc_width;
		if (index == 0 || width == 0 || width > 64 || page->cap_user_rdpmc == 0)
			return fm_fail(FM_ERR_MEASURE,
			        "the counter may not be read from user mode (index 0)");
		if (!read_register(index - 1, &count))
			return fm_fail(FM_ERR_MEASURE,
			        "the event is on counter %u, not on the cycle counter", index - 1);
		/* extend the sign of a counter of width bits */
		count = (uint64_t)((int64_t)(count << (64 - width)) >> (64 - width));
		__asm__ volatile("" : : : "memory");
	} while (page->lock != sequence);
	*value = offset + count;
	return FM_OK;
}

static int open_page(struct fm_counter *c, int cpu)
{
	const volatile struct perf_event_mmap_page *page;
	int rc;

#if defined(__aarch64__)
	int64_t allowed = fm_host_number("/proc/sys/kernel/perf_user_access");

	if (allowed < 0)
		return fm_fail(FM_ERR_MISSING, "no kernel.perf_user_access (needs Linux 5.17)");
	if (allowed != 1)
		return fm_fail(FM_ERR_MISSING, "kernel.perf_user_access = %" PRId64, allowed);
#endif
	if ((rc = open_event(c, cpu, true)) != FM_OK)
		return rc;
	c->page_size = (size_t)sysconf(_SC_PAGESIZE);
	c->page = mmap(NULL, c->page_size, PROT_READ, MAP_SHARED, c->fd, 0);
	if (c->page == MAP_FAILED) {
		c->page = NULL;
		rc = fm_fail_errno("mapping the event");
		close_event(c);
		return rc;
	}
	page = c->page;
	if (page->cap_user_rdpmc == 0 || page->index == 0) {
		rc = fm_fail(FM_ERR_MISSING, "the event's page says %s",
		        page->cap_user_rdpmc == 0 ? "cap_user_rdpmc = 0" : "index = 0");
		close_event(c);
		return rc;
	}
	return FM_OK;
}

#if defined(__x86_64__)
const struct fm_counter_ops fm_counter_perf_rdpmc = {
        "perf_rdpmc", FM_LABEL_CORE_CYCLES, open_page, read_page, read_times, close_event};
#else
const struct fm_counter_ops fm_counter_perf_user = {
        "perf_user", FM_LABEL_CORE_CYCLES, open_page, read_page, read_times, close_event};
#endif
