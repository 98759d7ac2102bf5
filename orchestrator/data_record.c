/* data_record.c: one record of data/<system>/records in the published schema, from the verified
 * samples of a cell. */
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000LL

/* "2026-01-02T03:04:05.000123+00:00": a stamp and nanoseconds behind it. */
const char *fm_data_stamp(const char *stamp, int64_t ns, char out[40])
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

static const struct fm_ev_build *find_build(
        const struct fm_evidence *e, const struct fm_ev_measured *m)
{
	for (size_t i = 0; i < e->build_count; i++)
		if (strcmp(e->builds[i].instance, m->instance) == 0 &&
		        strcmp(e->builds[i].version, m->version) == 0)
			return &e->builds[i];
	return NULL;
}

/* The published schema has no unknown here: 0, as where nothing was weighed. */
static int64_t bytes_of(int64_t kib)
{
	return kib > 0 ? kib * 1024 : 0;
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
	NUMBER(FM_META_BASELINE_RSS,
	        bytes_of(memory == NULL ? 0 : memory->rss_baseline_process_kib));
	NUMBER(FM_META_PEAK_RSS, bytes_of(memory == NULL ? 0 : memory->rss_peak_process_kib));
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
	r->started_utc =
	        fm_record_keep(r, fm_data_stamp(s->evidence.clock.started_at, first, stamp));
	r->ended_utc = fm_record_keep(r, fm_data_stamp(s->evidence.clock.started_at, last, stamp));
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

/* Every attempt of the cell, in the order it was made. */
static int export_processes(struct fm_report *r, const struct fm_side *s,
        const struct fm_samples *samples, const struct fm_cell_fig *fig)
{
	int rc = FM_OK;

	for (size_t i = 0; i < samples->process_count && rc == FM_OK; i++) {
		const struct fm_proc *p = &samples->processes[i];
		const int64_t *c = p->column;
		const struct fm_attempt a = {c[FM_PROC_PROCESS], c[FM_PROC_ATTEMPT],
		        (int64_t)p->calls, (int64_t)p->ns,
		        samples->count == NULL ? -1 : (int64_t)p->count,
		        fm_state_name[c[FM_PROC_STATE]],
		        c[FM_PROC_STATE] == FM_STATE_ACCEPTED ? NULL
		                                              : fm_reason_name[c[FM_PROC_REASON]]};
		rc = fm_export_process(r, s, fig, &a);
	}
	return rc;
}

/* What the accepted process of each round gave, for ratios inside rounds. */
static int keep_rounds(const struct fm_samples *samples, struct fm_cell_fig *fig)
{
	double *m = fig->in_rounds = fm_alloc_array(2 * FM_ROUNDS, sizeof *m);

	if (m == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < 2 * FM_ROUNDS; i++)
		m[i] = NAN;
	for (size_t i = 0; i < samples->process_count; i++) {
		const struct fm_proc *p = &samples->processes[i];
		const int64_t round = p->column[FM_PROC_ROUND];

		if (p->column[FM_PROC_STATE] != FM_STATE_ACCEPTED || round < 1 || round > FM_ROUNDS)
			continue;
		m[round - 1] = (double)p->count / (double)p->calls;
		m[FM_ROUNDS + round - 1] = (double)p->ns / 1e9 / (double)p->calls;
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
	             r->trial_count)) != FM_OK ||
	        (strcmp(e->measure.profile, "rigorous") == 0 &&
	                (rc = keep_rounds(samples, fig)) != FM_OK))
		return rc;
	struct fm_buf marks = FM_BUF_INIT(4096);
	for (size_t i = 0; i < m->mark_count && rc == FM_OK; i++) {
		if (strcmp(m->marks[i], "emulated") == 0)
			fig->emulated = true;
		else if (strcmp(m->marks[i], "disturbed") == 0)
			fig->disturbed = true;
		else if (strcmp(m->marks[i], "partial") == 0)
			fig->partial = true;
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
	        (rc = fill_figure(rep, s, m, samples, &r, seconds, counts, fig)) != FM_OK ||
	        (rc = export_processes(rep, s, samples, fig)) != FM_OK)
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
