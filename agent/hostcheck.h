/* hostcheck.h: is this host fit for measuring? The counter that will be used, and the checks of the
 * guide that can be read. */
#ifndef FM_AGENT_HOSTCHECK_H
#define FM_AGENT_HOSTCHECK_H

#include "agent/facts.h"
#include "protocol/jobtext.h"

/* What `counters` of the worker found; strings are owned. */
struct fm_counter {
	char label[16], source[24], scope[16], pmu[64], core_type[64];
	int64_t hz, resolution, read_pair_milli, truth_permille;
	int64_t nominal_khz, measured_hz, iqr_ppm, tick_hz; /* frequency check; -1 unknown */
	int64_t width_milli;  /* the most the core was seen to do at once; -1 unknown */
	int64_t steal_before; /* ticks of that CPU before it was chosen; -1 unknown */
	int sibling;          /* the other thread of its core, -1: none or unknown */
	int64_t sibling_busy, sibling_all; /* ticks of that one then */
	char **rejected;
	size_t rejected_count;
};

/* Ticks that the hypervisor took from this CPU since boot; -1 unknown. */
int64_t fm_hostcheck_steal(int cpu);

/* Runs the worker's `counters` on that CPU. wanted: "raw", or NULL for the usual order. Under an
 * emulator the scope is `emulated`. */
FM_CHECK int fm_hostcheck_counter(const struct fm_agent *a, int cpu, const char *wanted,
        const char *emulator, struct fm_counter *out);
void fm_counter_free(struct fm_counter *c);

struct fm_check {
	const char *check, *severity,
	        *state; /* severity refuse, mark, note; state ok, bad, unknown */
	char value[FM_HOST_TEXT], source[FM_HOST_TEXT];
};
struct fm_checks {
	struct fm_check at[32];
	size_t count;
};
FM_CHECK int fm_hostcheck_run(const struct fm_host_facts *f, int cpu,
        const struct fm_counter *counter, struct fm_checks *out);

/* One `host_check` line of a reply. */
FM_CHECK int fm_hostcheck_put(struct fm_buf *reply, const struct fm_check *c);

#endif
