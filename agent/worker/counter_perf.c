/* counter_perf.c: user-mode core cycles from one pinned perf event, read by instruction (mapped
 * page) or by read(2). */
#include "agent/worker/counter.h"

#include "agent/worker/host.h"
#include "agent/worker/ops.h"
#include "protocol/hostfile.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES        "/sys/bus/event_source/devices"
#define ARM_CPU_CYCLES 0x11
#define ARM_USER_64BIT 3

/* The PMU that owns a CPU. */
struct pmu {
	char name[40]; /* "none": the host names no PMU */
	bool listed;   /* it has a list of CPUs: other cores have another one */
	int64_t type;  /* for perf_event_open, -1 unknown */
};

/* The entry whose list of CPUs has cpu, else the single "cpu". Refuses when there are lists and
 * none has this CPU: the generic event would silently count another kind of core. */
static int find_pmu(int cpu, struct pmu *pmu)
{
	DIR *dir = fm_hostfile_dir(DEVICES);
	struct dirent *entry;
	char path[512], list[512];
	bool lists = false, found = false;

	*pmu = (struct pmu){.name = "none", .type = -1};
	while (dir != NULL && !found && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "cpu", 3) != 0 && strncmp(entry->d_name, "armv", 4) != 0)
			continue;
		snprintf(path, sizeof path, DEVICES "/%s/cpus", entry->d_name);
		pmu->listed = fm_host_read(path, list, sizeof list) == FM_OK;
		lists = lists || pmu->listed;
		found = pmu->listed ? fm_host_list_has(list, cpu)
		                    : strcmp(entry->d_name, "cpu") == 0;
		if (found) {
			snprintf(path, sizeof path, DEVICES "/%s/type", entry->d_name);
			pmu->type = fm_host_number(path);
			snprintf(pmu->name, sizeof pmu->name, "%.39s", entry->d_name);
		}
	}
	if (dir != NULL)
		closedir(dir);
	if (lists && !found)
		return fm_fail(FM_ERR_MISSING, "no PMU of this host lists CPU %d", cpu);
	return FM_OK;
}

static int say_errno(const char *source, int error)
{
	switch (error) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return fm_fail(FM_ERR_MISSING, "no PMU on this CPU (%s)",
		        error == ENOENT ? "ENOENT" : strerror(error));
	case EACCES:
	case EPERM:
		if (strcmp(source, "perf_user") == 0)
			return fm_fail(FM_ERR_MISSING,
			        "%s: kernel.perf_user_access = %" PRId64
			        ", perf_event_paranoid = %" PRId64,
			        error == EACCES ? "EACCES" : "EPERM",
			        fm_host_number("/proc/sys/kernel/perf_user_access"),
			        fm_host_number("/proc/sys/kernel/perf_event_paranoid"));
		return fm_fail(FM_ERR_MISSING, "%s: perf_event_paranoid = %" PRId64,
		        error == EACCES ? "EACCES" : "EPERM",
		        fm_host_number("/proc/sys/kernel/perf_event_paranoid"));
	case ENOSYS:
		return fm_fail(FM_ERR_MISSING, "ENOSYS: no perf in this kernel (or emulated)");
	default:
		return fm_fail(FM_ERR_MISSING, "perf_event_open: %s", strerror(error));
	}
}

/* user: the event shall be readable by instruction, which aarch64 wants said when it is opened. */
static int open_event(struct fm_counter *c, int cpu, bool user)
{
	struct perf_event_attr attr;
	struct pmu pmu;
	int rc = find_pmu(cpu, &pmu);

	memcpy(c->pmu, pmu.name, sizeof c->pmu);
	if (rc != FM_OK)
		return rc;
	memset(&attr, 0, sizeof attr);
	attr.size = sizeof attr;
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	if (pmu.listed && pmu.type >= 0 && strncmp(pmu.name, "armv", 4) == 0) {
		attr.type = (uint32_t)pmu.type;
		attr.config = ARM_CPU_CYCLES;
	} else if (pmu.listed && pmu.type >= 0) {
		/* a hybrid's PMU; the generic event would belong to the big cores */
		attr.config |= (uint64_t)pmu.type << 32;
	}
	if (user)
		attr.config1 = ARM_USER_64BIT;
	attr.pinned = 1;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	c->fd = fm_ops->open(c->source->name, &attr);
	if (c->fd < 0) {
		int error = -c->fd;

		c->fd = -1;
		return say_errno(c->source->name, error);
	}
	return FM_OK;
}

static void close_event(struct fm_counter *c)
{
	if (c->page != NULL)
		fm_ops->unmap(c->page, c->page_size);
	if (c->fd >= 0)
		fm_ops->close(c->fd);
	c->page = NULL;
	c->fd = -1;
}

/* value, time enabled, time running */
static int read_all(struct fm_counter *c, uint64_t all[3])
{
	ssize_t n = fm_ops->read(c->fd, all);

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

const struct fm_counter_source fm_counter_perf_read = {
        "perf_read", FM_LABEL_CORE_CYCLES, open_read, read_by_call, read_times, close_event};

/* Some cores count only once the event was switched off and on again. */
static int read_toggled(struct fm_counter *c, uint64_t *value)
{
	int rc;

	if (fm_ops->toggle(c->fd, false) != 0)
		return fm_fail_errno("stopping the event");
	rc = read_by_call(c, value);
	if (fm_ops->toggle(c->fd, true) != 0 && rc == FM_OK)
		rc = fm_fail_errno("starting the event");
	return rc;
}

const struct fm_counter_source fm_counter_perf_read_toggle = {
        "perf_read_toggle", FM_LABEL_CORE_CYCLES, open_read, read_toggled, read_times, close_event};

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
		if (!fm_ops->fast_read(index - 1, &count))
			return fm_fail(FM_ERR_MEASURE,
			        "the event is on counter %u, not on the cycle counter", index - 1);
		/* extend the sign of a counter of width bits */
		count = (uint64_t)((int64_t)(count << (64 - width)) >> (64 - width));
		__asm__ volatile("" : : : "memory");
	} while (page->lock != sequence);
	*value = offset + count;
	return FM_OK;
}

static int map_page(struct fm_counter *c)
{
	const volatile struct perf_event_mmap_page *page;

	c->page_size = (size_t)sysconf(_SC_PAGESIZE);
	if ((c->page = fm_ops->map(c->fd, c->page_size)) == NULL)
		return fm_fail_errno("mapping the event");
	page = c->page;
	if (page->cap_user_rdpmc == 0 || page->index == 0)
		return fm_fail(FM_ERR_MISSING, "the event's page says %s",
		        page->cap_user_rdpmc == 0 ? "cap_user_rdpmc = 0" : "index = 0");
	return FM_OK;
}

static int open_page(struct fm_counter *c, int cpu, bool user)
{
	int rc;

	if ((rc = open_event(c, cpu, user)) == FM_OK && (rc = map_page(c)) != FM_OK)
		close_event(c);
	return rc;
}

static int open_rdpmc(struct fm_counter *c, int cpu)
{
	return open_page(c, cpu, false);
}

static int open_user(struct fm_counter *c, int cpu)
{
	int64_t allowed = fm_host_number("/proc/sys/kernel/perf_user_access");

	if (allowed < 0)
		return fm_fail(FM_ERR_MISSING, "no kernel.perf_user_access (needs Linux 5.17)");
	if (allowed != 1)
		return fm_fail(FM_ERR_MISSING, "kernel.perf_user_access = %" PRId64, allowed);
	return open_page(c, cpu, true);
}

const struct fm_counter_source fm_counter_perf_rdpmc = {
        "perf_rdpmc", FM_LABEL_CORE_CYCLES, open_rdpmc, read_page, read_times, close_event};
const struct fm_counter_source fm_counter_perf_user = {
        "perf_user", FM_LABEL_CORE_CYCLES, open_user, read_page, read_times, close_event};

/* The register alone: nobody keeps others from stopping or taking it. */
static int open_raw(struct fm_counter *c, int cpu)
{
	int rc;

	(void)cpu;
	if ((rc = fm_ops->open(c->source->name, NULL)) != 0)
		return say_errno(c->source->name, -rc);
	return FM_OK;
}

static int read_raw(uint32_t index, uint64_t *value)
{
	return fm_ops->fast_read(index, value)
	               ? FM_OK
	               : fm_fail(FM_ERR_MISSING, "no cycle counter on this processor");
}

/* Fixed counter 1 of Intel processors: core cycles. */
static int read_rdpmc(struct fm_counter *c, uint64_t *value)
{
	(void)c;
	return read_raw(1u << 30 | 1, value);
}

static int read_pmccntr(struct fm_counter *c, uint64_t *value)
{
	(void)c;
	return read_raw(31, value);
}

const struct fm_counter_source fm_counter_rdpmc = {
        "rdpmc", FM_LABEL_CORE_CYCLES, open_raw, read_rdpmc, NULL, NULL};
const struct fm_counter_source fm_counter_pmccntr = {
        "pmccntr", FM_LABEL_CORE_CYCLES, open_raw, read_pmccntr, NULL, NULL};
