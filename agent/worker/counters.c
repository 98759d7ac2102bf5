/* counters.c: the tasks counters and clock: which counter this CPU offers, and how fast its clocks
 * run. */
#include "agent/worker/counters.h"

#include "agent/worker/clock.h"
#include "agent/worker/host.h"
#include "agent/worker/result.h"
#include "agent/worker/width.h"

#include <stdio.h>

#define LOAD_NS 100000000u
#define WINDOWS 400
#define WINDOW_ROUNDS \
	128 /* 32,768 additions: about 11 us at 3 GHz, so that most windows escape preemption */
#define WINDOWS_BUDGET_NS 2000000000u
#define WIDTHS            101
#define CYCLE_WINDOWS     20
#define CYCLE_ROUNDS      16384 /* about 1.4 ms at 3 GHz */

void fm_counters_tell(const struct fm_counter *c)
{
	fm_result_fact("label", "%s", fm_label_name(c->label));
	fm_result_fact("source", "%s", c->source->name);
	fm_result_fact("scope", "%s", c->scope);
	fm_result_fact("pmu", "%s", c->pmu);
	fm_result_number("hz", (int64_t)c->hz);
	fm_result_number("resolution", (int64_t)c->resolution);
	fm_result_number("read_pair_milli", c->read_pair_milli);
	fm_result_number("truth_permille", c->truth_permille);
}

/* kHz the core is meant to run at, -1 if the host does not say. */
static int64_t nominal_khz(int cpu)
{
	char path[128];
	int64_t base, low, high;

	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/base_frequency", cpu);
	if ((base = fm_host_number(path)) > 0)
		return base;
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_min_freq", cpu);
	low = fm_host_number(path);
	snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_max_freq", cpu);
	high = fm_host_number(path);
	return low > 0 && low == high ? low : -1;
}

static void tell_rate(uint64_t *hz, unsigned n, unsigned permille)
{
	const uint64_t middle = fm_clock_quantile(hz, n, permille);
	const uint64_t spread = fm_clock_quantile(hz, n, 750) - fm_clock_quantile(hz, n, 250);

	fm_result_number("measured_hz", (int64_t)middle);
	fm_result_number(
	        "iqr_ppm", middle == 0 ? -1 : (int64_t)((double)spread * 1e6 / (double)middle));
}

/* Core clock by the addition chain over wall time. A window that lost the CPU only reads low: upper
 * quartile. */
static void rate_by_chain(void)
{
	static uint64_t hz[WINDOWS];
	const uint64_t began = fm_clock_ns();
	unsigned n = 0;

	while (n < WINDOWS && (n < 20 || fm_clock_ns() - began < WINDOWS_BUDGET_NS)) {
		uint64_t ns = fm_clock_ns();

		fm_clock_chain(WINDOW_ROUNDS);
		ns = fm_clock_ns() - ns;
		hz[n++] =
		        ns == 0 ? 0 : (uint64_t)WINDOW_ROUNDS * FM_CHAIN_UNROLL * 1000000000u / ns;
	}
	tell_rate(hz, n, 750);
}

static int rate_by_cycles(struct fm_counter *c)
{
	uint64_t hz[CYCLE_WINDOWS];
	struct fm_count a, b, cycles;

	for (unsigned i = 0; i < CYCLE_WINDOWS; i++) {
		uint64_t ns;
		int rc;

		if ((rc = fm_counter_read(c, &a)) != FM_OK)
			return rc;
		ns = fm_clock_ns();
		fm_clock_chain(CYCLE_ROUNDS);
		ns = fm_clock_ns() - ns;
		if ((rc = fm_counter_read(c, &b)) != FM_OK ||
		        (rc = fm_count_since(a, b, &cycles)) != FM_OK)
			return rc;
		hz[i] = (uint64_t)((double)cycles.value * 1e9 / (double)(ns == 0 ? 1 : ns));
	}
	tell_rate(hz, CYCLE_WINDOWS, 500);
	return FM_OK;
}

/* 100 ms of load; the rate of a tick counter over them, 0 for other counters or when a reading
 * fails. */
static uint64_t load_and_rate(struct fm_counter *c)
{
	struct fm_count a = {0}, b = {0}, ticks;
	uint64_t began, ns;
	int rc = fm_counter_read(c, &a);

	began = fm_clock_ns();
	do
		fm_clock_chain(WINDOW_ROUNDS);
	while ((ns = fm_clock_ns() - began) < LOAD_NS);
	if (rc != FM_OK || fm_counter_read(c, &b) != FM_OK || fm_count_since(a, b, &ticks) != FM_OK)
		return 0;
	return c->label == FM_LABEL_REF_TICKS
	               ? (uint64_t)((double)ticks.value * 1e9 / (double)ns + 0.5)
	               : 0;
}

/* How wide the core is, seen between stretches of load. */
static void tell_width(void)
{
	uint64_t widths[WIDTHS];

	for (unsigned i = 0; i < WIDTHS; i++) {
		fm_clock_chain(WINDOW_ROUNDS);
		widths[i] = (uint64_t)fm_width_probe();
	}
	fm_width_tell(widths, WIDTHS);
}

static void tell_clock(struct fm_counter *c, int cpu, uint64_t tick_hz)
{
	fm_result_number("cpu", cpu);
	fm_result_number("nominal_khz", nominal_khz(cpu));
	if (c->label != FM_LABEL_CORE_CYCLES || rate_by_cycles(c) != FM_OK)
		rate_by_chain();
	fm_result_number("tick_hz", tick_hz == 0 ? -1 : (int64_t)tick_hz);
	tell_width();
}

static void choose(
        const struct fm_order *o, struct fm_counter *c, int *cpu, struct fm_rejected *why)
{
	if (fm_host_pin(o->cpu, cpu) != FM_OK)
		fm_result_fail("pin");
	if (fm_counter_choose(c, *cpu, o->counter == NULL ? "auto" : o->counter, FM_COUNTERS_CHAIN,
	            why) != FM_OK)
		fm_result_fail("counter");
}

void fm_counters_run(const struct fm_order *o)
{
	struct fm_counter c;
	struct fm_rejected why;
	char core_type[32];
	uint64_t tick_hz;
	int cpu;

	choose(o, &c, &cpu, &why);
	tick_hz = load_and_rate(&c);
	if (tick_hz != 0)
		c.hz = tick_hz; /* what was seen, not what a register claims */
	fm_counters_tell(&c);
	for (unsigned i = 0; i < why.count; i++)
		fm_result_fact("rejected", "%s: %s", why.at[i].source, why.at[i].reason);
	fm_host_core_type(cpu, core_type, sizeof core_type);
	fm_result_fact("core_type", "%s", core_type);
	tell_clock(&c, cpu, tick_hz);
	fm_result_ok();
}

void fm_counters_clock_run(const struct fm_order *o)
{
	struct fm_counter c;
	int cpu;

	choose(o, &c, &cpu, NULL);
	tell_clock(&c, cpu, load_and_rate(&c));
	fm_result_ok();
}
