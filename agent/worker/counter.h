/* counter.h: counts with their label, and the sources they come from. */
#ifndef FM_WORKER_COUNTER_H
#define FM_WORKER_COUNTER_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a number counts. Ticks and ns are never called cycles. */
enum fm_label {
	FM_LABEL_NS,
	FM_LABEL_REF_TICKS,
	FM_LABEL_CORE_CYCLES,
};
const char *fm_label_name(enum fm_label label);

/* A count cannot be passed on without its label. */
struct fm_count {
	enum fm_label label;
	uint64_t value;
};

/* out = after - before. FM_ERR_MEASURE when the labels differ or the count went backwards; *out is
 * then 0. */
FM_CHECK int fm_count_since(struct fm_count before, struct fm_count after, struct fm_count *out);

struct fm_counter;

/* One source. */
struct fm_counter_source {
	const char *name;
	enum fm_label label;
	/* Opens on the CPU this process is pinned to; refuses with words why the source cannot be
	 * had. */
	int (*open)(struct fm_counter *c, int cpu);
	/* One reading; anything but FM_OK makes the measurement invalid. */
	int (*read)(struct fm_counter *c, uint64_t *value);
	/* Times the event was wanted and was counting, in ns; NULL: the source cannot stop. */
	int (*times)(struct fm_counter *c, uint64_t *enabled_ns, uint64_t *running_ns);
	void (*close)(struct fm_counter *c);
};

extern const struct fm_counter_source fm_counter_perf_rdpmc; /* x86-64 */
extern const struct fm_counter_source fm_counter_perf_user;  /* aarch64 */
extern const struct fm_counter_source fm_counter_perf_read;
extern const struct fm_counter_source fm_counter_perf_read_toggle; /* aarch64 */
extern const struct fm_counter_source fm_counter_tsc;              /* x86-64 */
extern const struct fm_counter_source fm_counter_cntvct;           /* aarch64 */
extern const struct fm_counter_source fm_counter_clock;
extern const struct fm_counter_source fm_counter_rdpmc;   /* x86-64, only when asked for */
extern const struct fm_counter_source fm_counter_pmccntr; /* aarch64, only when asked for */

/* The sources of an architecture ("x86_64", "aarch64"; others have the clock alone) in the order in
 * which they are tried. raw: first the register without an event, which nobody guards. */
const struct fm_counter_source *const *fm_counter_sources(
        const char *arch, bool raw, size_t *count);

struct fm_counter {
	const struct fm_counter_source *source;
	enum fm_label label;
	const char *scope;       /* "user", "emulated" or "wall" */
	char pmu[40];            /* "none" where there is none */
	uint64_t hz;             /* of a constant clock as known at once, 0 unknown */
	uint64_t resolution;     /* smallest step seen, in counts */
	int64_t read_pair_milli; /* median cost of two adjacent readings, thousandths of a count */
	int64_t truth_permille;  /* counts per 1000 core cycles of the chain; -1 not run */
	int fd;                  /* of perf, -1 */
	volatile void *page;     /* of perf, NULL */
	size_t page_size;
};

#define FM_REJECTED_MAX 10
struct fm_rejected {
	unsigned count;
	struct {
		const char *source;
		char reason[200];
	} at[FM_REJECTED_MAX];
};

/* The first source of the guide's order that opens, survives its probe in a child of its own,
 * passes its self-test and (core cycles) the truth test with `chain` additions. wanted: "auto",
 * "raw" (auto, but the register without an event first), or the one source that may be used. why
 * (may be NULL) gets every refusal. FM_ERR_MISSING when nothing is left. The caller closes c. Call
 * before the sandbox: it forks. */
FM_CHECK int fm_counter_choose(
        struct fm_counter *c, int cpu, const char *wanted, uint64_t chain, struct fm_rejected *why);

/* For tests: the same over another list of sources. */
FM_CHECK int fm_counter_choose_from(const struct fm_counter_source *const *list, size_t n,
        struct fm_counter *c, int cpu, const char *wanted, uint64_t chain, struct fm_rejected *why);

void fm_counter_close(struct fm_counter *c);

/* One reading with its label. */
FM_CHECK int fm_counter_read(struct fm_counter *c, struct fm_count *out);

/* Steps and cost of readings; FM_ERR_MEASURE when they are not monotone, stand still, or the event
 * did not always run. */
FM_CHECK int fm_counter_selftest(struct fm_counter *c);

/* Counts per 1000 additions of a dependent chain, median of `runs` (at most 9). Sets
 * truth_permille. FM_ERR_MEASURE outside 990..1030: what is counted are not core cycles. */
FM_CHECK int fm_counter_truth(struct fm_counter *c, uint64_t chain, unsigned runs);

#endif
