/* counter.c: chooses the counter in the guide's order and tests it before anybody believes it. */
#include "agent/worker/counter.h"

#include "agent/worker/clock.h"
#include "agent/worker/probe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define READINGS 1000
#define PAIRS    101

static const struct fm_counter_source *const x86_64[] = {&fm_counter_rdpmc, &fm_counter_perf_rdpmc,
        &fm_counter_perf_read, &fm_counter_tsc, &fm_counter_clock};
static const struct fm_counter_source *const aarch64[] = {&fm_counter_pmccntr,
        &fm_counter_perf_user, &fm_counter_perf_read, &fm_counter_perf_read_toggle,
        &fm_counter_cntvct, &fm_counter_clock};
static const struct fm_counter_source *const others[] = {&fm_counter_clock};

#if defined(__x86_64__)
#define ARCH "x86_64"
#elif defined(__aarch64__)
#define ARCH "aarch64"
#else
#define ARCH "other"
#endif

const struct fm_counter_source *const *fm_counter_sources(const char *arch, bool raw, size_t *count)
{
	const struct fm_counter_source *const *list = others;

	*count = sizeof others / sizeof others[0];
	if (strcmp(arch, "x86_64") == 0) {
		list = x86_64;
		*count = sizeof x86_64 / sizeof x86_64[0];
	} else if (strcmp(arch, "aarch64") == 0) {
		list = aarch64;
		*count = sizeof aarch64 / sizeof aarch64[0];
	} else {
		return list;
	}
	if (raw)
		return list;
	--*count;
	return list + 1;
}

const char *fm_label_name(enum fm_label label)
{
	switch (label) {
	case FM_LABEL_NS:
		return "ns";
	case FM_LABEL_REF_TICKS:
		return "ref_ticks";
	case FM_LABEL_CORE_CYCLES:
		return "core_cycles";
	}
	return "unknown";
}

int fm_count_since(struct fm_count before, struct fm_count after, struct fm_count *out)
{
	*out = (struct fm_count){after.label, 0};
	if (before.label != after.label)
		return fm_fail(FM_ERR_MEASURE, "%s and %s are not comparable",
		        fm_label_name(before.label), fm_label_name(after.label));
	if (after.value < before.value)
		return fm_fail(FM_ERR_MEASURE, "%s went from %" PRIu64 " to %" PRIu64,
		        fm_label_name(before.label), before.value, after.value);
	out->value = after.value - before.value;
	return FM_OK;
}

int fm_counter_read(struct fm_counter *c, struct fm_count *out)
{
	out->label = c->label;
	out->value = 0;
	return c->source->read(c, &out->value);
}

void fm_counter_close(struct fm_counter *c)
{
	if (c->source != NULL && c->source->close != NULL)
		c->source->close(c);
	c->source = NULL;
}

/* Smallest step that is not zero; readings must not fall, and must move. */
static int find_resolution(struct fm_counter *c)
{
	struct fm_count last, now, step;
	int rc = fm_counter_read(c, &last);

	c->resolution = 0;
	for (unsigned i = 0; i < READINGS && rc == FM_OK; i++) {
		if ((rc = fm_counter_read(c, &now)) != FM_OK ||
		        (rc = fm_count_since(last, now, &step)) != FM_OK)
			break;
		if (step.value > 0 && (c->resolution == 0 || step.value < c->resolution))
			c->resolution = step.value;
		last = now;
	}
	if (rc == FM_OK && c->resolution == 0) {
		fm_clock_chain(4096); /* a slow clock: give it a millisecond to move */
		if ((rc = fm_counter_read(c, &now)) == FM_OK &&
		        (rc = fm_count_since(last, now, &step)) == FM_OK)
			c->resolution = step.value;
	}
	if (rc == FM_OK && c->resolution == 0)
		rc = fm_fail(FM_ERR_MEASURE, "counter %" PRIu64 " while time passed (%d readings)",
		        last.value, READINGS);
	return rc;
}

static int find_read_pair(struct fm_counter *c)
{
	uint64_t pairs[PAIRS];
	struct fm_count a, b, cost;

	for (unsigned i = 0; i < PAIRS; i++) {
		int rc;

		if ((rc = fm_counter_read(c, &a)) != FM_OK ||
		        (rc = fm_counter_read(c, &b)) != FM_OK ||
		        (rc = fm_count_since(a, b, &cost)) != FM_OK)
			return rc;
		pairs[i] = cost.value;
	}
	c->read_pair_milli = 1000 * (int64_t)fm_clock_quantile(pairs, PAIRS, 500);
	return FM_OK;
}

int fm_counter_selftest(struct fm_counter *c)
{
	uint64_t enabled, running;
	int rc;

	if ((rc = find_resolution(c)) != FM_OK || (rc = find_read_pair(c)) != FM_OK)
		return rc;
	if (c->source->times == NULL)
		return FM_OK;
	if ((rc = c->source->times(c, &enabled, &running)) != FM_OK)
		return rc;
	if (running != enabled)
		return fm_fail(FM_ERR_MEASURE,
		        "the event was counting for %" PRIu64 " of %" PRIu64 " ns", running,
		        enabled);
	return FM_OK;
}

int fm_counter_truth(struct fm_counter *c, uint64_t chain, unsigned runs)
{
	uint64_t permille[9];
	const uint64_t rounds = chain / FM_CHAIN_UNROLL + 1, additions = rounds * FM_CHAIN_UNROLL;
	struct fm_count a, b, cost;

	if (runs == 0 || runs > 9)
		return fm_fail(FM_ERR_INTERNAL, "truth test with %u runs", runs);
	for (unsigned i = 0; i < runs; i++) {
		int rc;

		if ((rc = fm_counter_read(c, &a)) != FM_OK)
			return rc;
		fm_clock_chain(rounds);
		if ((rc = fm_counter_read(c, &b)) != FM_OK ||
		        (rc = fm_count_since(a, b, &cost)) != FM_OK)
			return rc;
		permille[i] = (cost.value * 1000 + additions / 2) / additions;
	}
	c->truth_permille = (int64_t)fm_clock_quantile(permille, runs, 500);
	if (c->truth_permille < 990 || c->truth_permille > 1030)
		return fm_fail(FM_ERR_MEASURE,
		        "truth test: %" PRId64 " counts per 1000 core cycles, allowed are 990 to "
		        "1030; these are not core cycles",
		        c->truth_permille);
	return FM_OK;
}

/* For the probe's child: opens and reads; only a signal matters there. */
struct attempt {
	const struct fm_counter_source *source;
	int cpu;
};

/* QEMU's own CPU tells by its hypervisor signature that cycles here are emulated instructions. */
static bool is_emulated(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;
	char signature[12];

	if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1u << 31)) == 0)
		return false;
	__cpuid(0x40000000, a, b, c, d);
	memcpy(signature, &b, 4);
	memcpy(signature + 4, &c, 4);
	memcpy(signature + 8, &d, 4);
	return memcmp(signature, "TCGTCGTCGTCG", 12) == 0;
#else
	return false;
#endif
}

static void init(struct fm_counter *c, const struct fm_counter_source *source)
{
	memset(c, 0, sizeof *c);
	c->source = source;
	c->label = source->label;
	c->scope = source->label != FM_LABEL_CORE_CYCLES ? "wall"
	           : is_emulated()                       ? "emulated"
	                                                 : "user";
	c->fd = -1;
	c->truth_permille = -1;
	snprintf(c->pmu, sizeof c->pmu, "none");
}

static void try_reading(void *arg)
{
	const struct attempt *a = arg;
	struct fm_counter c;
	uint64_t value;

	init(&c, a->source);
	if (a->source->open(&c, a->cpu) == FM_OK)
		for (unsigned i = 0; i < 3; i++)
			(void)a->source->read(&c, &value);
}

static int try_source(
        const struct fm_counter_source *source, struct fm_counter *c, int cpu, uint64_t chain)
{
	struct attempt attempt = {source, cpu};
	int rc;

	init(c, source);
	if ((rc = fm_probe(try_reading, &attempt)) != FM_OK)
		return rc;
	if ((rc = source->open(c, cpu)) != FM_OK)
		return rc;
	if ((rc = fm_counter_selftest(c)) == FM_OK && source->label == FM_LABEL_CORE_CYCLES)
		rc = fm_counter_truth(c, chain, 9);
	if (rc != FM_OK && source->close != NULL)
		source->close(c);
	return rc;
}

static void reject(struct fm_rejected *why, const char *source)
{
	if (why == NULL || why->count >= FM_REJECTED_MAX)
		return;
	why->at[why->count].source = source;
	snprintf(why->at[why->count].reason, sizeof why->at[0].reason, "%s", fm_error_text());
	why->count++;
}

int fm_counter_choose_from(const struct fm_counter_source *const *list, size_t n,
        struct fm_counter *c, int cpu, const char *wanted, uint64_t chain, struct fm_rejected *why)
{
	const bool any = strcmp(wanted, "auto") == 0;
	bool known = any;

	if (why != NULL)
		why->count = 0;
	for (size_t i = 0; i < n; i++) {
		if (!any && strcmp(wanted, list[i]->name) != 0)
			continue;
		known = true;
		if (try_source(list[i], c, cpu, chain) == FM_OK)
			return FM_OK;
		reject(why, list[i]->name);
	}
	init(c, &fm_counter_clock);
	c->source = NULL;
	if (!known)
		return fm_fail(
		        FM_ERR_MISSING, "counter %s is not known on this architecture", wanted);
	return fm_wrap(FM_ERR_MISSING, "counter %s", wanted);
}

int fm_counter_choose(
        struct fm_counter *c, int cpu, const char *wanted, uint64_t chain, struct fm_rejected *why)
{
	const bool named = strcmp(wanted, "auto") != 0 && strcmp(wanted, "raw") != 0;
	size_t count;
	const struct fm_counter_source *const *list =
	        fm_counter_sources(ARCH, strcmp(wanted, "auto") != 0, &count);

	return fm_counter_choose_from(list, count, c, cpu, named ? wanted : "auto", chain, why);
}
