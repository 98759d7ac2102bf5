/* record.c: the statistics of a timing record and its printing in the published field order. */
#include "orchestrator/record.h"

#include "orchestrator/jsonr.h"
#include "orchestrator/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fm_meta_name[FM_META_KEYS] = {"id", "instance", "variant", "operation",
        "input_bytes", "build_flags", "baseline_rss_bytes", "pk_bytes", "sk_bytes", "ct_bytes",
        "ss_bytes", "signature_bytes", "digest_bytes", "mode", "cpu_cycles_available",
        "timing_scope", "warmups", "peak_rss_bytes", "measurement_count", "guide_100_measurements"};

void fm_record_free(struct fm_record *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->process_count; i++) {
		free(r->processes[i].trials);
		free(r->processes[i].command);
	}
	free(r->processes);
	free(r->trials);
	for (size_t i = 0; i < r->owned_count; i++)
		free(r->owned[i]);
	free(r->owned);
	fm_json_free(r->document);
	memset(r, 0, sizeof *r);
}

const char *fm_record_keep(struct fm_record *r, const char *text)
{
	char *copy = fm_strdup(text), **slot;

	if (copy == NULL)
		return NULL;
	if ((slot = fm_grow(&r->owned, &r->owned_count, sizeof *slot)) == NULL) {
		free(copy);
		return NULL;
	}
	return *slot = copy;
}

const char *fm_record_key(const struct fm_record *r, char out[64])
{
	if (r->input_bytes != 0)
		snprintf(out, 64, "%.40s_%lld", r->operation, (long long)r->input_bytes);
	else
		snprintf(out, 64, "%.60s", r->operation);
	return out;
}

/* Median, and smallest and largest, of a value per trial. */
static int over_trials(
        const struct fm_record *r, bool cycles, double *median, double *least, double *most)
{
	double *each = fm_alloc_array(r->trial_count, sizeof *each);

	if (each == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < r->trial_count; i++)
		each[i] = (cycles ? (double)r->trials[i].cycles : r->trials[i].seconds) /
		          (double)r->trials[i].measurements;
	fm_sort(each, r->trial_count);
	*median = fm_median(each, r->trial_count);
	*least = each[0];
	*most = each[r->trial_count - 1];
	free(each);
	return FM_OK;
}

static int resident_sizes(struct fm_record *r)
{
	r->baseline_rss_bytes = r->peak_rss_bytes = 0;
	for (size_t i = 0; i < r->process_count; i++) {
		uint64_t base, peak;
		const char *const *meta = r->processes[i].meta;
		if (meta[FM_META_BASELINE_RSS] == NULL || meta[FM_META_PEAK_RSS] == NULL ||
		        fm_parse_u64(meta[FM_META_BASELINE_RSS], INT64_MAX, &base) != FM_OK ||
		        fm_parse_u64(meta[FM_META_PEAK_RSS], INT64_MAX, &peak) != FM_OK)
			return fm_fail(FM_ERR_FORM,
			        "processes: %zu: resident sizes are not decimal numbers", i);
		if ((int64_t)base > r->baseline_rss_bytes)
			r->baseline_rss_bytes = (int64_t)base;
		if ((int64_t)peak > r->peak_rss_bytes)
			r->peak_rss_bytes = (int64_t)peak;
	}
	return FM_OK;
}

int fm_record_statistics(struct fm_record *r, bool sizes)
{
	struct fm_sum seconds = {0, 0};
	int64_t calls = 0, cycles = 0;
	bool counted = true;
	double total, unused;
	int rc;

	if (r->trial_count == 0)
		return fm_fail(FM_ERR_FORM, "trials: there is none");
	for (size_t i = 0; i < r->trial_count; i++) {
		const struct fm_trial *t = &r->trials[i];
		if (t->measurements < 1 || t->cycles < 0 || !(t->seconds > 0) ||
		        !isfinite(t->seconds) || t->measurements > INT64_MAX / 4096 ||
		        t->cycles > INT64_MAX / 4096)
			return fm_fail(FM_ERR_FORM,
			        "trials: %zu: needs at least one call and a time above 0", i);
		if (__builtin_add_overflow(calls, t->measurements, &calls) ||
		        __builtin_add_overflow(cycles, t->cycles, &cycles))
			return fm_fail(FM_ERR_FORM, "trials: their sum leaves 63 bits");
		fm_sum_add(&seconds, t->seconds);
		counted = counted && t->cycles != 0;
	}
	total = fm_sum_take(&seconds);
	r->measurements = calls;
	r->guide_100 = calls >= 100;
	r->mean_seconds = total / (double)calls;
	rc = over_trials(
	        r, false, &r->median_trial_seconds, &r->min_trial_seconds, &r->max_trial_seconds);
	if (rc != FM_OK)
		return rc;
	r->mean_cycles = r->median_trial_cycles = NAN;
	if (counted) {
		r->mean_cycles = (double)cycles / (double)calls;
		if ((rc = over_trials(r, true, &r->median_trial_cycles, &unused, &unused)) != FM_OK)
			return rc;
	}
	r->operations_per_second = (double)calls / total;
	r->throughput_mb = (double)(r->input_bytes * calls) / total / 1e6;
	return sizes ? resident_sizes(r) : FM_OK;
}

static void write_trials(struct fm_jsonp *w, const struct fm_trial *trials, size_t count)
{
	fm_jsonp_array(w, "trials");
	for (size_t i = 0; i < count; i++) {
		fm_jsonp_object(w, NULL);
		fm_jsonp_int(w, "measurements", trials[i].measurements);
		fm_jsonp_double(w, "seconds", trials[i].seconds);
		fm_jsonp_int(w, "cycles", trials[i].cycles);
		fm_jsonp_close(w);
	}
	fm_jsonp_close(w);
}

static void write_process(struct fm_jsonp *w, const struct fm_process *p)
{
	fm_jsonp_object(w, NULL);
	fm_jsonp_str(w, "status", p->status);
	fm_jsonp_int(w, "exit_code", p->exit_code);
	fm_jsonp_object(w, "meta");
	for (int k = 0; k < FM_META_KEYS; k++)
		if (p->meta[k] != NULL)
			fm_jsonp_str(w, fm_meta_name[k], p->meta[k]);
	fm_jsonp_close(w);
	write_trials(w, p->trials, p->trial_count);
	fm_jsonp_str(w, "stderr", p->stderr_text);
	fm_jsonp_array(w, "command");
	for (size_t i = 0; i < p->command_count; i++)
		fm_jsonp_str(w, NULL, p->command[i]);
	fm_jsonp_close(w);
	fm_jsonp_double(w, "wall_s", p->wall_s);
	fm_jsonp_int(w, "disturbed_retries", p->disturbed_retries);
	fm_jsonp_close(w);
}

static void write_load(struct fm_jsonp *w, const char *key, const double load[3])
{
	fm_jsonp_array(w, key);
	for (int i = 0; i < 3 && isfinite(load[i]); i++)
		fm_jsonp_double(w, NULL, load[i]);
	fm_jsonp_close(w);
}

static void write_head(struct fm_jsonp *w, const struct fm_record *r)
{
	fm_jsonp_int(w, "schema", 2);
	fm_jsonp_str(w, "status", r->status);
	fm_jsonp_str(w, "candidate", r->candidate);
	fm_jsonp_str(w, "label", r->label);
	fm_jsonp_str(w, "instance", r->instance);
	fm_jsonp_str(w, "variant", r->variant);
	fm_jsonp_str(w, "flags", r->flags);
	fm_jsonp_str(w, "operation", r->operation);
	fm_jsonp_int(w, "input_bytes", r->input_bytes);
	fm_jsonp_object(w, "plan");
	if (r->iterations_per_trial < 0)
		fm_jsonp_null(w, "iterations_per_trial");
	else
		fm_jsonp_int(w, "iterations_per_trial", r->iterations_per_trial);
	fm_jsonp_int(w, "warmups", r->warmups);
	fm_jsonp_int(w, "trials", r->trials_planned);
	fm_jsonp_bool(w, "separate_processes", r->separate_processes);
	fm_jsonp_double(w, "estimated_s", r->estimated_s);
	fm_jsonp_double(w, "timeout_per_process_s", r->timeout_per_process_s);
	fm_jsonp_close(w);
	fm_jsonp_str(w, "kat", r->kat);
	fm_jsonp_bool(w, "kat_not_passed", r->kat_not_passed);
	fm_jsonp_int(w, "disturbed_retries", r->disturbed_retries);
	fm_jsonp_str(w, "library", r->library);
	fm_jsonp_str(w, "library_sha256", r->library_sha256);
	fm_jsonp_str(w, "kat_log", r->kat_log);
	fm_jsonp_str(w, "kat_log_sha256", r->kat_log_sha256);
	fm_jsonp_str(w, "started_utc", r->started_utc);
	fm_jsonp_str(w, "ended_utc", r->ended_utc);
	write_load(w, "load_average_start", r->load_start);
	write_load(w, "load_average_end", r->load_end);
}

static void write_results(struct fm_jsonp *w, const struct fm_record *r)
{
	fm_jsonp_int(w, "measurements", r->measurements);
	fm_jsonp_bool(w, "guide_100_measurements_met", r->guide_100);
	fm_jsonp_double(w, "mean_seconds", r->mean_seconds);
	fm_jsonp_double(w, "median_trial_seconds", r->median_trial_seconds);
	fm_jsonp_double(w, "min_trial_seconds", r->min_trial_seconds);
	fm_jsonp_double(w, "max_trial_seconds", r->max_trial_seconds);
	fm_jsonp_double(w, "mean_cycles", r->mean_cycles);
	fm_jsonp_double(w, "median_trial_cycles", r->median_trial_cycles);
	fm_jsonp_double(w, "operations_per_second", r->operations_per_second);
	fm_jsonp_double(w, "throughput_MB_per_second", r->throughput_mb);
	fm_jsonp_object(w, "sizes");
	fm_jsonp_int(w, "input_bytes", r->input_bytes);
	fm_jsonp_int(w, "pk_bytes", r->pk_bytes);
	fm_jsonp_int(w, "sk_bytes", r->sk_bytes);
	fm_jsonp_int(w, "ct_bytes", r->ct_bytes);
	fm_jsonp_int(w, "ss_bytes", r->ss_bytes);
	fm_jsonp_int(w, "signature_bytes", r->signature_bytes);
	fm_jsonp_int(w, "digest_bytes", r->digest_bytes);
	fm_jsonp_close(w);
	fm_jsonp_object(w, "kex");
	fm_jsonp_close(w);
	fm_jsonp_str(w, "build_flags", r->build_flags);
	fm_jsonp_int(w, "baseline_rss_bytes", r->baseline_rss_bytes);
	fm_jsonp_int(w, "peak_rss_bytes", r->peak_rss_bytes);
	fm_jsonp_str(w, "timing_scope", r->timing_scope);
}

int fm_record_write(
        const struct fm_record *r, fm_record_extra *extra, const void *arg, struct fm_buf *out)
{
	struct fm_jsonp w;

	fm_jsonp_start(&w, out);
	write_head(&w, r);
	fm_env_write(&w, "environment", &r->environment);
	fm_jsonp_array(&w, "processes");
	for (size_t i = 0; i < r->process_count; i++)
		write_process(&w, &r->processes[i]);
	fm_jsonp_close(&w);
	write_trials(&w, r->trials, r->trial_count);
	write_results(&w, r);
	if (extra != NULL)
		extra(&w, arg);
	return fm_jsonp_end(&w);
}
