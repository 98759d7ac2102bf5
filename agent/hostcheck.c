/* hostcheck.c: reads what makes a host fit or unfit for measuring; what cannot be read is unknown,
 * never passed. */
#include "agent/hostcheck_parts.h"
#include "agent/runner.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

static void copy(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text == NULL ? "unknown" : text);
}

int fm_hostcheck_counter(const struct fm_agent *a, int cpu, const char *wanted,
        const char *emulator, struct fm_counter *out)
{
	struct fm_buf order = FM_BUF_INIT(4096);
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	struct fm_run run;
	char text[FM_HOST_TEXT];
	int rc;

	memset(out, 0, sizeof *out);
	out->steal_before = fm_hostcheck_steal(cpu);
	fm_hostcheck_beside_begin(cpu, out);
	memset(&run, 0, sizeof run);
	if ((rc = fm_order_begin(&order, "counters")) != FM_OK ||
	        (rc = fm_text_put(&order, "cpu", "%d", cpu)) != FM_OK ||
	        (wanted != NULL && (rc = fm_text_put(&order, "counter", "%s", wanted)) != FM_OK) ||
	        (rc = fm_text_end(&order)) != FM_OK ||
	        (rc = fm_run_once(a, &order, 60000, &child, &run)) != FM_OK)
		goto out;
	if (!fm_run_good(&child, &run)) {
		const char *reason = fm_run_fact(&run, "reason");

		rc = fm_child_good(&child, text, sizeof text) || run.reason != NULL
		             ? fm_fail(FM_ERR_MEASURE, "counters: %s%s%s",
		                       run.reason == NULL ? "no end" : run.reason,
		                       reason == NULL ? "" : ": ", reason == NULL ? "" : reason)
		             : fm_fail(FM_ERR_MEASURE, "counters: worker %s", text);
		goto out;
	}
	copy(out->label, sizeof out->label, fm_run_fact(&run, "label"));
	copy(out->source, sizeof out->source, fm_run_fact(&run, "source"));
	copy(out->scope, sizeof out->scope,
	        strcmp(emulator, "none") != 0 ? "emulated" : fm_run_fact(&run, "scope"));
	copy(out->pmu, sizeof out->pmu, fm_run_fact(&run, "pmu"));
	copy(out->core_type, sizeof out->core_type, fm_run_fact(&run, "core_type"));
	out->hz = fm_run_int(&run, "hz", 0);
	out->resolution = fm_run_int(&run, "resolution", -1);
	out->read_pair_milli = fm_run_int(&run, "read_pair_milli", -1);
	out->truth_permille = fm_run_int(&run, "truth_permille", -1);
	out->nominal_khz = fm_run_int(&run, "nominal_khz", -1);
	out->measured_hz = fm_run_int(&run, "measured_hz", -1);
	out->iqr_ppm = fm_run_int(&run, "iqr_ppm", -1);
	out->tick_hz = fm_run_int(&run, "tick_hz", -1);
	out->width_milli = fm_run_int(&run, "width_high_milli", -1);
	for (size_t i = 0; rc == FM_OK && i < run.fact_count; i++) {
		char **slot;

		if (strcmp(run.facts[i].key, "rejected") != 0)
			continue;
		slot = fm_grow(&out->rejected, &out->rejected_count, sizeof *slot);
		fm_agent_clean(run.facts[i].value, strlen(run.facts[i].value), text);
		if (slot == NULL || (*slot = fm_strdup(text)) == NULL)
			rc = FM_ERR_MEMORY;
	}
out:
	fm_run_free(&run);
	fm_child_free(&child);
	fm_buf_free(&order);
	if (rc != FM_OK)
		fm_counter_free(out);
	return rc;
}

void fm_counter_free(struct fm_counter *c)
{
	for (size_t i = 0; i < c->rejected_count; i++)
		free(c->rejected[i]);
	free(c->rejected);
	c->rejected = NULL;
	c->rejected_count = 0;
}

void fm_hostcheck_add(struct fm_checks *out, const char *check, const char *severity, int good,
        const char *value, const char *source)
{
	struct fm_check *c = &out->at[out->count];

	if (out->count == sizeof out->at / sizeof out->at[0])
		return;
	out->count++;
	c->check = check;
	c->severity = severity;
	c->state = good < 0 ? "unknown" : good > 0 ? "ok" : "bad";
	fm_agent_clean(value, strlen(value), c->value);
	fm_agent_clean(source, strlen(source), c->source);
	if (c->value[0] == '\0')
		memcpy(c->value, "unknown", 8);
}

static void check_pin(struct fm_checks *out, int cpu)
{
	cpu_set_t old, set;
	char value[40];
	int good = -1;

	CPU_ZERO(&set);
	if (cpu >= 0 && cpu < CPU_SETSIZE && sched_getaffinity(0, sizeof old, &old) == 0) {
		CPU_SET((size_t)cpu, &set);
		good = sched_setaffinity(0, sizeof set, &set) == 0 && sched_getcpu() == cpu;
		(void)sched_setaffinity(0, sizeof old, &old);
	}
	snprintf(value, sizeof value, "cpu %d", cpu);
	fm_hostcheck_add(out, "pin", "refuse", good, value, "sched_setaffinity");
}

/* One value of one file that has to be the wanted one. */
static void check_file(struct fm_checks *out, const char *check, const char *severity,
        const char *path, const char *want)
{
	char value[FM_HOST_TEXT];
	bool known = fm_facts_line(path, value);

	fm_hostcheck_add(out, check, severity, known ? strcmp(value, want) == 0 : -1, value, path);
}

static void check_governor(struct fm_checks *out, int cpu)
{
	char path[160], governor[FM_HOST_TEXT], low[FM_HOST_TEXT], high[FM_HOST_TEXT],
	        value[3 * FM_HOST_TEXT];
	bool known;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_min_freq", cpu);
	(void)fm_facts_line(path, low);
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_max_freq", cpu);
	(void)fm_facts_line(path, high);
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu);
	known = fm_facts_line(path, governor);
	snprintf(value, sizeof value, known ? "%s, %s to %s kHz" : "%s", governor, low, high);
	fm_hostcheck_add(out, "governor", "mark",
	        known ? strcmp(governor, "performance") == 0 && strcmp(low, high) == 0 : -1, value,
	        path);
}

static void check_turbo(struct fm_checks *out)
{
	char value[FM_HOST_TEXT];

	if (fm_facts_line("/sys/devices/system/cpu/intel_pstate/no_turbo", value))
		check_file(
		        out, "turbo", "mark", "/sys/devices/system/cpu/intel_pstate/no_turbo", "1");
	else
		check_file(out, "turbo", "mark", "/sys/devices/system/cpu/cpufreq/boost", "0");
}

static void check_smt(struct fm_checks *out, int cpu)
{
	char path[160], value[FM_HOST_TEXT], alone[16];
	bool known;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
	        cpu);
	snprintf(alone, sizeof alone, "%d", cpu);
	known = fm_facts_line(path, value);
	fm_hostcheck_add(out, "smt", "mark", known ? strcmp(value, alone) == 0 : -1, value, path);
}

int64_t fm_hostcheck_steal(int cpu)
{
	static char text[1u << 16];
	char key[16];
	const char *line;
	char *end = NULL;
	unsigned long long ticks = 0;

	snprintf(key, sizeof key, "\ncpu%d ", cpu);
	if (fm_facts_text("/proc/stat", text, sizeof text) <= 0 ||
	        (line = strstr(text, key)) == NULL)
		return -1;
	line += strlen(key);
	for (int i = 0; i < 8; i++, line = end)
		ticks = strtoull(line, &end, 10);
	return (int64_t)ticks;
}

/* Ticks that were taken since before the counter was chosen. */
static void check_steal(struct fm_checks *out, int cpu, int64_t before)
{
	int64_t now = fm_hostcheck_steal(cpu);
	char value[80] = "unknown";

	if (before >= 0 && now >= 0)
		snprintf(value, sizeof value, "%lld ticks while checking, %lld since boot",
		        (long long)(now - before), (long long)now);
	fm_hostcheck_add(out, "steal", "mark", before < 0 || now < 0 ? -1 : now == before, value,
	        "/proc/stat");
}

static void check_load(struct fm_checks *out)
{
	char value[FM_HOST_TEXT];
	const char *slash, *number;
	int good = -1;

	if (fm_facts_line("/proc/loadavg", value) && (slash = strchr(value, '/')) != NULL) {
		number = slash;
		while (number > value && number[-1] != ' ')
			number--;
		good = strtol(number, NULL, 10) <= 2;
	}
	fm_hostcheck_add(out, "load", "mark", good, value, "/proc/loadavg");
}

static void check_quota(struct fm_checks *out)
{
	char own[FM_HOST_TEXT], path[2 * FM_HOST_TEXT], value[FM_HOST_TEXT];
	bool known = false;

	snprintf(path, sizeof path, "/sys/fs/cgroup/cpu.max");
	if (fm_facts_line("/proc/self/cgroup", own) && strncmp(own, "0::/", 4) == 0) {
		snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max",
		        strcmp(own + 3, "/") == 0 ? "" : own + 3);
		known = fm_facts_line(path, value);
	}
	if (!known)
		memcpy(value, "unknown", 8);
	fm_hostcheck_add(
	        out, "quota", "mark", known ? strncmp(value, "max", 3) == 0 : -1, value, path);
}

/* Steadiness of the core clock over short windows, as the worker counted it. */
static void check_clock(struct fm_checks *out, const struct fm_counter *c)
{
	char value[100] = "unknown";
	bool known = c->measured_hz > 0 && c->iqr_ppm >= 0;

	if (known)
		snprintf(value, sizeof value, "%.3f GHz, IQR %.2f %% of the median (limit 0.50 %%)",
		        (double)c->measured_hz / 1e9, (double)c->iqr_ppm / 1e4);
	fm_hostcheck_add(out, "clock", "mark", known ? c->iqr_ppm <= 5000 : -1, value,
	        "addition chain against CLOCK_MONOTONIC_RAW");
}

static void check_thermal(struct fm_checks *out, int cpu)
{
	char path[160], value[FM_HOST_TEXT];
	bool known;

	snprintf(path, sizeof path,
	        "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count", cpu);
	known = fm_facts_line(path, value);
	fm_hostcheck_add(out, "thermal", "mark", known ? strcmp(value, "0") == 0 : -1, value, path);
}

/* 64 MiB for two messages of 8 MiB and their copies. */
static void check_memory(struct fm_checks *out)
{
	char value[FM_HOST_TEXT], text[FM_HOST_TEXT];
	bool known = fm_facts_key("/proc/meminfo", "MemAvailable", value);
	long kib = strtol(value, NULL, 10);

	snprintf(text, sizeof text, known ? "%ld MiB available" : "unknown", kib / 1024);
	fm_hostcheck_add(out, "memory", "refuse", known ? kib >= 65536 : -1, text, "/proc/meminfo");
}

/* The list of isolated CPUs; the kernel gives an empty line for none. */
static void check_isolation(struct fm_checks *out, int cpu)
{
	static const char path[] = "/sys/devices/system/cpu/isolated";
	char text[FM_HOST_TEXT] = "", alone[16];
	bool known = fm_facts_text(path, text, sizeof text) >= 0;

	text[strcspn(text, "\n")] = '\0';
	snprintf(alone, sizeof alone, "%d", cpu);
	fm_hostcheck_add(out, "isolation", "note", known ? strcmp(text, alone) == 0 : -1,
	        !known            ? "unknown"
	        : text[0] == '\0' ? "no CPU is isolated"
	                          : text,
	        path);
}

int fm_hostcheck_run(const struct fm_host_facts *f, int cpu, const struct fm_counter *counter,
        struct fm_checks *out)
{
	char value[4 * FM_HOST_TEXT], paranoid[FM_HOST_TEXT];

	out->count = 0;
	check_pin(out, cpu);
	fm_hostcheck_add(out, "emulator", "mark", strcmp(f->emulator, "none") == 0, f->emulator,
	        "own program as a child sees it");
	fm_hostcheck_add(out, "virtual", "mark", f->virtual_machine == 0,
	        f->virtual_machine != 0 ? "yes" : "no", "/proc/cpuinfo, DMI");
	check_governor(out, cpu);
	check_turbo(out);
	check_smt(out, cpu);
	check_file(out, "aslr", "mark", "/proc/sys/kernel/randomize_va_space", "2");
	check_steal(out, cpu, counter->steal_before);
	check_quota(out);
	check_load(out);
	snprintf(value, sizeof value, "%s (%s), scope %s, %lld Hz", counter->label, counter->source,
	        counter->scope, (long long)counter->hz);
	fm_hostcheck_add(out, "counter", "note", strcmp(counter->label, "core_cycles") == 0, value,
	        "fleetmark-worker, counters");
	(void)fm_facts_line("/proc/sys/kernel/perf_event_paranoid", paranoid);
	fm_hostcheck_add(out, "perf_event_paranoid", "note",
	        strcmp(paranoid, "unknown") == 0 ? -1 : strtol(paranoid, NULL, 10) <= 2, paranoid,
	        "/proc/sys/kernel/perf_event_paranoid");
	check_clock(out, counter);
	check_thermal(out, cpu);
	check_memory(out);
	fm_hostcheck_add(out, "core_type", "note",
	        strcmp(counter->core_type, "unknown") == 0 ? -1 : 1, counter->core_type,
	        "fleetmark-worker, counters");
	check_file(out, "nmi_watchdog", "note", "/proc/sys/kernel/nmi_watchdog", "0");
	check_isolation(out, cpu);
	fm_hostcheck_beside(cpu, counter, out);
	snprintf(value, sizeof value, "kernel %s, microcode %s, %s", f->kernel, f->microcode,
	        f->compiler);
	fm_hostcheck_add(out, "versions", "note", 1, value, "uname, /proc/cpuinfo, gcc --version");
	return FM_OK;
}

/* Percent-encodes like the lines of section 6: everything but 0x21..0x7e without % and =. */
static void encode(const char *text, char *out, size_t size)
{
	size_t used = 0;

	for (; *text != '\0' && used + 4 < size; text++) {
		unsigned char c = (unsigned char)*text;

		if (c > 0x20 && c < 0x7f && c != '%' && c != '=')
			out[used++] = (char)c;
		else
			used += (size_t)snprintf(out + used, size - used, "%%%02X", c);
	}
	out[used] = '\0';
}

int fm_hostcheck_put(struct fm_buf *reply, const struct fm_check *c)
{
	char value[3 * FM_HOST_TEXT], source[3 * FM_HOST_TEXT];

	encode(c->value, value, 400);
	encode(c->source, source, 400);
	return fm_text_put(reply, "host_check", "%s %s %s %s %s", c->check, c->severity, c->state,
	        value, source);
}
