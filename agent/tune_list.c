/* tune_list.c: which settings of this host differ from their tuned values. */
#include "agent/tune.h"

#include "protocol/hostfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU "/sys/devices/system/cpu"

/* The first line of root + path; false if it cannot be read. */
static bool value_of(const char *root, const char *path, char out[FM_TUNE_TEXT])
{
	char full[2 * FM_TUNE_TEXT], text[4096];

	snprintf(full, sizeof full, "%s%s", root, path);
	if (fm_hostfile_read(full, text, sizeof text) <= 0)
		return false;
	snprintf(out, FM_TUNE_TEXT, "%.*s", (int)strcspn(text, "\n"), text);
	return true;
}

/* Listed if the file is there and holds something else. */
static void want(struct fm_tune_items *out, const char *root, const char *path, const char *wanted)
{
	char now[FM_TUNE_TEXT];
	struct fm_tune_item *i = &out->at[out->count];

	/* what is not one word is none of these settings */
	if (out->count == FM_TUNE_MAX || !value_of(root, path, now) || now[0] == '\0' ||
	        strpbrk(now, " \t") != NULL || strcmp(now, wanted) == 0)
		return;
	out->count++;
	snprintf(i->path, sizeof i->path, "%s", path);
	memcpy(i->old, now, sizeof now);
	memcpy(i->now, now, sizeof now);
	snprintf(i->wanted, sizeof i->wanted, "%s", wanted);
	i->outcome = "would";
}

/* The frequency that holds for long: the base one, else the highest without boost. */
static bool steady(const char *root, int cpu, char out[FM_TUNE_TEXT])
{
	static const char *const names[] = {"base_frequency", "cpuinfo_max_freq"};
	char path[FM_TUNE_TEXT];

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, CPU "/cpu%d/cpufreq/%s", cpu, names[i]);
		if (value_of(root, path, out) && strtoll(out, NULL, 10) > 0)
			return true;
	}
	return false;
}

/* Both ends of the range; the one that widens it first, since the kernel refuses min above max. */
static void want_frequency(struct fm_tune_items *out, const char *root, int cpu)
{
	char low[FM_TUNE_TEXT], high[FM_TUNE_TEXT], max[FM_TUNE_TEXT], fixed[FM_TUNE_TEXT];

	snprintf(low, sizeof low, CPU "/cpu%d/cpufreq/scaling_min_freq", cpu);
	snprintf(high, sizeof high, CPU "/cpu%d/cpufreq/scaling_max_freq", cpu);
	if (!steady(root, cpu, fixed) || !value_of(root, high, max))
		return;
	if (strtoll(fixed, NULL, 10) > strtoll(max, NULL, 10)) {
		want(out, root, high, fixed);
		want(out, root, low, fixed);
	} else {
		want(out, root, low, fixed);
		want(out, root, high, fixed);
	}
}

/* "2,6" or "2-3": the others go offline, not SMT as a whole. */
static void want_alone(struct fm_tune_items *out, const char *root, int cpu)
{
	char path[FM_TUNE_TEXT], list[FM_TUNE_TEXT];

	snprintf(path, sizeof path, CPU "/cpu%d/topology/thread_siblings_list", cpu);
	if (!value_of(root, path, list))
		return;
	for (char *at = list; *at >= '0' && *at <= '9';) {
		long first = strtol(at, &at, 10), last = first;

		if (*at == '-')
			last = strtol(at + 1, &at, 10);
		for (long k = first; k <= last && k - first < 64; k++) {
			snprintf(path, sizeof path, CPU "/cpu%ld/online", k);
			if (k != cpu)
				want(out, root, path, "0");
		}
		at += *at == ',';
	}
}

void fm_tune_list(const char *root, int cpu, struct fm_tune_items *out)
{
	static const char paranoid[] = "/proc/sys/kernel/perf_event_paranoid";
	char path[FM_TUNE_TEXT], value[FM_TUNE_TEXT];

	out->count = 0;
	want(out, root, CPU "/intel_pstate/no_turbo", "1");
	want(out, root, CPU "/cpufreq/boost", "0");
	snprintf(path, sizeof path, CPU "/cpu%d/cpufreq/scaling_governor", cpu);
	want(out, root, path, "performance");
	want_frequency(out, root, cpu);
	want_alone(out, root, cpu);
	if (value_of(root, paranoid, value) && strtol(value, NULL, 10) > 2)
		want(out, root, paranoid, "2");
	if (value_of(root, "/sys/bus/event_source/devices/cpu/rdpmc", value) &&
	        strcmp(value, "0") == 0)
		want(out, root, "/sys/bus/event_source/devices/cpu/rdpmc", "1");
	want(out, root, "/proc/sys/kernel/perf_user_access", "1");
	want(out, root, "/proc/sys/kernel/nmi_watchdog", "0");
	want(out, root, "/proc/sys/kernel/randomize_va_space", "2");
}
