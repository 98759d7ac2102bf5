/* hostcheck_beside.c: host checks of what shares the measured core, and of what it offers. */
#include "agent/hostcheck_parts.h"
#include "agent/outside.h"

#include <stdlib.h>
#include <string.h>

/* The first CPU of a list such as "0,4" or "2-3" that is not cpu, -1 if there is none. */
static int other_than(int cpu, const char *list)
{
	for (const char *at = list; *at != '\0';) {
		char *end;
		long low = strtol(at, &end, 10), high = low;

		if (end == at)
			return -1;
		if (*end == '-')
			high = strtol(end + 1, &end, 10);
		if (low != cpu)
			return (int)low;
		if (high > low)
			return (int)low + 1;
		at = *end == ',' ? end + 1 : end;
		if (*end != ',')
			return -1;
	}
	return -1;
}

/* Ticks that a CPU was busy, and all its ticks; false where that is not told. */
static bool ticks_of(int cpu, int64_t *busy, int64_t *all)
{
	static char text[1u << 16];
	char key[16];
	const char *line;
	char *end;

	*busy = *all = 0;
	snprintf(key, sizeof key, "\ncpu%d ", cpu);
	if (fm_facts_text("/proc/stat", text, sizeof text) <= 0 ||
	        (line = strstr(text, key)) == NULL)
		return false;
	line += strlen(key);
	for (int i = 0; i < 8;
	        i++, line = end) { /* user nice system idle iowait irq softirq steal */
		int64_t ticks = strtoll(line, &end, 10);

		if (end == line)
			return false;
		*all += ticks;
		*busy += i == 3 || i == 4 ? 0 : ticks;
	}
	return true;
}

static void siblings_path(int cpu, char *path, size_t size)
{
	snprintf(path, size, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
}

void fm_hostcheck_beside_begin(int cpu, struct fm_counter *counter)
{
	char path[160], list[FM_HOST_TEXT];

	counter->sibling = -1;
	siblings_path(cpu, path, sizeof path);
	if (fm_facts_line(path, list))
		counter->sibling = other_than(cpu, list);
	if (counter->sibling >= 0 &&
	        !ticks_of(counter->sibling, &counter->sibling_busy, &counter->sibling_all))
		counter->sibling_all = -1;
}

/* One candidate after the other on one CPU: no two lanes can share a core. */
static void check_lanes(int cpu, struct fm_checks *out)
{
	char value[40];

	snprintf(value, sizeof value, "1 (cpu %d)", cpu);
	fm_hostcheck_add(out, "lanes", "refuse", 1, value, "one process at a time");
}

/* Which of the extensions that hashes use are there; a version that needs another one is refused
 * when it is built. */
static void check_isa(struct fm_checks *out)
{
	static const char *const wanted[] = {"aes", "avx2", "avx512f", "bmi2", "pclmulqdq",
	        "sha_ni", "gfni", "vaes", "asimd", "pmull", "sha1", "sha2", "sha3", "sha512", "sm3",
	        "sm4", "sve", "sve2"};
	static char text[1u << 16];
	char value[FM_HOST_TEXT] = "";
	const char *line = NULL;
	size_t used = 0, length;

	if (fm_facts_text("/proc/cpuinfo", text, sizeof text) > 0 &&
	        (line = strstr(text, "\nflags")) == NULL)
		line = strstr(text, "\nFeatures");
	if (line == NULL) {
		fm_hostcheck_add(out, "isa", "note", -1, "unknown", "/proc/cpuinfo");
		return;
	}
	line++;
	length = strcspn(line, "\n");
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const size_t n = strlen(wanted[i]);

		for (const char *at = line;
		        (at = strstr(at, wanted[i])) != NULL && at < line + length; at += n)
			if (at[-1] == ' ' && (at[n] == ' ' || at[n] == '\n' || at[n] == '\0')) {
				used += (size_t)snprintf(value + used, sizeof value - used, "%s%s",
				        used > 0 ? " " : "", wanted[i]);
				break;
			}
	}
	fm_hostcheck_add(out, "isa", "note", 1, used > 0 ? value : "none of those that hashes use",
	        "/proc/cpuinfo");
}

/* What the other thread of the core has done while the counter was chosen. */
static void check_sibling(const struct fm_counter *c, int cpu, struct fm_checks *out)
{
	char path[160], list[FM_HOST_TEXT], value[FM_HOST_TEXT] = "unknown";
	int64_t busy, all;
	int good = -1;

	siblings_path(cpu, path, sizeof path);
	if (c->sibling < 0 && fm_facts_line(path, list)) {
		snprintf(value, sizeof value, "no other thread on this core");
		good = 1;
	} else if (c->sibling >= 0 && c->sibling_all >= 0 && ticks_of(c->sibling, &busy, &all) &&
	           all > c->sibling_all) {
		const double share =
		        100.0 * (double)(busy - c->sibling_busy) / (double)(all - c->sibling_all);

		snprintf(value, sizeof value, "cpu %d busy for %.1f %% of the check (limit 1 %%)",
		        c->sibling, share);
		good = share < 1;
	}
	fm_hostcheck_add(out, "sibling", "mark", good, value, "/proc/stat");
}

/* Share of the last ten seconds in which something waited for a CPU. */
static void check_pressure(struct fm_checks *out)
{
	static const char path[] = "/proc/pressure/cpu";
	char line[FM_HOST_TEXT], value[FM_HOST_TEXT] = "unknown";
	double share;
	int good = -1;

	if (fm_facts_line(path, line) && sscanf(line, "some avg10=%lf", &share) == 1) {
		snprintf(value, sizeof value,
		        "something waited %.2f %% of ten seconds (limit 1 %%)", share);
		good = share <= 1;
	}
	fm_hostcheck_add(out, "pressure", "mark", good, value, path);
}

/* Devices that hold processors back, 0: none does. */
static void check_cooling(struct fm_checks *out)
{
	const int64_t states = fm_outside_cooling();
	char value[40] = "unknown";

	if (states >= 0)
		snprintf(value, sizeof value, "states together %lld", (long long)states);
	fm_hostcheck_add(out, "cooling", "mark", states < 0 ? -1 : states == 0, value,
	        "/sys/class/thermal/cooling_device*/cur_state");
}

static void check_clocksource(struct fm_checks *out)
{
	static const char path[] =
	        "/sys/devices/system/clocksource/clocksource0/current_clocksource";
	char name[FM_HOST_TEXT];
	const bool known = fm_facts_line(path, name);

	fm_hostcheck_add(out, "clocksource", "note",
	        known ? strcmp(name, "tsc") == 0 || strcmp(name, "arch_sys_counter") == 0 : -1,
	        name, path);
}

/* The switch for counters read from user mode: of the kernel on Arm, of the PMU on x86. */
static void check_user_read(struct fm_checks *out)
{
	static const char *const paths[] = {
	        "/proc/sys/kernel/perf_user_access", "/sys/bus/event_source/devices/cpu/rdpmc"};
	char value[FM_HOST_TEXT];

	for (size_t i = 0; i < 2; i++)
		if (fm_facts_line(paths[i], value)) {
			fm_hostcheck_add(out, "user_read", "note", strtol(value, NULL, 10) >= 1,
			        value, paths[i]);
			return;
		}
	fm_hostcheck_add(out, "user_read", "note", -1, "unknown", paths[0]);
}

void fm_hostcheck_beside(int cpu, const struct fm_counter *counter, struct fm_checks *out)
{
	check_lanes(cpu, out);
	check_isa(out);
	check_sibling(counter, cpu, out);
	check_pressure(out);
	check_cooling(out);
	check_clocksource(out);
	check_user_read(out);
}
