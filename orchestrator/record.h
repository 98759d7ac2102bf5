/* record.h: a timing record of the published schema 2: read, written byte for byte, its statistics
 * recomputed.
 *
 * Records of our own end with one more key, the object `fleetmark` (derived.h writes it). The order
 * of the fields in the file is the order of the structs here. */
#ifndef FM_RECORD_H
#define FM_RECORD_H

#include "orchestrator/jsonp.h"

#define FM_RECORD_MAX (8u << 20) /* bytes of one record */

/* environment: keys in stored order; a value is absent, null, text, number or truth. */
enum fm_env_key {
	FM_ENV_HOSTNAME,
	FM_ENV_ARCHITECTURE,
	FM_ENV_CPU_MODEL,
	FM_ENV_MACHINE,
	FM_ENV_CPU_NUMBER,
	FM_ENV_LOGICAL_CPUS,
	FM_ENV_VIRTUALIZED,
	FM_ENV_MEMORY_KIB,
	FM_ENV_OS,
	FM_ENV_KERNEL,
	FM_ENV_COMPILER,
	FM_ENV_CMAKE,
	FM_ENV_PYTHON,
	FM_ENV_PARANOID,
	FM_ENV_GOVERNOR,
	FM_ENV_DRIVER,
	FM_ENV_MIN_KHZ,
	FM_ENV_MAX_KHZ,
	FM_ENV_AVG_KHZ,
	FM_ENV_NO_TURBO,
	FM_ENV_BOOST,
	FM_ENV_SMT,
	FM_ENV_CLOCK_HZ,
	FM_ENV_CLOCK_MIN_HZ,
	FM_ENV_CLOCK_MAX_HZ,
	FM_ENV_CLOCK_MHZ,
	FM_ENV_KEYS
};
enum fm_env_kind { FM_ENV_ABSENT, FM_ENV_NULL, FM_ENV_TEXT, FM_ENV_NUMBER, FM_ENV_TRUTH };
struct fm_env {
	struct {
		enum fm_env_kind kind;
		const char *text;
		int64_t number; /* or 0 / 1 of a truth */
	} value[FM_ENV_KEYS];
};
extern const char *const fm_env_name[FM_ENV_KEYS];
void fm_env_text(struct fm_env *env, enum fm_env_key key, const char *text); /* NULL: null */
void fm_env_number(struct fm_env *env, enum fm_env_key key, int64_t number);
void fm_env_truth(struct fm_env *env, enum fm_env_key key, bool truth);
const char *fm_env_get(const struct fm_env *env, enum fm_env_key key); /* text, or NULL */

/* processes[].meta: all text, in this order; NULL is absent. */
enum fm_meta_key {
	FM_META_ID,
	FM_META_INSTANCE,
	FM_META_VARIANT,
	FM_META_OPERATION,
	FM_META_INPUT_BYTES,
	FM_META_BUILD_FLAGS,
	FM_META_BASELINE_RSS,
	FM_META_PK,
	FM_META_SK,
	FM_META_CT,
	FM_META_SS,
	FM_META_SIGNATURE,
	FM_META_DIGEST,
	FM_META_MODE,
	FM_META_CYCLES_AVAILABLE,
	FM_META_TIMING_SCOPE,
	FM_META_WARMUPS,
	FM_META_PEAK_RSS,
	FM_META_COUNT,
	FM_META_GUIDE_100,
	FM_META_KEYS
};
extern const char *const fm_meta_name[FM_META_KEYS];

struct fm_trial {
	int64_t measurements;
	double seconds;
	int64_t cycles; /* core cycles, user mode; 0: none. Ticks never come here */
};
struct fm_process {
	const char *status;
	int64_t exit_code;
	const char *meta[FM_META_KEYS];
	struct fm_trial *trials; /* of this process; published: one */
	size_t trial_count;
	const char *stderr_text;
	const char **command;
	size_t command_count;
	double wall_s;
	int64_t disturbed_retries;
};

struct fm_record {
	const char *status, *candidate, *label, *instance, *variant, *flags, *operation;
	int64_t input_bytes;
	int64_t iterations_per_trial, warmups,
	        trials_planned; /* -1: null (processes differ in calls) */
	bool separate_processes;
	double estimated_s, timeout_per_process_s; /* NAN: null */
	const char *kat;
	bool kat_not_passed;
	int64_t disturbed_retries;
	const char *library, *library_sha256, *kat_log, *kat_log_sha256, *started_utc, *ended_utc;
	double load_start[3], load_end[3]; /* NAN: the list is empty */
	struct fm_env environment;
	struct fm_process *processes;
	size_t process_count;
	struct fm_trial *trials;
	size_t trial_count;
	/* statistics: fm_record_statistics fills them from the trials */
	int64_t measurements;
	bool guide_100;
	double mean_seconds, median_trial_seconds, min_trial_seconds, max_trial_seconds;
	double mean_cycles, median_trial_cycles; /* NAN: null */
	double operations_per_second, throughput_mb;
	int64_t pk_bytes, sk_bytes, ct_bytes, ss_bytes, signature_bytes, digest_bytes;
	const char *build_flags;
	int64_t baseline_rss_bytes, peak_rss_bytes;
	const char *timing_scope;
	bool complete; /* status is `complete`; otherwise only the head up to input_bytes was read
	                */
	bool own;      /* has the object `fleetmark`, which says: */
	bool emulated, smoke; /* times are not comparable; profile smoke */
	bool ticks;           /* its count is ref_ticks */

	void *document; /* what the strings point into, when read from a file */
	char **owned;
	size_t owned_count;
};
void fm_record_free(struct fm_record *r);

/* A copy of text that lives as long as the record; NULL without memory. */
const char *fm_record_keep(struct fm_record *r, const char *text);

/* Statistics from trials (and processes' resident sizes when `sizes`): the formulas of the
 * published harness, Neumaier sums of seconds, integer sums of cycles. At least one trial with at
 * least one call each. FM_ERR_FORM, FM_ERR_MEMORY. */
FM_CHECK int fm_record_statistics(struct fm_record *r, bool sizes);

/* Reads one record strictly; what names it in errors. Fields that belong together are compared:
 * file name, trials and processes, statistics (bit for bit). FM_ERR_FORM "<what>: <field>: ...". */
FM_CHECK int fm_record_read(const char *what, const char *bytes, size_t len, struct fm_record *out);

/* environment of a record or campaign.json: unknown keys are refused. */
struct fm_json_node;
FM_CHECK int fm_env_read(const char *what, const struct fm_json_node *object, struct fm_env *out);

/* Operation key: operation, plus _<input_bytes> unless that is 0. out has 64 bytes. */
const char *fm_record_key(const struct fm_record *r, char out[64]);

/* Prints the record; extra (may be NULL) adds the object `fleetmark`. */
typedef void fm_record_extra(struct fm_jsonp *w, const void *arg);
FM_CHECK int fm_record_write(
        const struct fm_record *r, fm_record_extra *extra, const void *arg, struct fm_buf *out);
void fm_env_write(struct fm_jsonp *w, const char *key, const struct fm_env *env);

#endif
