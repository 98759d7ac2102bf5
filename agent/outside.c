/* outside.c: what the machine did while a process ran: heat and quota. */
#include "agent/outside.h"

#include "agent/facts.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES_MAX 32

static int64_t number(const char *path)
{
	char text[FM_HOST_TEXT], *end;
	long long value;

	if (!fm_facts_line(path, text))
		return -1;
	value = strtoll(text, &end, 10);
	return end == text ? -1 : value;
}

static int64_t sum(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 ? a : a + b;
}

/* The zone that watches the processor, else the first one. */
static int64_t temperature(void)
{
	char path[96], type[FM_HOST_TEXT];
	int chosen = 0;

	for (int i = 0; i < DEVICES_MAX; i++) {
		snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/type", i);
		if (!fm_facts_line(path, type))
			break;
		if (strcmp(type, "x86_pkg_temp") == 0 || strncmp(type, "cpu", 3) == 0) {
			chosen = i;
			break;
		}
	}
	snprintf(path, sizeof path, "/sys/class/thermal/thermal_zone%d/temp", chosen);
	return number(path);
}

int64_t fm_outside_cooling(void)
{
	char path[96], type[FM_HOST_TEXT];
	int64_t states = -1;

	for (int i = 0; i < DEVICES_MAX; i++) {
		snprintf(path, sizeof path, "/sys/class/thermal/cooling_device%d/type", i);
		if (!fm_facts_line(path, type))
			break;
		if (strncmp(type, "Processor", 9) != 0 && strstr(type, "cpufreq") == NULL)
			continue;
		snprintf(path, sizeof path, "/sys/class/thermal/cooling_device%d/cur_state", i);
		states = sum(states, number(path));
	}
	return states;
}

/* nr_throttled of one folder, -1 if it is not told there. */
static int64_t throttled_in(const char *base, const char *group)
{
	char path[1024], text[1024];
	const char *line;

	snprintf(path, sizeof path, "%s%s/cpu.stat", base, strcmp(group, "/") == 0 ? "" : group);
	if (fm_facts_text(path, text, sizeof text) <= 0 ||
	        (line = strstr(text, "nr_throttled ")) == NULL)
		return -1;
	return strtoll(line + strlen("nr_throttled "), NULL, 10);
}

/* The group and every one above it; group is used up. */
static int64_t throttled_up(const char *base, char *group)
{
	int64_t times = -1;

	for (;;) {
		char *slash = strrchr(group, '/');

		times = sum(times, throttled_in(base, group));
		if (slash == NULL || strcmp(group, "/") == 0)
			return times;
		slash[slash == group] = '\0';
	}
}

/* Times a quota stopped our cgroup: the one hierarchy of today, or the old one of the CPU. */
static int64_t throttled(void)
{
	char text[4096], *line, *next;
	int64_t times = -1;

	if (fm_facts_text("/proc/self/cgroup", text, sizeof text) <= 0)
		return -1;
	for (line = text; line != NULL && *line != '\0'; line = next) {
		char *controllers = strchr(line, ':'), *group;

		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (controllers == NULL || (group = strchr(controllers + 1, ':')) == NULL)
			continue;
		*group++ = '\0';
		controllers++;
		if (group[0] != '/')
			continue;
		if (controllers[0] == '\0')
			times = sum(times, throttled_up("/sys/fs/cgroup", group));
		else if (strcmp(controllers, "cpu") == 0 || strncmp(controllers, "cpu,", 4) == 0)
			times = sum(times, throttled_up("/sys/fs/cgroup/cpu", group));
	}
	return times;
}

void fm_outside_read(int cpu, struct fm_outside *out)
{
	char path[128];

	snprintf(path, sizeof path,
	        "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
	out->throttle = number(path);
	snprintf(path, sizeof path,
	        "/sys/devices/system/cpu/cpu%d/thermal_throttle/package_throttle_count", cpu);
	out->throttle = sum(out->throttle, number(path));
	out->cooling = fm_outside_cooling();
	out->throttled = throttled();
	out->temp_mc = temperature();
}

int64_t fm_outside_since(int64_t before, int64_t after)
{
	return before < 0 || after < 0 ? -1 : after - before;
}
