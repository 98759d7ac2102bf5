/* host.c: what the worker asks the kernel about itself and its CPU. */
#include "agent/worker/host.h"

#include "agent/worker/clock.h"
#include "agent/worker/fake.h"
#include "protocol/hostfile.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Reads fd from its start, whatever was read before. */
static ssize_t read_fd(int fd, char *out, size_t size)
{
	size_t used = 0;
	ssize_t n = 0;

	if (fd >= 0)
		while (used < size - 1 &&
		        (n = pread(fd, out + used, size - 1 - used, (off_t)used)) > 0)
			used += (size_t)n;
	while (used > 0 && out[used - 1] == '\n')
		used--;
	out[used] = '\0';
	return fd < 0 || n < 0 ? -1 : (ssize_t)used;
}

int fm_host_read(const char *path, char *out, size_t size)
{
	size_t len;

	if (fm_hostfile_read(path, out, size) < 0)
		return fm_fail_errno("%s", path);
	for (len = strlen(out); len > 0 && out[len - 1] == '\n'; len--)
		out[len - 1] = '\0';
	return FM_OK;
}

static int64_t number(const char *text)
{
	char *end;
	long long value = strtoll(text, &end, 10);

	return end == text ? -1 : value;
}

int64_t fm_host_number(const char *path)
{
	char text[64];

	return fm_host_read(path, text, sizeof text) == FM_OK ? number(text) : -1;
}

int fm_host_pin(int cpu, int *out)
{
	cpu_set_t set;
	int seen;

	*out = -1;
	if (cpu < 0) {
		if (sched_getaffinity(0, sizeof set, &set) != 0)
			return fm_fail_errno("sched_getaffinity");
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				cpu = i;
	}
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return fm_fail(FM_ERR_SYSTEM, "CPU %d is none this process may use", cpu);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set) != 0)
		return fm_fail_errno("pinning to CPU %d", cpu);
	if ((seen = sched_getcpu()) >= 0 && seen != cpu)
		return fm_fail(FM_ERR_SYSTEM, "pinned to CPU %d, but running on %d", cpu, seen);
	*out = cpu;
	return FM_OK;
}

int fm_host_check_aslr(void)
{
	int now = personality(0xffffffff);

	if (now >= 0 && (now & ADDR_NO_RANDOMIZE) != 0)
		return fm_fail(FM_ERR_CONFIG,
		        "address randomisation is switched off for this process: layouts must "
		        "differ "
		        "between processes; start the agent without setarch -R");
	return FM_OK;
}

bool fm_host_list_has(const char *list, int cpu)
{
	while (*list != '\0') {
		char *end;
		long first = strtol(list, &end, 10), last = first;

		if (end == list)
			return false;
		if (*end == '-') {
			list = end + 1;
			last = strtol(list, &end, 10);
			if (end == list)
				return false;
		}
		if (cpu >= first && cpu <= last)
			return true;
		list = *end == ',' ? end + 1 : end;
		if (*end != ',')
			return false;
	}
	return false;
}

void fm_host_core_type(int cpu, char *out, size_t size)
{
	static const char *const kinds[] = {"cpu_core", "cpu_atom"};
	char path[128], list[256];
	int64_t capacity;

	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/sys/bus/event_source/devices/%s/cpus", kinds[i]);
		if (fm_host_read(path, list, sizeof list) == FM_OK && fm_host_list_has(list, cpu)) {
			snprintf(out, size, "%s", kinds[i]);
			return;
		}
	}
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
	if ((capacity = fm_host_number(path)) >= 0)
		snprintf(out, size, "capacity-%lld", (long long)capacity);
	else
		snprintf(out, size, "unknown");
}

/* The zone that watches the processor, else the first one. */
static int open_temperature(void)
{
	char path[96], type[64];
	int chosen = 0;

	for (int i = 0; i < 32; i++) {
		snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/type", i);
		if (fm_host_read(path, type, sizeof type) != FM_OK)
			break;
		if (strcmp(type, "x86_pkg_temp") == 0 || strncmp(type, "cpu", 3) == 0) {
			chosen = i;
			break;
		}
	}
	snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", chosen);
	return fm_hostfile_open(path);
}

void fm_host_open(struct fm_host *h, int cpu)
{
	static const char *const counts[] = {"core_throttle_count", "package_throttle_count"};
	char path[128];

	h->cpu = cpu;
	h->schedstat = fm_hostfile_open("/proc/self/schedstat");
	h->stat = fm_hostfile_open("/proc/stat");
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/%s",
		        cpu, counts[i]);
		h->throttle[i] = fm_hostfile_open(path);
	}
	h->temperature = open_temperature();
}

/* The eighth number of the line "cpuN ..." of /proc/stat. */
static int64_t steal_ticks(const struct fm_host *h)
{
	static char text[1u << 18]; /* a line per CPU */
	char name[24];
	const char *line;

	if (read_fd(h->stat, text, sizeof text) < 0)
		return -1;
	snprintf(name, sizeof name, "\ncpu%d ", h->cpu);
	if ((line = strstr(text, name)) == NULL)
		return -1;
	line += strlen(name);
	for (int i = 0; i < 7; i++) {
		if ((line = strchr(line, ' ')) == NULL)
			return -1;
		line++;
	}
	return number(line);
}

static int64_t fd_number(int fd)
{
	char text[64];

	return read_fd(fd, text, sizeof text) > 0 ? number(text) : -1;
}

/* Second number of "running waiting slices", both in ns. */
static int64_t run_delay(const struct fm_host *h)
{
	char text[96];
	const char *space;

	if (read_fd(h->schedstat, text, sizeof text) <= 0 || (space = strchr(text, ' ')) == NULL)
		return -1;
	return number(space + 1);
}

void fm_host_moment(const struct fm_host *h, bool slow, struct fm_moment *m)
{
	struct rusage usage;
	struct timespec cpu_time;

#ifdef FLEETMARK_TESTING
	if (fm_fake_moment(h, slow, m))
		return;
#endif
	memset(m, 0xff, sizeof *m); /* all -1 */
	if (slow) {
		int64_t core = fd_number(h->throttle[0]), package = fd_number(h->throttle[1]);

		m->steal_ticks = steal_ticks(h);
		m->throttle = core < 0 ? package : core + (package < 0 ? 0 : package);
		m->temperature_mc = fd_number(h->temperature);
	}
	m->run_delay_ns = run_delay(h);
	if (getrusage(RUSAGE_THREAD, &usage) == 0) {
		m->nvcsw = usage.ru_nvcsw;
		m->nivcsw = usage.ru_nivcsw;
		m->minflt = usage.ru_minflt;
		m->majflt = usage.ru_majflt;
		m->utime_us = (int64_t)usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec;
		m->stime_us = (int64_t)usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec;
	}
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_time) == 0)
		m->thread_cpu_ns = (int64_t)cpu_time.tv_sec * 1000000000 + cpu_time.tv_nsec;
	m->cpu = sched_getcpu();
	m->ns = fm_clock_ns();
}

int64_t fm_host_since(int64_t before, int64_t after)
{
	return before < 0 || after < 0 ? -1 : after - before;
}
