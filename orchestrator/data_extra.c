/* data_extra.c: the object `fleetmark` at the end of a record of our own: what the published schema
 * has no place for. */
#include "orchestrator/kind.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TARGET_HALF 0.005 /* of the mean: what the profile rigorous stops at */

static void write_list(struct fm_jsonp *w, const char *key, const double *x, size_t n)
{
	fm_jsonp_array(w, key);
	for (size_t i = 0; i < n; i++)
		fm_jsonp_double(w, NULL, x[i]);
	fm_jsonp_close(w);
}

static void write_estimate(
        struct fm_jsonp *w, const char *key, const struct fm_estimate *e, bool intervals)
{
	fm_jsonp_object(w, key);
	fm_jsonp_int(w, "processes", (int64_t)e->n);
	fm_jsonp_double(w, "mean", e->mean);
	fm_jsonp_double(w, "half_width_95", intervals ? e->half : NAN);
	fm_jsonp_double(w, "variance", e->variance);
	fm_jsonp_double(w, "median", e->median);
	fm_jsonp_double(w, "median_low_95", intervals ? e->median_low : NAN);
	fm_jsonp_double(w, "median_high_95", intervals ? e->median_high : NAN);
	fm_jsonp_double(w, "quartile_1", e->q1);
	fm_jsonp_double(w, "quartile_3", e->q3);
	write_list(w, "stabilised_quartiles", e->stable, 3);
	fm_jsonp_double(w, "min", e->min);
	fm_jsonp_double(w, "max", e->max);
	fm_jsonp_close(w);
}

/* Variance of the window means of one process; NAN for fewer than two windows. */
static double within(const struct fm_samples *s, const struct fm_proc *p, const uint64_t *values)
{
	double mean = 0, squares = 0;

	if (p->windows < 2)
		return NAN;
	for (size_t i = 0; i < p->windows; i++) {
		double x = (double)values[p->first + i] / (double)s->calls[p->first + i],
		       d = x - mean;
		mean += d / (double)(i + 1);
		squares += d * (x - mean);
	}
	return squares / (double)(p->windows - 1);
}

/* Net mean per process: window - read_pair, less the frame per call; NAN where one is unknown. */
static double net(const struct fm_proc *p)
{
	const int64_t *c = p->column;

	if (c[FM_PROC_READ_PAIR_MILLI] < 0 || c[FM_PROC_FRAME_MILLI] < 0 || p->calls == 0)
		return NAN;
	return ((double)p->count - (double)p->windows * (double)c[FM_PROC_READ_PAIR_MILLI] / 1e3) /
	               (double)p->calls -
	       (double)c[FM_PROC_FRAME_MILLI] / 1e3;
}

static void write_levels(struct fm_jsonp *w, const struct fm_extra *x)
{
	const struct fm_samples *s = x->samples;
	bool counted = x->fig->counted.n > 0;
	const uint64_t *values = counted ? s->count : s->ns;
	const struct fm_estimate *e = counted ? &x->fig->counted : &x->fig->seconds;
	double scale = counted ? 1 : 1e-18; /* ns^2 to s^2 */
	struct fm_sum variance = {0, 0}, nets = {0, 0};
	double windows = 0, n = 0, w_mean, k, between, wall = 0, inside = 0;

	for (size_t i = 0; i < s->process_count; i++) {
		const struct fm_proc *p = &s->processes[i];
		if (p->column[FM_PROC_STATE] != FM_STATE_ACCEPTED)
			continue;
		fm_sum_add(&variance, within(s, p, values));
		fm_sum_add(&nets, net(p));
		windows += (double)p->windows;
		wall += (double)p->column[FM_PROC_WALL_NS];
		inside += (double)p->ns;
		n++;
	}
	w_mean = fm_sum_take(&variance) / n * scale;
	k = windows / n;
	fm_jsonp_object(w, "levels");
	fm_jsonp_double(w, "windows_per_process", k);
	fm_jsonp_double(w, "variance_within", w_mean);
	between = isfinite(w_mean) && isfinite(e->variance) ? fm_between(e->variance, w_mean, k)
	                                                    : NAN;
	fm_jsonp_double(w, "variance_between", between);
	fm_jsonp_double(w, "windows_advised",
	        fm_windows_advised(between, w_mean, inside / windows, (wall - inside) / n));
	fm_jsonp_double(w, "processes_advised",
	        fm_processes_advised(e->mean, between, w_mean, k, TARGET_HALF));
	fm_jsonp_double(w, "net_mean", counted ? fm_sum_take(&nets) / n : NAN);
	fm_jsonp_close(w);
}

/* Wall time x the core clock, where there is no counter and the clock passed its checks. */
static void write_derived(struct fm_jsonp *w, const struct fm_extra *x)
{
	const struct fm_ev_clock *clocks = x->side->evidence.clocks;
	const struct fm_estimate *e = &x->fig->seconds;
	struct fm_derived d;

	if (x->fig->count == FM_COUNT_CYCLES || x->fig->emulated)
		return;
	fm_derived_clock(clocks, x->side->evidence.clock_count, &d);
	if (isnan(d.hz)) {
		fm_jsonp_null(w, "derived_cycles");
		fm_jsonp_str(w, "derived_cycles_why", d.why);
		return;
	}
	fm_jsonp_object(w, "derived_cycles");
	fm_jsonp_double(w, "clock_hz", d.hz);
	fm_jsonp_double(w, "clock_half_width_relative", d.half);
	fm_jsonp_double(w, "mean", e->mean * d.hz);
	fm_jsonp_double(w, "half_width_95",
	        x->fig->no_interval ? NAN
	                            : e->mean * d.hz * fm_derived_half(&d, e->half / e->mean));
	fm_jsonp_close(w);
}

static void write_flags(struct fm_jsonp *w, const struct fm_extra *x)
{
	const struct fm_stat_flags *f = &x->fig->flags;

	fm_jsonp_array(w, "flags");
	if (f->outliers > 0)
		fm_jsonp_str(w, NULL, "outlier_process");
	if (f->far > 0)
		fm_jsonp_str(w, NULL, "far_process");
	if (f->gap)
		fm_jsonp_str(w, NULL, "mean_median_gap");
	if (f->bimodal)
		fm_jsonp_str(w, NULL, "bimodal");
	if (f->drift)
		fm_jsonp_str(w, NULL, "drift");
	for (size_t i = 0; i < x->measured->mark_count; i++)
		fm_jsonp_str(w, NULL, x->measured->marks[i]);
	fm_jsonp_close(w);
}

static void write_rejected(struct fm_jsonp *w, const struct fm_extra *x)
{
	fm_jsonp_array(w, "rejected");
	for (size_t i = 0; i < x->fig->rejected_count; i++) {
		const struct fm_rejected *r = &x->fig->rejected[i];
		fm_jsonp_object(w, NULL);
		fm_jsonp_int(w, "process", r->process);
		fm_jsonp_str(w, "state", fm_state_name[r->state]);
		fm_jsonp_str(w, "reason", fm_reason_name[r->reason]);
		fm_jsonp_int(w, "calls", r->calls);
		fm_jsonp_double(w, "seconds", (double)r->ns / 1e9);
		if (x->samples->count != NULL)
			fm_jsonp_int(w, "count", r->count);
		else
			fm_jsonp_null(w, "count");
		if (r->replaced_by > 0)
			fm_jsonp_int(w, "superseded_by", r->replaced_by);
		else
			fm_jsonp_null(w, "superseded_by");
		fm_jsonp_close(w);
	}
	fm_jsonp_close(w);
}

static void write_samples(struct fm_jsonp *w, const struct fm_extra *x)
{
	static const char *const column[] = {
	        "process", "calls", "ns", "core_cycles", "ref_ticks", "events"};
	char path[400];

	fm_jsonp_array(w, "samples");
	for (size_t i = 0; i < 7; i++) {
		const struct fm_manifest_entry *m;
		if (i < 6)
			snprintf(path, sizeof path, "samples/%s.%s.txt", x->stem, column[i]);
		else
			snprintf(path, sizeof path, "env/%s.process.tsv", x->stem);
		if ((m = fm_manifest_find(&x->side->manifest, path)) == NULL)
			continue;
		fm_jsonp_object(w, NULL);
		fm_jsonp_str(w, "file", path);
		fm_jsonp_str(w, "sha256", m->hex);
		fm_jsonp_close(w);
	}
	fm_jsonp_close(w);
}

static void write_kat(struct fm_jsonp *w, const struct fm_build_fig *b)
{
	char name[64];

	fm_jsonp_object(w, "kat_files");
	fm_jsonp_int(w, "checked", b->kat_checked);
	fm_jsonp_int(w, "listed", b->kat_listed);
	fm_jsonp_int(w, "vectors", b->vectors);
	fm_jsonp_array(w, "not_run");
	for (const char *s = b->not_run == NULL ? "" : b->not_run; *s != '\0';) {
		size_t n = strcspn(s, ",");
		snprintf(name, sizeof name, "%.*s", (int)n, s);
		fm_jsonp_str(w, NULL, name);
		s += n + strspn(s + n, ", ");
	}
	fm_jsonp_close(w);
	fm_jsonp_str(w, "digest", b->kat_digest);
	fm_jsonp_close(w);
}

static void write_memory(struct fm_jsonp *w, const struct fm_ev_memory *m)
{
	if (m == NULL) {
		fm_jsonp_null(w, "memory");
		return;
	}
	fm_jsonp_object(w, "memory");
#define FIELD(name)                                      \
	do {                                             \
		if (m->name >= 0)                        \
			fm_jsonp_int(w, #name, m->name); \
	} while (0)
	FIELD(bytes);
	FIELD(text_bytes);
	FIELD(rodata_bytes);
	FIELD(unwind_bytes);
	FIELD(data_bytes);
	FIELD(bss_bytes);
	FIELD(tls_bytes);
	FIELD(rom_bytes);
	FIELD(rom_reachable_bytes);
	FIELD(static_ram_bytes);
	FIELD(pt_load_memsz_bytes);
	FIELD(stack_touched_bytes);
	FIELD(heap_peak_requested_bytes);
	FIELD(heap_peak_usable_bytes);
	FIELD(allocs_per_call);
	FIELD(leak_bytes_per_call);
	FIELD(io_buffers_bytes);
	FIELD(isolated_ram_upper_bytes);
	FIELD(unaccounted_mapping_bytes);
	FIELD(rss_baseline_process_kib);
	FIELD(rss_peak_process_kib);
#undef FIELD
	if (m->isolated_ram_upper_bytes_why != NULL)
		fm_jsonp_str(w, "isolated_ram_upper_bytes_why", m->isolated_ram_upper_bytes_why);
	fm_jsonp_close(w);
}

void fm_data_extra(struct fm_jsonp *w, const void *arg)
{
	const struct fm_extra *x = arg;
	const struct fm_evidence *e = &x->side->evidence;

	fm_jsonp_object(w, "fleetmark");
	fm_jsonp_int(w, "form", 1);
	fm_jsonp_str(w, "campaign", e->campaign);
	fm_jsonp_str(w, "profile", e->measure.profile);
	fm_jsonp_str(w, "version", x->measured->version);
	fm_jsonp_object(w, "counter");
	fm_jsonp_str(w, "label", e->counter.label);
	fm_jsonp_str(w, "scope", e->counter.scope);
	fm_jsonp_str(w, "source", e->counter.source);
	if (e->counter.hz > 0)
		fm_jsonp_int(w, "hz", e->counter.hz);
	else
		fm_jsonp_null(w, "hz");
	fm_jsonp_close(w);
	fm_jsonp_bool(w, "emulated", x->fig->emulated);
	fm_jsonp_bool(w, "publishable", x->report->plan.publish != 0 && !x->fig->emulated);
	fm_jsonp_object(w, "isolation");
	fm_jsonp_str(w, "mode", e->isolation.mode);
	fm_jsonp_int(w, "no_new_privs", e->isolation.no_new_privs);
	fm_jsonp_int(w, "landlock", e->isolation.landlock);
	fm_jsonp_int(w, "seccomp", e->isolation.seccomp);
	fm_jsonp_close(w);
	fm_jsonp_str(w, "bundle_manifest_sha256", x->side->manifest_sha256);
	write_samples(w, x);
	fm_jsonp_object(w, "process_means");
	if (x->counts != NULL)
		write_list(w, e->counter.label, x->counts, x->n);
	write_list(w, "seconds", x->seconds, x->n);
	fm_jsonp_close(w);
	fm_jsonp_object(w, "statistics");
	if (x->fig->counted.n > 0)
		write_estimate(w, e->counter.label, &x->fig->counted, !x->fig->no_interval);
	write_estimate(w, "seconds", &x->fig->seconds, !x->fig->no_interval);
	write_derived(w, x);
	write_levels(w, x);
	fm_jsonp_close(w);
	write_flags(w, x);
	write_rejected(w, x);
	write_kat(w, x->build);
	write_memory(w, x->memory);
	fm_jsonp_close(w);
}
