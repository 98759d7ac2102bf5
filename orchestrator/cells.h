/* cells.h: what pages print of one cell and of one build, free of the file it came from: a
 * published record or our own samples. */
#ifndef FM_CELLS_H
#define FM_CELLS_H

#include "orchestrator/record.h"
#include "orchestrator/stats.h"
#include "protocol/path.h"

#define FM_ROUNDS 60
#define FM_LABEL_MAX \
	(FM_NAME_MAX + 16) /* bytes of a label: instance, with "-performance" or "-resource" */

enum fm_count_label {
	FM_COUNT_NONE,
	FM_COUNT_CYCLES,
	FM_COUNT_TICKS
}; /* of a cell; ns is always there */
enum fm_cell_state { FM_CELL_MEASURED, FM_CELL_FAILED, FM_CELL_MISSING, FM_CELL_REJECTED };

/* An attempt that was not accepted. */
struct fm_rejected {
	int64_t process, state, reason, replaced_by, calls, ns, count;
};

struct fm_cell_fig {
	char label[FM_LABEL_MAX + 1], instance[FM_NAME_MAX + 1], key[64];
	int version; /* of recipe.h */
	int64_t bytes;
	enum fm_cell_state state;
	char klass[24], reason[24];
	char *text; /* words of a failure, or NULL */

	int64_t measurements, trials, iterations; /* iterations -1: processes differ in calls */
	double mean_seconds, mean_cycles, mbs; /* mean_cycles NAN: no core cycles of scope user */
	int64_t baseline_rss, peak_rss;        /* bytes of one process; 0: unknown */
	int cpu;

	enum fm_count_label count;           /* what `counted` estimates */
	bool emulated;                       /* times are not comparable */
	bool not_validated;                  /* no known answer to compare with */
	bool no_interval;                    /* profile smoke */
	double hz;                           /* of ticks */
	double mean_ticks;                   /* published mean of ticks per call, or NAN */
	struct fm_estimate counted, seconds; /* over process means per call; counted.n 0: none */
	struct fm_stat_flags flags;          /* of counted if core cycles, else of seconds */
	double *processes; /* means of a flagged cell's processes in time order, of what is shown;
	                      else NULL: shown.n values */
	double *in_rounds; /* profile rigorous: means of the rounds from 1 to FM_ROUNDS, NAN where
	                      there is none: of the counts, and behind them in seconds; else NULL */
	bool disturbed, partial, few_calls; /* partial: the budget ended it */
	char *marks;                        /* further words, joined by "; ", or NULL */
	struct fm_rejected *rejected;
	size_t rejected_count;
};
void fm_cell_fig_free(struct fm_cell_fig *c);

/* A growing list; order: natural label, then bytes, then key. */
struct fm_cells {
	struct fm_cell_fig *list;
	size_t count;
};
void fm_cells_free(struct fm_cells *c);
struct fm_cell_fig *fm_cells_add(struct fm_cells *c); /* zeroed, means NAN; NULL without memory */
void fm_cells_sort(struct fm_cells *c);
const struct fm_cell_fig *fm_cells_find(
        const struct fm_cells *c, const char *label, int64_t bytes); /* NULL if absent */

/* Fills a cell from a published record (a record that is not complete becomes FM_CELL_FAILED). */
FM_CHECK int fm_cell_from_record(const struct fm_record *r, struct fm_cell_fig *out);

/* Estimates and flags from process means: seconds per call, and counts per call (NULL if there are
 * none). */
FM_CHECK int fm_cell_estimate(
        struct fm_cell_fig *c, const double *seconds, const double *counts, size_t n);

/* Does a flag ask for a look at the single processes? */
bool fm_cell_flagged(const struct fm_cell_fig *c);

/* The estimate a page shows: of core cycles where they exist, else of seconds. */
const struct fm_estimate *fm_cell_shown(const struct fm_cell_fig *c);

/* Flags as the pages word them, "–" if none; out is a fresh string to free, NULL without memory. */
char *fm_cell_flags(const struct fm_cell_fig *c);

/* May this cell be ranked? Else why not (a word for pages). */
bool fm_cell_ranked(const struct fm_cell_fig *c, const char **why);

/* An entry of the build list. Strings are owned. */
struct fm_build_fig {
	char label[FM_LABEL_MAX + 1], instance[FM_NAME_MAX + 1];
	int version;
	char *variant, *flags, *kat, *library_sha256, *kat_log, *kat_log_sha256, *library;
	int64_t elf_bytes; /* -1: unknown */
	/* our own only */
	int64_t kat_checked, kat_listed,
	        vectors; /* files that agreed, files that were listed; vector lines that agreed */
	char *not_run, *kat_digest, *build_log, *build_log_sha256, *reason; /* or NULL */
};
struct fm_builds {
	struct fm_build_fig *list;
	size_t count;
};
void fm_builds_free(struct fm_builds *b);
struct fm_build_fig *fm_builds_add(struct fm_builds *b); /* zeroed, elf_bytes -1 */
const struct fm_build_fig *fm_builds_find(const struct fm_builds *b, const char *label);

/* Labels of a page in natural order: the union of cells and builds. *labels: array of pointers into
 * both, free with free. */
FM_CHECK int fm_labels(
        const struct fm_cells *c, const struct fm_builds *b, const char ***labels, size_t *count);

#endif
