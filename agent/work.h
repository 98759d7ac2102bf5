/* work.h: what a running job knows: candidates, units (instance x version), cells and the processes
 * taken so far. */
#ifndef FM_AGENT_WORK_H
#define FM_AGENT_WORK_H

#include "agent/door.h"
#include "agent/elf.h"
#include "agent/facts.h"
#include "agent/hostcheck.h"
#include "agent/mandate.h"
#include "agent/runner.h"
#include "protocol/lines.h"

/* Columns of env/<stem>.process.tsv in their order (FORMATS.md section 11). The first ten are the
 * agent's own. */
#define FM_COLUMNS(X)                                                                           \
	X(process)                                                                              \
	X(attempt)                                                                              \
	X(round)                                                                                \
	X(state)                                                                                \
	X(replaced_by)                                                                          \
	X(reason)                                                                               \
	X(cpu)                                                                                  \
	X(started_ns)                                                                           \
	X(wall_ns)                                                                              \
	X(windows)                                                                              \
	X(first_call_ns)                                                                        \
	X(read_pair_milli)                                                                      \
	X(frame_milli)                                                                          \
	X(truth_permille)                                                                       \
	X(time_enabled_ns)                                                                      \
	X(time_running_ns)                                                                      \
	X(run_delay_ns)                                                                         \
	X(nvcsw) X(nivcsw) X(minflt) X(majflt) X(thread_cpu_ns) X(utime_us) X(stime_us)         \
	        X(steal_ticks) X(throttle_delta) X(temp_start_mc) X(temp_end_mc) X(stack_shift) \
	                X(message_offset) X(digest_offset) X(entry_mod64) X(entry_mod4096)      \
	                        X(width_low_milli) X(width_milli) X(width_high_milli)
enum fm_column {
#define FM_COLUMN_ENUM_(name) FM_COL_##name,
	FM_COLUMNS(FM_COLUMN_ENUM_)
#undef FM_COLUMN_ENUM_
	        FM_COLUMN_COUNT
};
extern const char *const fm_column_names[FM_COLUMN_COUNT];

enum fm_process_state { FM_ACCEPTED, FM_REPLACED, FM_INVALID, FM_PLANNING };
enum fm_process_reason {
	FM_WHY_NONE,
	FM_WHY_PREEMPTED,
	FM_WHY_BLOCKED,
	FM_WHY_QUOTA,
	FM_WHY_STEAL,
	FM_WHY_THERMAL,
	FM_WHY_MAJFAULT,
	FM_WHY_KERNEL_SHARE,
	FM_WHY_CLOCK_OFF,
	FM_WHY_CPU_CHANGED,
	FM_WHY_COUNTER_STOPPED,
	FM_WHY_SIGNAL,
	FM_WHY_GATE_MISMATCH,
	FM_WHY_CANARY,
	FM_WHY_NO_END,
	FM_WHY_TIME_LIMIT,
	FM_WHY_SUPERSEDED,
	FM_WHY_IMPOSSIBLE,
	FM_WHY_SHARED_CORE,
	FM_WHY_COUNT
};
extern const char *const fm_reason_names[FM_WHY_COUNT];

struct fm_process {
	int64_t col[FM_COLUMN_COUNT];
	struct fm_run_window *windows;
	size_t window_count;
};

/* What fleetmark-weigh told of one cell; -1 unknown. Bytes unless the name says KiB. */
struct fm_weight {
	int64_t rss_baseline_kib, rss_peak_kib, io_buffers;
	int64_t stack, heap_requested, heap_usable, allocs, leak, unaccounted;
	char why[FM_HOST_TEXT]; /* why not everything is known, "" */
};

struct fm_unit;
struct fm_cell_work {
	struct fm_unit *unit;
	const char *operation;
	unsigned bytes;
	char stem[220]; /* <instance>__<version>__<operation> */
	char message_sha256[65], digest_sha256[65];
	int64_t t1_ns;
	struct fm_weight weight;
	/* plan */
	unsigned processes; /* planned; with looks the least */
	unsigned most;      /* of them; more than processes: it looks, and goes on if need be */
	unsigned windows;
	uint64_t calls, min_ns;
	uint64_t process_ns; /* what one process takes */
	bool warm, few_calls;
	/* taken */
	struct fm_process *taken;
	size_t taken_count;
	uint64_t used_ns, timed;             /* timed: processes of this dispatch */
	bool unsettled, slope_differs, over; /* over: no more processes */
	const char *stop;
	/* outcome: status NULL while open */
	const char *status, *klass, *reason;
	char text[FM_HOST_TEXT];
};

struct fm_unit {
	const struct fm_jp_instance *instance;
	const struct fm_jp_version *version;
	char stem[150];           /* <instance>__<version> */
	const char *build_status; /* ok, failed, missing */
	char build_reason[FM_HOST_TEXT], library_sha256[65];
	char *flags, *library; /* flags as recorded; absolute path of the shared object */
	bool fallback;
	bool stale; /* while the spool is read: what follows ran another library */
	uint64_t build_ns;
	struct fm_elf sizes;
	int64_t rom_reachable; /* bytes of code and constants that the API reaches, -1 unknown */
	char kat_status[16], kat_reason[FM_HOST_TEXT];
	bool kat_missing;                  /* the host's fault, not the candidate's */
	char kat_token[17];                /* of the gate's last process: its results hold it */
	unsigned kat_limit_s;              /* what that process was given */
	const char *kat_word;              /* then the reason of its cells: memory, else NULL */
	int64_t pace_one_ns, pace_long_ns; /* a call of 1 and of 4096 bytes before the gate, -1 */
	char **properties; /* what the task sound found, owned; property_count of them */
	size_t property_count;
	bool sound; /* the task sound was run to its end */
	int kat_passed, kat_vectors;
	uint64_t kat_ns;
	struct fm_cell_work *cells; /* sorted by bytes of the operation's name */
	size_t cell_count;
};

struct fm_candidate_work {
	const struct fm_jp_candidate *plan;
	const struct fm_dispatch_item *item;
	struct fm_unit *units; /* sorted by instance, version */
	size_t unit_count, cell_count;
	int dir, tree; /* the candidate's work folder below jobs/, its sources below src/ */
	char *path;    /* of dir, absolute */
	struct fm_buf commands; /* build/commands.txt */
	struct fm_lines *spool;
	uint64_t base_ns; /* CLOCK_BOOTTIME from which started_ns of its processes counts */
	char started_at[21], order_seed[17];
	uint64_t started_ns;
	uint64_t timed;      /* processes that were timed so far in this dispatch */
	int64_t width_milli; /* the most its processes say the core did at once, 0 unknown */
	int no_new_privs, landlock, seccomp; /* what the workers reported */
	bool done;                           /* sealed with this nonce before, as sealed_sha256 */
	char sealed_sha256[65];
};

struct fm_tool {
	const char *name;
	char path[FM_HOST_TEXT], version[FM_HOST_TEXT], package[FM_HOST_TEXT], sha256[65];
};

/* One check of the core clock (clockcheck.h); -1 unknown. */
#define FM_CLOCK_CHECKS 64
struct fm_clock_check {
	int64_t hz, iqr_ppm, tick_hz;
};

struct fm_job {
	const struct fm_agent *agent;
	int dir; /* jobs/<campaign> */
	struct fm_mandate mandate;
	struct fm_door door;
	struct fm_lines *progress;
	struct fm_host_facts facts;
	struct fm_counter counter;
	struct fm_checks checks;
	struct fm_tool tools[4];
	struct fm_clock_check clocks[FM_CLOCK_CHECKS]; /* of the candidate that is measured */
	size_t clock_count;
	uint64_t clock_began_ns, clock_last_ns;
	struct fm_candidate_work *candidates;
	size_t candidate_count;
	int cpu;         /* the measured core */
	int64_t cool_mc; /* its temperature before the first process, 0 not read yet, -1 unknown */
	bool emulated, smoke, rigorous;
	char no_message[FM_HOST_TEXT]; /* why there is no 1 GiB message for KAT_2_33, "" */
	char boot[65];
	uint64_t deadline_ns;        /* of the job, CLOCK_BOOTTIME; 0: none */
	uint64_t candidate_end_ns;   /* of the candidate that is being measured; 0: none yet */
	uint64_t said_ns, synced_ns; /* last progress line, last fsync of the spool */
	char stage[16], stage_candidate[FM_NAME_MAX + 1];
	uint64_t stage_done, stage_total, stage_started_ns;
	char over[FM_HOST_TEXT]; /* why the job must end early (lease, deadline), "" */
};

/* Makes candidates, units and cells from the mandate. */
FM_CHECK int fm_work_make(struct fm_job *j);
void fm_work_free(struct fm_job *j);
bool fm_unit_gated(const struct fm_unit *u); /* built, and PASS or NOKAT: may be timed */

/* Closes every cell of the unit that is still open. */
void fm_unit_close(struct fm_unit *u, const char *status, const char *klass, const char *reason,
        const char *text);
void fm_cell_close(struct fm_cell_work *c, const char *status, const char *klass,
        const char *reason, const char *text);

/* Progress: a new stage, one more of it done, a line of words. Every call also takes part in the
 * heartbeat. */
FM_CHECK int fm_job_stage(
        struct fm_job *j, const char *stage, const char *candidate, uint64_t total);
FM_CHECK int fm_job_step(struct fm_job *j);
FM_CHECK int fm_job_note(struct fm_job *j, const char *text);
FM_CHECK int fm_job_cell(
        struct fm_job *j, const struct fm_candidate_work *c, const struct fm_cell_work *cell);

/* Is the time of the candidate that is being measured over? Its open cells end then; the job goes
 * on. */
bool fm_job_late(const struct fm_job *j);

/* For fm_child_serve: door, heartbeat, lease, deadline. */
int fm_job_serve(void *arg);

/* Removes leftovers of broken-off pushes and plans, and all but the newest trees that this plan
 * does not name. */
FM_CHECK int fm_job_tidy(struct fm_job *j);

/* The stages; each goes over all candidates that are not done. */
FM_CHECK int fm_job_build(struct fm_job *j);
FM_CHECK int fm_job_gate(struct fm_job *j);
FM_CHECK int fm_build_unit_again(struct fm_job *j, struct fm_unit *u); /* fallback flags */
FM_CHECK int fm_build_finish(struct fm_job *j); /* writes commands.txt, SOURCES.sha256 */
FM_CHECK int fm_job_measure(struct fm_job *j, struct fm_candidate_work *c);
FM_CHECK int fm_job_bundle(struct fm_job *j, struct fm_candidate_work *c);

/* A pool of children: begin(arg, index, slot, child) starts task index (or leaves child->pid 0:
 * nothing to do), end(arg, index, child) gets it back. slot is 0..width-1. */
FM_CHECK int fm_children_run(size_t count, size_t width,
        int (*begin)(void *, size_t, size_t, struct fm_child *),
        int (*end)(void *, size_t, struct fm_child *), void *arg);

/* Key lines that every order with a library begins with: head, task, library ... cpu. */
FM_CHECK int fm_order_library(struct fm_buf *order, const char *task,
        const struct fm_candidate_work *c, const struct fm_unit *u, int cpu);

/* The n-th CPU this process may use (modulo their number). */
int fm_work_cpu(size_t n);

/* spool.c */
FM_CHECK int fm_spool_open(struct fm_job *j, struct fm_candidate_work *c);
FM_CHECK int fm_spool_add(struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell,
        const struct fm_process *p);
FM_CHECK int fm_spool_sync(struct fm_job *j, struct fm_candidate_work *c, bool now);
/* samples.c: samples/ and env/<stem>.process.tsv of one cell below out. */
FM_CHECK int fm_samples_write(int out, const struct fm_cell_work *cell, const char *label);
/* evidence.c */
FM_CHECK int fm_evidence_write(const struct fm_job *j, const struct fm_candidate_work *c, int out);
/* toolchain.c */
FM_CHECK int fm_toolchain_read(struct fm_job *j);

#endif
