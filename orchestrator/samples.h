/* samples.h: the raw samples of one cell of a bundle: windows and process list, read strictly
 * (FORMATS.md section 11).
 *
 * Used by the acceptance check (V14) and by everything that computes a figure. */
#ifndef FM_SAMPLES_H
#define FM_SAMPLES_H

#include "protocol/buf.h"

#define FM_SAMPLES_LINES     4000000     /* windows of one cell */
#define FM_SAMPLES_PROCESSES 10000       /* attempts of one cell */
#define FM_SAMPLES_FILE_MAX  (64u << 20) /* bytes of one file, the bundle's limit */

/* Columns of env/<stem>.process.tsv, in order. */
/* clang-format off */
#define FM_PROC_COLUMNS_(X) \
	X(PROCESS, process) \
	X(ATTEMPT, attempt) \
	X(ROUND, round) \
	X(STATE, state) \
	X(REPLACED_BY, replaced_by) \
	X(REASON, reason) \
	X(CPU, cpu) \
	X(STARTED_NS, started_ns) \
	X(WALL_NS, wall_ns) \
	X(WINDOWS, windows) \
	X(FIRST_CALL_NS, first_call_ns) \
	X(READ_PAIR_MILLI, read_pair_milli) \
	X(FRAME_MILLI, frame_milli) \
	X(TRUTH_PERMILLE, truth_permille) \
	X(TIME_ENABLED_NS, time_enabled_ns) \
	X(TIME_RUNNING_NS, time_running_ns) \
	X(RUN_DELAY_NS, run_delay_ns) \
	X(NVCSW, nvcsw) \
	X(NIVCSW, nivcsw) \
	X(MINFLT, minflt) \
	X(MAJFLT, majflt) \
	X(THREAD_CPU_NS, thread_cpu_ns) \
	X(UTIME_US, utime_us) \
	X(STIME_US, stime_us) \
	X(STEAL_TICKS, steal_ticks) \
	X(THROTTLE_DELTA, throttle_delta) \
	X(TEMP_START_MC, temp_start_mc) \
	X(TEMP_END_MC, temp_end_mc) \
	X(STACK_SHIFT, stack_shift) \
	X(MESSAGE_OFFSET, message_offset) \
	X(DIGEST_OFFSET, digest_offset) \
	X(ENTRY_MOD64, entry_mod64) \
	X(ENTRY_MOD4096, entry_mod4096) \
	X(WIDTH_LOW_MILLI, width_low_milli) \
	X(WIDTH_MILLI, width_milli) \
	X(WIDTH_HIGH_MILLI, width_high_milli)
/* clang-format on */
enum fm_proc_column {
#define FM_PROC_ENUM_(name, text) FM_PROC_##name,
	FM_PROC_COLUMNS_(FM_PROC_ENUM_)
#undef FM_PROC_ENUM_
	        FM_PROC_COLUMNS
};
extern const char *const fm_proc_name[FM_PROC_COLUMNS];

enum fm_proc_state {
	FM_STATE_ACCEPTED,
	FM_STATE_REPLACED,
	FM_STATE_INVALID,
	FM_STATE_PLANNING,
	FM_STATES
};
extern const char *const fm_state_name[FM_STATES];

#define FM_REASONS 19 /* reason codes of FORMATS.md section 11 */
extern const char *const fm_reason_name[FM_REASONS];

struct fm_proc {
	int64_t column[FM_PROC_COLUMNS]; /* -1: unknown */
	size_t first, windows;           /* its windows in the lists below */
	uint64_t calls, ns, count;       /* sums over its windows; count 0 when the label is ns */
};
struct fm_samples {
	struct fm_proc *processes; /* as listed: process numbers rising */
	size_t process_count;
	uint64_t *process, *calls, *ns, *count,
	        *events; /* one element a window; count NULL when the label is ns */
	size_t windows;
};

/* Reads samples/<stem>.*.txt and env/<stem>.process.tsv of the bundle folder dirfd. label:
 * core_cycles, ref_ticks or ns; a file of another label is an error. Checks: grammar, equal line
 * counts, known and rising process numbers, state and reason in range, a process's windows together
 * and as many as its row says, accepted processes with calls and time above 0 and, with a label, a
 * count above 0. FM_ERR_SAMPLES naming file and line, FM_ERR_SIZE. On an error out is empty. */
FM_CHECK int fm_samples_read(
        int dirfd, const char *stem, const char *label, struct fm_samples *out);
void fm_samples_free(struct fm_samples *s);

/* Processes in a state, and the calls of those. */
size_t fm_samples_count(const struct fm_samples *s, enum fm_proc_state state, uint64_t *calls);

/* Parses one file of samples (decimal integers below 2^64, LF behind each); text may be any bytes.
 * *values is freed by the caller. */
FM_CHECK int fm_samples_column(
        const char *what, const char *text, size_t len, uint64_t **values, size_t *count);

/* Parses a process.tsv: header line and rows; windows and sums are left 0. *rows is freed by the
 * caller. */
FM_CHECK int fm_samples_table(
        const char *what, const char *text, size_t len, struct fm_proc **rows, size_t *count);

#endif
