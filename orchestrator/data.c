/* data.c: derives data/<system>/ from verified samples: records in the published schema, KAT log
 * copies, build.json, campaign.json. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000LL
#define LOG_MAX   (4u << 20)

/* "2026-01-02T03:04:05.000123+00:00": a stamp and nanoseconds behind it. */
static const char *stamp_after(const char *stamp, int64_t ns, char out[40])
{
	long long seconds = fm_stamp_seconds(stamp) + (ns < 0 ? 0 : ns / SECOND_NS);
	char base[21];

	fm_stamp_at(seconds, base);
	snprintf(out, 40, "%.19s.%06lld+00:00", base,
	        ns < 0 ? 0 : (long long)(ns % SECOND_NS / 1000));
	return out;
}

static const struct fm_ev_memory *find_memory(
        const struct fm_evidence *e, const struct fm_ev_measured *m)
{
	for (size_t i = 0; i < e->memory_count; i++)
		if (e->memory[i].bytes == m->bytes &&
		        strcmp(e->memory[i].instance, m->instance) == 0 &&
		        strcmp(e->memory[i].version, m->version) == 0)
			return &e->memory[i];
	return NULL;
}

/* How the published records name versions and flags. */
static const char *variant_of(const struct fm_side *s, int version)
{
	if (strcmp(s->candidate->id, "iccs") == 0)
		return "iccs-baseline";
	return fm_version_name[version];
}

static const char *flags_of(const char *kind, int version)
{
	static const char *const guide[FM_VERSIONS] = {
	        "guide", "guide-performance", "guide-resource"};
	return strcmp(kind, "fallback") == 0 ? "harness-default" : guide[version];
}

static const struct fm_ev_build *find_build(
        const struct fm_evidence *e, const struct fm_ev_measured *m)
{
	for (size_t i = 0; i < e->build_count; i++)
		if (strcmp(e->builds[i].instance, m->instance) == 0 &&
		        strcmp(e->builds[i].version, m->version) == 0)
			return &e->builds[i];
	return NULL;
}

/* One accepted process as the published form has it. */
static int put_process(struct fm_record *r, const struct fm_proc *p, bool cycles,
        const struct fm_ev_memory *memory)
{
	struct fm_process *out = fm_grow(&r->processes, &r->process_count, sizeof *out);
	struct fm_trial *trial = fm_grow(&r->trials, &r->trial_count, sizeof *trial);
	char number[24];

	if (out == NULL || trial == NULL ||
	        (out->trials = fm_alloc_array(1, sizeof *trial)) == NULL)
		return FM_ERR_MEMORY;
	*trial = (struct fm_trial){
	        (int64_t)p->calls, (double)p->ns / 1e9, cycles ? (int64_t)p->count : 0};
	out->trials[0] = *trial;
	out->trial_count = 1;
	out->status = "complete";
	out->stderr_text = "";
	out->wall_s = p->column[FM_PROC_WALL_NS] < 0 ? 0 : (double)p->column[FM_PROC_WALL_NS] / 1e9;
	if ((out->command = fm_alloc_array(1, sizeof *out->command)) == NULL)
		return FM_ERR_MEMORY;
	out->command[0] = "fleetmark-worker";
	out->command_count = 1;
	const char **meta = out->meta;
	meta[FM_META_ID] = r->candidate;
	meta[FM_META_INSTANCE] = r->instance;
	meta[FM_META_VARIANT] = r->variant;
	meta[FM_META_OPERATION] = r->operation;
	meta[FM_META_BUILD_FLAGS] = r->build_flags;
	meta[FM_META_PK] = meta[FM_META_SK] = meta[FM_META_CT] = meta[FM_META_SS] =
	        meta[FM_META_SIGNATURE] = "0";
	meta[FM_META_MODE] = "fixed_iterations";
	meta[FM_META_CYCLES_AVAILABLE] = cycles ? "yes" : "no";
	meta[FM_META_TIMING_SCOPE] = "loop";
	meta[FM_META_GUIDE_100] = p->calls >= 100 ? "met" : "not met";
#define NUMBER(key, value)                                                   \
	do {                                                                 \
		snprintf(number, sizeof number, "%lld", (long long)(value)); \
		if ((meta[key] = fm_record_keep(r, number)) == NULL)         \
			return FM_ERR_MEMORY;                                \
	} while (0)
	NUMBER(FM_META_INPUT_BYTES, r->input_bytes);
	NUMBER(FM_META_DIGEST, r->digest_bytes);
	NUMBER(FM_META_WARMUPS, r->warmups);
	NUMBER(FM_META_COUNT, p->calls);
	NUMBER(FM_META_BASELINE_RSS, memory == NULL ? 0 : memory->rss_baseline_process_kib * 1024);
	NUMBER(FM_META_PEAK_RSS, memory == NULL ? 0 : memory->rss_peak_process_kib * 1024);
#undef NUMBER
	return FM_OK;
}

/* The head of a record; strings live in the evidence, the build entry or the record. */
static int head_of(const struct fm_side *s, const struct fm_ev_measured *m,
        const struct fm_build_fig *b, const struct fm_cell_fig *fig, struct fm_record *r)
{
	const struct fm_evidence *e = &s->evidence;
	const struct fm_instance *in = fm_candidate_instance(s->candidate, m->instance);
	const struct fm_ev_build *build = find_build(e, m);

	if (in == NULL || build == NULL)
		return fm_fail(FM_ERR_FORM,
		        "evidence.json: %s: measured, but not in the plan or without a build",
		        m->instance);
	r->complete = m->accepted == m->planned;
	r->status = r->complete ? "complete" : "failed_or_partial";
	r->candidate = s->candidate->id;
	r->label = fig->label;
	r->instance = m->instance;
	r->variant = b->variant;
	r->flags = b->flags;
	r->operation = "hash";
	r->input_bytes = m->bytes;
	r->warmups = m->t1_ns < SECOND_NS / 20 ? 3 : m->t1_ns < 5 * SECOND_NS ? 1 : 0;
	r->trials_planned = m->planned;
	r->separate_processes = true;
	r->estimated_s = r->timeout_per_process_s = NAN;
	r->kat = b->kat == NULL ? "NOKAT" : b->kat;
	r->kat_not_passed = strcmp(r->kat, "PASS") != 0;
	r->disturbed_retries = m->replaced;
	r->library_sha256 = m->library_sha256;
	r->kat_log = b->kat_log;
	r->kat_log_sha256 = b->kat_log_sha256;
	r->load_start[0] = r->load_end[0] = NAN;
	r->digest_bytes = in->digest_bits / 8;
	r->build_flags = build->flags;
	r->timing_scope = "loop";
	return FM_OK;
}

/* Start of the first and end of the last process of the cell, on the host's clock. */
static int times_of(const struct fm_side *s, const struct fm_samples *samples, struct fm_record *r)
{
	int64_t first = -1, last = -1;
	char stamp[40];

	for (size_t i = 0; i < samples->process_count; i++) {
		const int64_t *c = samples->processes[i].column;
		if (c[FM_PROC_STARTED_NS] < 0 || c[FM_PROC_STATE] == FM_STATE_PLANNING)
			continue;
		if (first < 0 || c[FM_PROC_STARTED_NS] < first)
			first = c[FM_PROC_STARTED_NS];
		if (c[FM_PROC_STARTED_NS] + c[FM_PROC_WALL_NS] > last)
			last = c[FM_PROC_STARTED_NS] + c[FM_PROC_WALL_NS];
	}
	r->started_utc = fm_record_keep(r, stamp_after(s->evidence.clock.started_at, first, stamp));
	r->ended_utc = fm_record_keep(r, stamp_after(s->evidence.clock.started_at, last, stamp));
	return r->started_utc == NULL || r->ended_utc == NULL ? FM_ERR_MEMORY : FM_OK;
}

/* Processes, trials, process means; iterations when all made the same number of calls. */
static int put_processes(struct fm_record *r, const struct fm_side *s,
        const struct fm_samples *samples, const struct fm_ev_memory *memory, double *seconds,
        double *counts)
{
	bool cycles = strcmp(s->evidence.counter.label, "core_cycles") == 0 &&
	              strcmp(s->evidence.counter.scope, "user") == 0;
	size_t n = 0;
	int rc;

	for (size_t i = 0; i < samples->process_count; i++) {
		const struct fm_proc *p = &samples->processes[i];
		if (p->column[FM_PROC_STATE] != FM_STATE_ACCEPTED)
			continue;
		if ((rc = put_process(r, p, cycles, memory)) != FM_OK)
			return rc;
		seconds[n] = (double)p->ns / 1e9 / (double)p->calls;
		counts[n] = (double)p->count / (double)p->calls;
		if (n == 0)
			r->iterations_per_trial = (int64_t)p->calls;
		else if (r->iterations_per_trial != (int64_t)p->calls)
			r->iterations_per_trial = -1;
		n++;
	}
	return n > 0 ? FM_OK
	             : fm_fail(FM_ERR_SAMPLES, "%s %s: no accepted process", r->label,
	                       r->operation);
}

static int put_rejected(const struct fm_samples *samples, struct fm_cell_fig *fig)
{
	for (size_t i = 0; i < samples->process_count; i++) {
		const struct fm_proc *p = &samples->processes[i];
		const int64_t *c = p->column;
		struct fm_rejected *x;
		if (c[FM_PROC_STATE] == FM_STATE_ACCEPTED || c[FM_PROC_STATE] == FM_STATE_PLANNING)
			continue;
		if ((x = fm_grow(&fig->rejected, &fig->rejected_count, sizeof *x)) == NULL)
			return FM_ERR_MEMORY;
		*x = (struct fm_rejected){c[FM_PROC_PROCESS], c[FM_PROC_STATE], c[FM_PROC_REASON],
		        c[FM_PROC_REPLACED_BY], (int64_t)p->calls, (int64_t)p->ns,
		        (int64_t)p->count};
	}
	return FM_OK;
}

/* What pages print, from the finished record. */
static int fill_figure(const struct fm_report *rep, const struct fm_side *s,
        const struct fm_ev_measured *m, const struct fm_samples *samples, const struct fm_record *r,
        const double *seconds, const double *counts, struct fm_cell_fig *fig)
{
	const struct fm_evidence *e = &s->evidence;
	bool ticks = strcmp(e->counter.label, "ref_ticks") == 0;
	uint64_t total = 0;
	int rc;

	fig->measurements = r->measurements;
	fig->trials = (int64_t)r->trial_count;
	fig->iterations = r->iterations_per_trial;
	fig->mean_seconds = r->mean_seconds;
	fig->mean_cycles = r->mean_cycles;
	fig->mbs = r->throughput_mb;
	fig->baseline_rss = r->baseline_rss_bytes;
	fig->peak_rss = r->peak_rss_bytes;
	fig->cpu = (int)e->measure.cpu;
	fig->emulated = fm_evidence_emulated(e);
	fig->not_validated = strcmp(r->kat, "NOKAT") == 0;
	fig->no_interval = rep->smoke;
	fig->hz = (double)e->counter.hz;
	fig->count = isfinite(r->mean_cycles) ? FM_COUNT_CYCLES
	             : ticks                  ? FM_COUNT_TICKS
	                                      : FM_COUNT_NONE;
	for (size_t i = 0; i < samples->process_count; i++)
		if (samples->processes[i].column[FM_PROC_STATE] == FM_STATE_ACCEPTED)
			total += samples->processes[i].count;
	if (fig->count == FM_COUNT_TICKS)
		fig->mean_ticks = (double)total / (double)r->measurements;
	if ((rc = fm_cell_estimate(fig, seconds, fig->count == FM_COUNT_NONE ? NULL : counts,
	             r->trial_count)) != FM_OK)
		return rc;
	struct fm_buf marks = FM_BUF_INIT(4096);
	for (size_t i = 0; i < m->mark_count && rc == FM_OK; i++) {
		if (strcmp(m->marks[i], "emulated") == 0)
			fig->emulated = true;
		else if (strcmp(m->marks[i], "disturbed") == 0)
			fig->disturbed = true;
		else
			rc = fm_buf_printf(&marks, "%s%s", marks.len > 0 ? "; " : "", m->marks[i]);
	}
	fig->marks = marks.data;
	return rc;
}

int fm_data_record(struct fm_report *rep, const struct fm_side *s, const struct fm_ev_measured *m,
        const struct fm_samples *samples, struct fm_cell_fig *fig)
{
	struct fm_record r = {.iterations_per_trial = -1};
	struct fm_env_store store;
	struct fm_buf out = FM_BUF_INIT(FM_RECORD_MAX);
	struct fm_extra extra = {rep, s, m, samples, fig, fm_builds_find(&s->builds, fig->label),
	        find_memory(&s->evidence, m), NULL, NULL, 0, NULL};
	double *seconds = fm_alloc_array(samples->process_count + 1, sizeof *seconds);
	double *counts = fm_alloc_array(samples->process_count + 1, sizeof *counts);
	char *path = NULL, *stem = fm_sprintf("%s__%s__%s", m->instance, m->version, m->operation);
	int rc = FM_ERR_MEMORY;

	if (seconds == NULL || counts == NULL || stem == NULL)
		goto out;
	rc = FM_ERR_FORM;
	if (extra.build == NULL) {
		fm_fail(rc, "evidence.json: %s: measured without a build", fig->label);
		goto out;
	}
	fm_data_env(s->system->plan->name, &s->evidence, &r.environment, &store);
	if ((rc = head_of(s, m, extra.build, fig, &r)) != FM_OK ||
	        (rc = times_of(s, samples, &r)) != FM_OK ||
	        (rc = put_processes(&r, s, samples, extra.memory, seconds, counts)) != FM_OK ||
	        (rc = fm_record_statistics(&r, true)) != FM_OK ||
	        (rc = put_rejected(samples, fig)) != FM_OK ||
	        (rc = fill_figure(rep, s, m, samples, &r, seconds, counts, fig)) != FM_OK)
		goto out;
	extra.counts = fig->counted.n > 0 ? counts : NULL;
	extra.seconds = seconds;
	extra.n = r.trial_count;
	extra.stem = stem;
	if ((rc = fm_record_write(&r, fm_data_extra, &extra, &out)) != FM_OK)
		goto out;
	path = fm_sprintf("data/%s/records/%s/%s__%s.json", s->system->plan->name, s->candidate->id,
	        fig->label, m->operation);
	rc = path == NULL ? FM_ERR_MEMORY : fm_sink_put(&rep->sink, path, out.data, out.len);
out:
	free(path);
	free(stem);
	free(seconds);
	free(counts);
	fm_buf_free(&out);
	fm_record_free(&r);
	return rc;
}

static const struct fm_ev_kat *find_kat(const struct fm_evidence *e, const struct fm_ev_build *b)
{
	for (size_t i = 0; i < e->kat_count; i++)
		if (strcmp(e->kat[i].instance, b->instance) == 0 &&
		        strcmp(e->kat[i].version, b->version) == 0)
			return &e->kat[i];
	return NULL;
}

/* Copies the KAT log to data/, reads from it which files agreed. */
static int take_log(struct fm_report *r, const struct fm_side *s, const struct fm_ev_kat *k,
        struct fm_build_fig *f)
{
	struct fm_buf log;
	char *path;
	int rc;

	if ((rc = fm_fs_read(s->dirfd, k->log, LOG_MAX, &log)) != FM_OK)
		return rc;
	rc = FM_ERR_MEMORY;
	path = fm_sprintf(
	        "data/%s/kat/%s/%s.log", s->system->plan->name, s->candidate->id, f->label);
	f->kat_log = fm_sprintf("kat/%s/%s.log", s->candidate->id, f->label);
	f->kat_log_sha256 = fm_alloc(65);
	if (path == NULL || f->kat_log == NULL || f->kat_log_sha256 == NULL)
		goto out;
	fm_sha256_hex(log.data, log.len, f->kat_log_sha256);
	if ((rc = fm_sink_put(&r->sink, path, log.data, log.len)) == FM_OK)
		rc = fm_data_kat(s, &log, f);
out:
	free(path);
	fm_buf_free(&log);
	return rc;
}

static int put_entry(struct fm_report_system *s, const struct fm_side *side,
        const struct fm_build_fig *f, const struct fm_ev_build *b)
{
	struct fm_buf text = FM_BUF_INIT(65536);
	struct fm_jsonp w;
	char *key = fm_sprintf("%s/%s", side->candidate->id, f->label);
	int rc = FM_ERR_MEMORY;

	if (key == NULL)
		return rc;
	fm_jsonp_start(&w, &text);
	fm_jsonp_object(&w, "instances");
	fm_jsonp_object(&w, key);
	fm_jsonp_str(&w, "candidate", side->candidate->id);
	fm_jsonp_str(&w, "label", f->label);
	fm_jsonp_str(&w, "instance", f->instance);
	fm_jsonp_str(&w, "variant", f->variant);
	fm_jsonp_str(&w, "flags", f->flags);
	fm_jsonp_str(&w, "kat", f->kat);
	fm_jsonp_null(&w, "library");
	fm_jsonp_str(&w, "library_sha256", f->library_sha256);
	if (f->elf_bytes >= 0)
		fm_jsonp_int(&w, "elf_load_bytes", f->elf_bytes);
	fm_jsonp_str(&w, "kat_log", f->kat_log);
	fm_jsonp_str(&w, "kat_log_sha256", f->kat_log_sha256);
	fm_jsonp_str(&w, "build_flags", b->flags);
	fm_jsonp_close(&w);
	fm_jsonp_close(&w);
	if ((rc = fm_jsonp_end(&w)) == FM_OK) { /* only the entry itself: between its key's line and
		                                   the two closing lines */
		const char *from = strstr(text.data, "\n  \""), *to = strstr(text.data, "\n }\n}");
		if (s->builds.len > 0)
			rc = fm_buf_puts(&s->builds, ",");
		if (rc == FM_OK)
			rc = fm_buf_put(&s->builds, from, (size_t)(to - from));
	}
	free(key);
	fm_buf_free(&text);
	return rc;
}

int fm_data_build(struct fm_report *r, struct fm_side *s, const struct fm_ev_build *b)
{
	struct fm_build_fig *f = fm_builds_add(&s->builds);
	const struct fm_ev_kat *k = find_kat(&s->evidence, b);
	const struct fm_manifest_entry *log = fm_manifest_find(&s->manifest, b->log);
	int version = fm_version_index(b->version), rc;

	if (f == NULL)
		return FM_ERR_MEMORY;
	if (version < 0)
		return fm_fail(FM_ERR_FORM, "evidence.json: builds: version %.40s", b->version);
	f->version = version;
	fm_side_label(b->instance, version, f->label);
	snprintf(f->instance, sizeof f->instance, "%s", b->instance);
	f->variant = fm_strdup(variant_of(s, version));
	f->flags = fm_strdup(flags_of(b->flags_kind, version));
	f->kat = fm_strdup(k != NULL                      ? k->status
	                   : strcmp(b->status, "ok") == 0 ? "NORESULT"
	                                                  : "BUILDFAIL");
	f->library_sha256 = b->library_sha256[0] == '\0' ? NULL : fm_strdup(b->library_sha256);
	f->build_log = fm_strdup(b->log);
	f->build_log_sha256 = log == NULL ? NULL : fm_strdup(log->hex);
	f->reason = strcmp(b->status, "ok") == 0 ? NULL : fm_strdup(b->reason);
	f->elf_bytes = strcmp(b->status, "ok") == 0 ? b->load_bytes : -1;
	if (f->variant == NULL || f->flags == NULL || f->kat == NULL || f->build_log == NULL)
		return FM_ERR_MEMORY;
	if (k != NULL) {
		f->kat_checked = k->passed;
		f->kat_listed = k->files;
		f->vectors = k->vectors;
		if ((rc = take_log(r, s, k, f)) != FM_OK)
			return fm_wrap(
			        rc, "bundles/%s/%s", s->system->plan->name, s->candidate->id);
	}
	return put_entry(s->system, s, f, b);
}

static int put_build_json(struct fm_report *r, struct fm_report_system *s)
{
	struct fm_buf out = FM_BUF_INIT(s->builds.len + 64);
	char path[FM_NAME_MAX + 32];
	int rc;

	snprintf(path, sizeof path, "data/%s/build.json", s->plan->name);
	if ((rc = fm_buf_puts(&out, s->builds.len > 0 ? "{\n \"instances\": {"
	                                              : "{\n \"instances\": {}\n}\n")) == FM_OK &&
	        s->builds.len > 0 &&
	        (rc = fm_buf_put(&out, s->builds.data, s->builds.len)) == FM_OK)
		rc = fm_buf_puts(&out, "\n }\n}\n");
	if (rc == FM_OK)
		rc = fm_sink_put(&r->sink, path, out.data, out.len);
	fm_buf_free(&out);
	return rc;
}

int fm_data_system(struct fm_report *r, struct fm_report_system *s)
{
	struct fm_buf out = FM_BUF_INIT(1u << 20);
	struct fm_jsonp w;
	char path[FM_NAME_MAX + 32], stamp[40];
	int rc;

	fm_jsonp_start(&w, &out);
	fm_jsonp_str(&w, "system_id", s->plan->name);
	fm_jsonp_str(&w, "started_utc", s->any ? stamp_after(s->started, 0, stamp) : NULL);
	if (s->any)
		fm_env_write(&w, "environment_at_start", &s->environment);
	fm_jsonp_object(&w, "arch_config");
	for (size_t i = 0; i < r->plan.flags.count; i++)
		if (strcmp(r->plan.flags.list[i].arch, s->plan->arch) == 0)
			fm_jsonp_str(&w, fm_version_name[r->plan.flags.list[i].version],
			        r->plan.flags.list[i].flags);
	fm_jsonp_close(&w);
	fm_jsonp_str(&w, "harness_additions", r->plan.flags.additions);
	fm_jsonp_str(&w, "ended_utc", s->any ? stamp_after(s->ended, 0, stamp) : NULL);
	fm_jsonp_object(&w, "fleetmark");
	fm_jsonp_int(&w, "form", 1);
	fm_jsonp_str(&w, "campaign", r->plan.campaign);
	fm_jsonp_str(&w, "profile", r->plan.profile);
	fm_jsonp_str(&w, "kat", r->plan.kat);
	fm_jsonp_str(&w, "plan_sha256", r->tree.plan_sha256);
	fm_jsonp_object(&w, "cells");
	fm_jsonp_int(&w, "accepted", (int64_t)s->accepted);
	fm_jsonp_int(&w, "failed", (int64_t)s->failed);
	fm_jsonp_int(&w, "missing", (int64_t)s->missing);
	fm_jsonp_int(&w, "rejected", (int64_t)s->rejected);
	fm_jsonp_close(&w);
	fm_jsonp_close(&w);
	snprintf(path, sizeof path, "data/%s/campaign.json", s->plan->name);
	if ((rc = fm_jsonp_end(&w)) == FM_OK)
		rc = fm_sink_put(&r->sink, path, out.data, out.len);
	fm_buf_free(&out);
	return rc == FM_OK ? put_build_json(r, s) : rc;
}
