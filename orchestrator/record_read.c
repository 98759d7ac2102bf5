/* record_read.c: reads one published timing record strictly and compares what must agree. */
#include "orchestrator/jsonr.h"
#include "orchestrator/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PROCESSES 10000
#define MOST_WORDS     256

static int text_or_null(const struct fm_json_node *o, const char *key, const char **out)
{
	*out = NULL;
	return fm_json_has(o, key) && fm_json_is_null(o, key) ? FM_OK : fm_json_str(o, key, out);
}

static int double_or_null(const struct fm_json_node *o, const char *key, double *out)
{
	*out = NAN;
	return fm_json_has(o, key) && fm_json_is_null(o, key) ? FM_OK : fm_json_double(o, key, out);
}

static int read_trials(const struct fm_json_node *o, struct fm_trial **out, size_t *count)
{
	const struct fm_json_node *list, *t;
	struct fm_trial *slot;
	int rc;

	if ((rc = fm_json_array(o, "trials", &list)) != FM_OK)
		return rc;
	if (fm_json_count(list) > MOST_PROCESSES)
		return fm_fail(FM_ERR_SIZE, "trials: more than %d", MOST_PROCESSES);
	for (t = fm_json_first(list); t != NULL; t = fm_json_next(t)) {
		if ((slot = fm_grow(out, count, sizeof *slot)) == NULL)
			return FM_ERR_MEMORY;
		if ((rc = fm_json_only(t, "measurements seconds cycles")) != FM_OK ||
		        (rc = fm_json_int(t, "measurements", &slot->measurements)) != FM_OK ||
		        (rc = fm_json_double(t, "seconds", &slot->seconds)) != FM_OK ||
		        (rc = fm_json_int(t, "cycles", &slot->cycles)) != FM_OK)
			return fm_wrap(rc, "trials: %zu", *count - 1);
	}
	return FM_OK;
}

static int read_command(const struct fm_json_node *o, struct fm_process *p)
{
	const struct fm_json_node *list, *w;
	const char **slot;
	int rc;

	if ((rc = fm_json_array(o, "command", &list)) != FM_OK)
		return rc;
	if (fm_json_count(list) > MOST_WORDS)
		return fm_fail(FM_ERR_SIZE, "command: more than %d words", MOST_WORDS);
	for (w = fm_json_first(list); w != NULL; w = fm_json_next(w)) {
		if ((slot = fm_grow(&p->command, &p->command_count, sizeof *slot)) == NULL)
			return FM_ERR_MEMORY;
		if ((*slot = fm_json_text(w)) == NULL)
			return fm_fail(
			        FM_ERR_FORM, "command: %zu: not a text", p->command_count - 1);
	}
	return FM_OK;
}

static int read_process(const struct fm_json_node *o, struct fm_process *p)
{
	const struct fm_json_node *meta;
	int rc;

	if ((rc = fm_json_only(
	             o, "status exit_code meta trials stderr command wall_s disturbed_retries")) !=
	                FM_OK ||
	        (rc = fm_json_str(o, "status", &p->status)) != FM_OK ||
	        (rc = fm_json_int(o, "exit_code", &p->exit_code)) != FM_OK ||
	        (rc = fm_json_object(o, "meta", &meta)) != FM_OK)
		return rc;
	for (const struct fm_json_node *m = fm_json_first(meta); m != NULL; m = fm_json_next(m)) {
		int k = 0;
		while (k < FM_META_KEYS && strcmp(fm_meta_name[k], fm_json_key(m)) != 0)
			k++;
		if (k == FM_META_KEYS || (p->meta[k] = fm_json_text(m)) == NULL)
			return fm_fail(
			        FM_ERR_FORM, "meta: %.60s: unknown, or not a text", fm_json_key(m));
	}
	if ((rc = read_trials(o, &p->trials, &p->trial_count)) != FM_OK ||
	        (rc = fm_json_str(o, "stderr", &p->stderr_text)) != FM_OK ||
	        (rc = read_command(o, p)) != FM_OK ||
	        (rc = fm_json_double(o, "wall_s", &p->wall_s)) != FM_OK ||
	        (rc = fm_json_int(o, "disturbed_retries", &p->disturbed_retries)) != FM_OK)
		return rc;
	return FM_OK;
}

static int read_processes(const struct fm_json_node *o, struct fm_record *r)
{
	const struct fm_json_node *list, *p;
	struct fm_process *slot;
	int rc;

	if ((rc = fm_json_array(o, "processes", &list)) != FM_OK)
		return rc;
	if (fm_json_count(list) > MOST_PROCESSES)
		return fm_fail(FM_ERR_SIZE, "processes: more than %d", MOST_PROCESSES);
	for (p = fm_json_first(list); p != NULL; p = fm_json_next(p)) {
		if ((slot = fm_grow(&r->processes, &r->process_count, sizeof *slot)) == NULL)
			return FM_ERR_MEMORY;
		if ((rc = read_process(p, slot)) != FM_OK)
			return fm_wrap(rc, "processes: %zu", r->process_count - 1);
	}
	return FM_OK;
}

static int read_plan(const struct fm_json_node *o, struct fm_record *r)
{
	const struct fm_json_node *plan;
	int rc;

	if ((rc = fm_json_object(o, "plan", &plan)) != FM_OK)
		return rc;
	r->iterations_per_trial = -1;
	if ((rc = fm_json_only(plan,
	             "iterations_per_trial warmups trials separate_processes estimated_s "
	             "timeout_per_process_s")) != FM_OK ||
	        (!fm_json_is_null(plan, "iterations_per_trial") &&
	                (rc = fm_json_int(plan, "iterations_per_trial",
	                         &r->iterations_per_trial)) != FM_OK) ||
	        (rc = fm_json_int(plan, "warmups", &r->warmups)) != FM_OK ||
	        (rc = fm_json_int(plan, "trials", &r->trials_planned)) != FM_OK ||
	        (rc = fm_json_bool(plan, "separate_processes", &r->separate_processes)) != FM_OK ||
	        (rc = double_or_null(plan, "estimated_s", &r->estimated_s)) != FM_OK ||
	        (rc = double_or_null(plan, "timeout_per_process_s", &r->timeout_per_process_s)) !=
	                FM_OK)
		return fm_wrap(rc, "plan");
	return FM_OK;
}

static int read_load(const struct fm_json_node *o, const char *key, double load[3])
{
	const struct fm_json_node *list, *n;
	int i = 0, rc;

	load[0] = load[1] = load[2] = NAN;
	if ((rc = fm_json_array(o, key, &list)) != FM_OK)
		return rc;
	for (n = fm_json_first(list); n != NULL; n = fm_json_next(n))
		if (i == 3 || !fm_json_number(n, &load[i++]))
			return fm_fail(FM_ERR_FORM, "%s: three numbers are allowed, or none", key);
	return i == 0 || i == 3
	               ? FM_OK
	               : fm_fail(FM_ERR_FORM, "%s: three numbers are allowed, or none", key);
}

static int read_head(const struct fm_json_node *o, struct fm_record *r)
{
	int64_t schema;
	int rc;

	if ((rc = fm_json_int(o, "schema", &schema)) != FM_OK)
		return rc;
	if (schema != 2)
		return fm_fail(FM_ERR_FORM, "schema: read %lld, allowed is 2", (long long)schema);
	if ((rc = fm_json_str(o, "status", &r->status)) != FM_OK ||
	        (rc = fm_json_str(o, "candidate", &r->candidate)) != FM_OK ||
	        (rc = fm_json_str(o, "label", &r->label)) != FM_OK ||
	        (rc = fm_json_str(o, "instance", &r->instance)) != FM_OK ||
	        (rc = fm_json_str(o, "variant", &r->variant)) != FM_OK ||
	        (rc = fm_json_str(o, "flags", &r->flags)) != FM_OK ||
	        (rc = fm_json_str(o, "operation", &r->operation)) != FM_OK ||
	        (rc = fm_json_int(o, "input_bytes", &r->input_bytes)) != FM_OK)
		return rc;
	if (r->input_bytes < 0 || r->input_bytes > 1 << 30)
		return fm_fail(FM_ERR_FORM, "input_bytes: read %lld, allowed is 0 to 2^30",
		        (long long)r->input_bytes);
	r->complete = strcmp(r->status, "complete") == 0;
	if (!r->complete && strcmp(r->status, "failed_or_partial") != 0)
		return fm_fail(FM_ERR_FORM,
		        "status: read %.40s, allowed are complete, failed_or_partial", r->status);
	return FM_OK;
}

static int read_middle(const struct fm_json_node *o, struct fm_record *r)
{
	const struct fm_json_node *env;
	int rc;

	if ((rc = read_plan(o, r)) != FM_OK || (rc = fm_json_str(o, "kat", &r->kat)) != FM_OK ||
	        (rc = fm_json_bool(o, "kat_not_passed", &r->kat_not_passed)) != FM_OK ||
	        (rc = fm_json_int(o, "disturbed_retries", &r->disturbed_retries)) != FM_OK ||
	        (rc = text_or_null(o, "library", &r->library)) != FM_OK ||
	        (rc = fm_json_str(o, "library_sha256", &r->library_sha256)) != FM_OK ||
	        (rc = text_or_null(o, "kat_log", &r->kat_log)) != FM_OK ||
	        (rc = text_or_null(o, "kat_log_sha256", &r->kat_log_sha256)) != FM_OK ||
	        (rc = fm_json_str(o, "started_utc", &r->started_utc)) != FM_OK ||
	        (rc = fm_json_str(o, "ended_utc", &r->ended_utc)) != FM_OK ||
	        (rc = read_load(o, "load_average_start", r->load_start)) != FM_OK ||
	        (rc = read_load(o, "load_average_end", r->load_end)) != FM_OK ||
	        (rc = fm_json_object(o, "environment", &env)) != FM_OK)
		return rc;
	if ((rc = fm_env_read(r->label, env, &r->environment)) != FM_OK)
		return rc;
	if ((rc = read_processes(o, r)) != FM_OK ||
	        (rc = read_trials(o, &r->trials, &r->trial_count)) != FM_OK)
		return rc;
	return FM_OK;
}

static int read_sizes(const struct fm_json_node *o, struct fm_record *r)
{
	const struct fm_json_node *sizes, *kex;
	int64_t input;
	int rc;

	if ((rc = fm_json_object(o, "sizes", &sizes)) != FM_OK)
		return rc;
	if ((rc = fm_json_only(sizes,
	             "input_bytes pk_bytes sk_bytes ct_bytes ss_bytes signature_bytes "
	             "digest_bytes")) != FM_OK ||
	        (rc = fm_json_int(sizes, "input_bytes", &input)) != FM_OK ||
	        (rc = fm_json_int(sizes, "pk_bytes", &r->pk_bytes)) != FM_OK ||
	        (rc = fm_json_int(sizes, "sk_bytes", &r->sk_bytes)) != FM_OK ||
	        (rc = fm_json_int(sizes, "ct_bytes", &r->ct_bytes)) != FM_OK ||
	        (rc = fm_json_int(sizes, "ss_bytes", &r->ss_bytes)) != FM_OK ||
	        (rc = fm_json_int(sizes, "signature_bytes", &r->signature_bytes)) != FM_OK ||
	        (rc = fm_json_int(sizes, "digest_bytes", &r->digest_bytes)) != FM_OK)
		return fm_wrap(rc, "sizes");
	if (input != r->input_bytes)
		return fm_fail(
		        FM_ERR_FORM, "sizes: input_bytes: differs from input_bytes of the record");
	if ((rc = fm_json_object(o, "kex", &kex)) != FM_OK)
		return rc;
	return fm_json_count(kex) == 0 ? FM_OK : fm_fail(FM_ERR_FORM, "kex: only {} is known");
}

/* A stored double against the one that follows from the trials; both null counts as equal. */
static int same(const struct fm_json_node *o, const char *key, double computed)
{
	double stored;
	int rc = double_or_null(o, key, &stored);

	if (rc != FM_OK)
		return rc;
	if (isnan(stored) ? isnan(computed) : stored == computed)
		return FM_OK;
	return fm_fail(
	        FM_ERR_FORM, "%s: stored %.17g, the trials give %.17g", key, stored, computed);
}

static int check_statistics(const struct fm_json_node *o, struct fm_record *r)
{
	int64_t measurements, baseline, peak;
	bool guide;
	int rc;

	if ((rc = fm_record_statistics(r, true)) != FM_OK ||
	        (rc = fm_json_int(o, "measurements", &measurements)) != FM_OK ||
	        (rc = fm_json_bool(o, "guide_100_measurements_met", &guide)) != FM_OK ||
	        (rc = fm_json_int(o, "baseline_rss_bytes", &baseline)) != FM_OK ||
	        (rc = fm_json_int(o, "peak_rss_bytes", &peak)) != FM_OK)
		return rc;
	if (measurements != r->measurements || guide != r->guide_100)
		return fm_fail(FM_ERR_FORM, "measurements: stored %lld, the trials give %lld",
		        (long long)measurements, (long long)r->measurements);
	if (baseline != r->baseline_rss_bytes || peak != r->peak_rss_bytes)
		return fm_fail(FM_ERR_FORM,
		        "peak_rss_bytes: stored sizes differ from the maxima over the processes");
	if ((rc = same(o, "mean_seconds", r->mean_seconds)) != FM_OK ||
	        (rc = same(o, "median_trial_seconds", r->median_trial_seconds)) != FM_OK ||
	        (rc = same(o, "min_trial_seconds", r->min_trial_seconds)) != FM_OK ||
	        (rc = same(o, "max_trial_seconds", r->max_trial_seconds)) != FM_OK ||
	        (rc = same(o, "mean_cycles", r->mean_cycles)) != FM_OK ||
	        (rc = same(o, "median_trial_cycles", r->median_trial_cycles)) != FM_OK ||
	        (rc = same(o, "operations_per_second", r->operations_per_second)) != FM_OK ||
	        (rc = same(o, "throughput_MB_per_second", r->throughput_mb)) != FM_OK)
		return rc;
	return FM_OK;
}

/* The record's trials are those of its processes, in their order, as many as planned. */
static int check_trials(const struct fm_record *r)
{
	size_t at = 0;

	for (size_t i = 0; i < r->process_count; i++)
		for (size_t k = 0; k < r->processes[i].trial_count; k++, at++) {
			const struct fm_trial *a = &r->processes[i].trials[k], *b = &r->trials[at];
			if (at >= r->trial_count || a->measurements != b->measurements ||
			        a->seconds != b->seconds || a->cycles != b->cycles)
				return fm_fail(
				        FM_ERR_FORM, "trials: %zu: differs from its process", at);
		}
	if (at != r->trial_count)
		return fm_fail(
		        FM_ERR_FORM, "trials: %zu, but the processes have %zu", r->trial_count, at);
	if ((int64_t)at != r->trials_planned)
		return fm_fail(FM_ERR_FORM, "trials: %zu, but plan.trials says %lld", at,
		        (long long)r->trials_planned);
	return FM_OK;
}

static int read_complete(const struct fm_json_node *o, struct fm_record *r)
{
	int rc;

	if ((rc = read_middle(o, r)) != FM_OK || (rc = read_sizes(o, r)) != FM_OK ||
	        (rc = fm_json_str(o, "build_flags", &r->build_flags)) != FM_OK ||
	        (rc = fm_json_str(o, "timing_scope", &r->timing_scope)) != FM_OK ||
	        (rc = check_trials(r)) != FM_OK || (rc = check_statistics(o, r)) != FM_OK)
		return rc;
	return FM_OK;
}

/* What a record of our own says beyond the published schema and pages must know. */
static int read_own(const struct fm_json_node *o, struct fm_record *r)
{
	const struct fm_json_node *own, *counter;
	const char *profile, *label;
	int rc;

	if ((rc = fm_json_object(o, "fleetmark", &own)) != FM_OK)
		return rc;
	if ((rc = fm_json_bool(own, "emulated", &r->emulated)) != FM_OK ||
	        (rc = fm_json_str(own, "profile", &profile)) != FM_OK ||
	        (rc = fm_json_object(own, "counter", &counter)) != FM_OK ||
	        (rc = fm_json_str(counter, "label", &label)) != FM_OK)
		return fm_wrap(rc, "fleetmark");
	r->smoke = strcmp(profile, "smoke") == 0;
	r->ticks = strcmp(label, "ref_ticks") == 0;
	return FM_OK;
}

int fm_record_read(const char *what, const char *bytes, size_t len, struct fm_record *out)
{
	struct fm_json *document = NULL;
	const struct fm_json_node *o;
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_json_read_foreign(what, bytes, len, FM_RECORD_MAX, &document)) != FM_OK)
		return rc;
	out->document = document;
	o = fm_json_root(document);
	rc = fm_json_only(o,
	        "schema status candidate label instance variant flags operation input_bytes plan "
	        "kat kat_not_passed "
	        "disturbed_retries library library_sha256 kat_log kat_log_sha256 started_utc "
	        "ended_utc "
	        "load_average_start load_average_end environment processes trials measurements "
	        "guide_100_measurements_met mean_seconds median_trial_seconds min_trial_seconds "
	        "max_trial_seconds "
	        "mean_cycles median_trial_cycles operations_per_second throughput_MB_per_second "
	        "sizes kex build_flags "
	        "baseline_rss_bytes peak_rss_bytes timing_scope fleetmark");
	if (rc == FM_OK)
		rc = read_head(o, out);
	if (rc == FM_OK && out->complete)
		rc = read_complete(o, out);
	out->own = fm_json_has(o, "fleetmark");
	if (rc == FM_OK && out->own && out->complete)
		rc = read_own(o, out);
	if (rc != FM_OK) {
		fm_record_free(out);
		return fm_wrap(rc, "%s", what);
	}
	return FM_OK;
}
