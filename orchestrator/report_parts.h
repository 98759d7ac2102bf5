/* report_parts.h: what the makers of data/ and pages share while a tree is reported: one candidate
 * at a time is held, of the rest only a short row per cell. */
#ifndef FM_REPORT_PARTS_H
#define FM_REPORT_PARTS_H

#include "orchestrator/cells.h"
#include "orchestrator/evidence.h"
#include "orchestrator/page.h"
#include "orchestrator/plan.h"
#include "orchestrator/report.h"
#include "orchestrator/samples.h"
#include "orchestrator/sink.h"
#include "orchestrator/tree.h"
#include "protocol/manifest.h"

/* What stays of a library after its candidate, on one system: the eight sizes of a hash. */
struct fm_brief_cell {
	bool there; /* the size was planned */
	bool emulated;
	enum fm_cell_state state;
	enum fm_count_label count;
	uint32_t measurements;
	double mean_cycles, mean_seconds; /* per call; NAN: none */
	const char *why;   /* a constant word when the cell may not be ranked, else NULL */
	const char *klass; /* kept by the report, "" if it did not fail */
	const char *mark;  /* a constant word for its flag, "" if none */
};
struct fm_brief {
	const struct fm_candidate *candidate; /* of the plan */
	const struct fm_instance *instance;
	int version, system; /* index of the system */
	const char *kat;     /* kept by the report: "PASS, 2 of 4 files", "" if it was not built */
	struct fm_brief_cell size[FM_SIZES];
	/* of 64 KiB, per call: median and its interval (min and max below 6 processes); of cycles,
	 * else of seconds, and of seconds */
	double median, low, high, median_seconds, low_seconds, high_seconds;
};
#define FM_BRIEF_LARGE (FM_SIZES - 1) /* the size of 64 KiB */

/* Texts of an environment that no file holds. */
struct fm_env_store {
	char governor[210], low[24], high[24], cpus[24];
};

/* One system while reporting. */
struct fm_report_system {
	const struct fm_plan_system *plan;
	size_t accepted, failed, missing, rejected; /* cells */
	bool any;      /* an accepted bundle was read: the facts below are there */
	bool emulated; /* its times are not comparable */
	char cpu_model[201], os[201], kernel[201], compiler[201], microcode[201], isolation[16],
	        emulator[32];
	bool virtual_machine;
	char label[16], source[16], scope[16], core_type[64];
	int64_t hz, cpu, memory_kib, nominal_khz, measured_hz, measured_low, measured_high,
	        landlock, seccomp;
	char agent_source[65], started[24], ended[24]; /* host's stamps: first start, last end */
	struct fm_sink_stream builds; /* data/<system>/build.json, entry by entry */
	bool any_build;
	struct fm_env environment; /* as in records; strings in env_strings */
	char *env_strings[FM_ENV_KEYS];
	struct fm_env_store store;
};

/* One candidate on one system. */
struct fm_side {
	struct fm_report_system *system;
	const struct fm_candidate *candidate;
	const struct fm_tree_job *job; /* the dispatch that counts, NULL if none */
	bool have;                     /* evidence was read: bundle folder open as dirfd */
	int dirfd;
	struct fm_evidence evidence;
	struct fm_manifest manifest; /* of the bundle */
	char manifest_sha256[65];
	struct fm_cells cells;   /* sorted */
	struct fm_builds builds; /* in natural order of labels */
};

/* export.c: every cell as one row of data/cells.csv and one object of data/cells.json, every
 * attempt as one row of data/processes.csv; units stand in the names of the columns. */
struct fm_export {
	struct fm_sink_stream cells, json, processes;
	bool any; /* a cell was written */
};

struct fm_report {
	int dirfd;
	struct fm_plan plan;
	struct fm_tree tree;
	struct fm_sink sink;
	struct fm_export export;
	struct fm_report_system *systems; /* inventory order, the base first */
	size_t system_count;
	struct fm_brief *briefs; /* by candidate, then system, then label */
	size_t brief_count;
	struct fm_brief *baselines; /* the same of candidate iccs */
	size_t baseline_count;
	char **words; /* texts that briefs share, each once */
	size_t word_count;
	bool smoke;
	char program[FM_REPORT_PROGRAM_MAX]; /* "fleetmark 0.1.0": who wrote data/ and pages */
	const char *mark; /* of a data set: what every page says of its origin; NULL for a tree */
	bool no_ranks;    /* there is no compare.md in the root */
};

/* Reads plan and tree.json of the tree folder dirfd; base (or NULL) becomes the first system.
 * Nothing is written: r->sink drops what it is given until its dirfd is set. Free with
 * fm_report_close, also after an error. */
FM_CHECK int fm_report_open(struct fm_report *r, int dirfd, const char *base);
void fm_report_close(struct fm_report *r);

/* report_brief.c: keeps what pages of all candidates need of one candidate's cells on a system. */
FM_CHECK int fm_report_keep(struct fm_report *r, const struct fm_side *s, int system);

/* pseudoXOF with these output bits on this system; NULL if it was not planned. */
const struct fm_brief *fm_report_baseline(const struct fm_report *r, int system, int bits);

/* Mean of a call of size k divided by that of a baseline (or NULL), in what both have; NAN: none,
 * or emulated. */
double fm_report_ratio(const struct fm_brief *b, const struct fm_brief *base, int k);

/* page_ratio.c: for the summary, every size of every library divided by pseudoXOF of the same
 * digest length on the same system. */
void fm_page_ratios(struct fm_page *p, const struct fm_report *r, int system);

/* page_kat.c: "PASS, 2 of 4 files", "PASS by 7 vectors", else the status alone. */
void fm_page_kat(const struct fm_build_fig *b, char *out, size_t size);
/* texts: what fm_page_kat gave for one library on each system, "" for none; said once if all agree.
 */
void fm_page_kat_systems(struct fm_page *p, const struct fm_report *r, const char *const *texts);
/* "6 x PASS, 2 of 4 files": each text of the candidate's libraries on that system, and how many
 * have it. */
void fm_page_kat_candidate(
        struct fm_page *p, const struct fm_report *r, const struct fm_candidate *c, int system);

/* report_side.c: reads what is there of a candidate on a system, writes its part of data/ on the
 * way. */
FM_CHECK int fm_side_load(struct fm_report *r, struct fm_report_system *s,
        const struct fm_candidate *c, struct fm_side *out);
void fm_side_free(struct fm_side *s);
const struct fm_ev_memory *fm_side_memory(
        const struct fm_side *s, const struct fm_cell_fig *c); /* NULL: not weighed */
void fm_side_label(const char *instance, int version,
        char out[FM_LABEL_MAX + 1]);       /* instance, instance-performance ... */
int fm_version_index(const char *version); /* of recipe.h, -1 if none */
bool fm_evidence_emulated(const struct fm_evidence *e);

/* page_sound.c: section 3, second part: properties that the soundness checks found; nothing where
 * none were made. */
void fm_page_properties(
        struct fm_page *p, const struct fm_side *s, const char **labels, size_t count);

FM_CHECK int fm_export_begin(struct fm_report *r);
FM_CHECK int fm_export_side(struct fm_report *r, const struct fm_side *s);
struct fm_attempt { /* one process of a cell; -1: unknown */
	int64_t process, attempt, calls, ns, count;
	const char *state, *reason;
};
FM_CHECK int fm_export_process(struct fm_report *r, const struct fm_side *s,
        const struct fm_cell_fig *c, const struct fm_attempt *a);
FM_CHECK int fm_export_end(struct fm_report *r); /* also after an error */

/* data_record.c: the record of one cell, and its figures. */
FM_CHECK int fm_data_record(struct fm_report *r, const struct fm_side *s,
        const struct fm_ev_measured *m, const struct fm_samples *samples, struct fm_cell_fig *fig);
/* "2026-01-02T03:04:05.000123+00:00": a stamp and nanoseconds (below 0: none) behind it. Returns
 * out. */
const char *fm_data_stamp(const char *stamp, int64_t ns, char out[40]);

/* data.c: KAT log copy and build entry of one build; campaign.json of a system and the end of its
 * build.json. */
FM_CHECK int fm_data_begin(struct fm_report *r);
FM_CHECK int fm_data_build(struct fm_report *r, struct fm_side *s, const struct fm_ev_build *b);
FM_CHECK int fm_data_system(struct fm_report *r, struct fm_report_system *s);

/* data_env.c */
FM_CHECK int fm_data_environment(
        struct fm_report_system *s, const struct fm_evidence *e); /* takes in one bundle's facts */
void fm_data_env(const char *system, const struct fm_evidence *e, struct fm_env *env,
        struct fm_env_store *store); /* borrows from e, store */
const char *fm_evidence_compiler(const struct fm_evidence *e);
FM_CHECK int fm_data_kat(const struct fm_side *s, const struct fm_buf *log,
        struct fm_build_fig *f); /* digest and files not run, from a KAT log */

/* data_extra.c: the object `fleetmark` of a record of our own. */
struct fm_extra {
	const struct fm_report *report;
	const struct fm_side *side;
	const struct fm_ev_measured *measured;
	const struct fm_samples *samples;
	const struct fm_cell_fig *fig;
	const struct fm_build_fig *build;
	const struct fm_ev_memory *memory; /* or NULL */
	const double *counts, *seconds;    /* process means */
	size_t n;
	const char *stem;
};
void fm_data_extra(struct fm_jsonp *w, const void *arg);

/* page_model.c: below the figures of section 4. */
struct fm_page;
void fm_page_model(struct fm_page *p, const struct fm_side *s);
void fm_page_derived(struct fm_page *p, const struct fm_side *s);

/* Pages. Each writes its .md and .html through fm_report_page. */
FM_CHECK int fm_page_candidate(struct fm_report *r, const struct fm_side *side);
FM_CHECK int fm_page_compare(
        struct fm_report *r, const struct fm_candidate *c, const struct fm_side *sides);
FM_CHECK int fm_page_compare_all(struct fm_report *r);
FM_CHECK int fm_page_summary(struct fm_report *r, struct fm_report_system *s);
FM_CHECK int fm_page_method(struct fm_report *r, struct fm_report_system *s);
FM_CHECK int fm_page_index(struct fm_report *r); /* index.md and index.html */

/* Writes path (ends in .md) and the HTML page beside it. */
FM_CHECK int fm_report_page(struct fm_report *r, const char *path, struct fm_page *p);

/* Section 2, and sections 5 to 7, of a candidate page. */
void fm_page_environment(struct fm_page *p, const struct fm_side *s);
FM_CHECK int fm_page_resources(struct fm_page *p, const struct fm_side *s);
FM_CHECK int fm_page_evidence(struct fm_page *p, const struct fm_report *r, const struct fm_side *s,
        const char **labels, size_t count);
/* page_candidate.c: section 4. */
FM_CHECK int fm_page_performance(
        struct fm_page *p, const struct fm_report *r, const struct fm_side *s);
/* page_flags.c: a table of what the flags of these cells, and the reasons of their rejected trials,
 * mean; nothing if there are none. */
void fm_page_flags(struct fm_page *p, const struct fm_cells *cells);
void fm_page_spread(struct fm_page *p,
        const struct fm_estimate *e); /* a cell: min and max against the median */

/* Charts, as pictures of the HTML page named file. */
FM_CHECK int fm_chart_candidate(struct fm_page *p, const struct fm_side *s, const char *file);
FM_CHECK int fm_chart_compare(struct fm_page *p, const struct fm_report *r,
        const struct fm_side *sides, const char *label);
/* Strips of the flagged cells with the table of their processes; nothing if none is flagged. */
FM_CHECK int fm_chart_flagged(
        struct fm_page *p, const struct fm_cells *cells, const char *file, const char *title);
FM_CHECK int fm_chart_bars(struct fm_page *p, const struct fm_report *r);

/* Table of what differs between the systems, and a line of what is the same. folder: from the page
 * to the tree's root, "" or "../". */
FM_CHECK int fm_page_environments(struct fm_page *p, const struct fm_report *r, const char *folder);

/* The lines every page begins with behind its title: not for publication, emulated. s may be NULL.
 */
void fm_page_warnings(
        struct fm_page *p, const struct fm_report *r, const struct fm_report_system *s);

/* Words for what a cell of this system counts: "core cycles", "ticks (2445 MHz)", "ns". */
const char *fm_count_words(enum fm_count_label label);

#endif
