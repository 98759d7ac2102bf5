/* export.c: cells and processes as plain tables for pandas and R, units in the names of the
 * columns; missing values are empty in CSV and null in JSON. */
#include "orchestrator/jsonp.h"
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROW_MAX 16384

/* One value of a row: a text, a whole number or a double; the rest is absent. */
struct value {
	const char *name;
	const char *text;
	double number;
	int64_t whole;
	enum { TEXT, WHOLE, NUMBER, TRUTH } kind;
};
#define MOST_VALUES 72
struct row {
	struct value v[MOST_VALUES];
	size_t n;
};

static void text(struct row *r, const char *name, const char *value)
{
	r->v[r->n++] = (struct value){.name = name, .text = value, .kind = TEXT};
}

/* Below least: unknown. */
static void whole(struct row *r, const char *name, int64_t value, int64_t least)
{
	r->v[r->n++] = (struct value){
	        .name = name, .whole = value, .kind = WHOLE, .number = value < least ? NAN : 0};
}

static void truth(struct row *r, const char *name, bool value)
{
	r->v[r->n++] = (struct value){.name = name, .whole = value, .kind = TRUTH};
}

static void number(struct row *r, const char *name, double value)
{
	r->v[r->n++] = (struct value){.name = name, .number = value, .kind = NUMBER};
}

/* A field of RFC 4180: quoted where it must be. */
static int csv_text(struct fm_buf *b, const char *s)
{
	int rc = FM_OK;

	if (s[strcspn(s, ",\"\r\n")] == '\0')
		return fm_buf_puts(b, s);
	rc = fm_buf_puts(b, "\"");
	for (; *s != '\0' && rc == FM_OK; s++)
		rc = fm_buf_put(b, *s == '"' ? "\"\"" : s, *s == '"' ? 2 : 1);
	return rc == FM_OK ? fm_buf_puts(b, "\"") : rc;
}

static int csv_value(struct fm_buf *b, const struct value *v)
{
	switch (v->kind) {
	case TEXT:
		return v->text == NULL ? FM_OK : csv_text(b, v->text);
	case WHOLE:
		return isnan(v->number) ? FM_OK : fm_buf_printf(b, "%lld", (long long)v->whole);
	case TRUTH:
		return fm_buf_puts(b, v->whole ? "TRUE" : "FALSE");
	default:
		return isfinite(v->number) ? fm_buf_puts(b, fm_n_double(v->number).s) : FM_OK;
	}
}

static int csv_row(struct fm_sink_stream *out, const struct row *r, bool names)
{
	struct fm_buf b = FM_BUF_INIT(ROW_MAX);
	int rc = FM_OK;

	for (size_t i = 0; i < r->n && rc == FM_OK; i++) {
		if (i > 0)
			rc = fm_buf_puts(&b, ",");
		if (rc == FM_OK)
			rc = names ? fm_buf_puts(&b, r->v[i].name) : csv_value(&b, &r->v[i]);
	}
	if (rc == FM_OK && (rc = fm_buf_puts(&b, "\n")) == FM_OK)
		rc = fm_sink_add(out, b.data, b.len);
	fm_buf_free(&b);
	return rc;
}

/* One object on one line; the first line of the document is written by fm_export_begin. */
static int json_row(struct fm_sink_stream *out, const struct row *r, bool first)
{
	struct fm_buf b = FM_BUF_INIT(ROW_MAX);
	struct fm_jsonp w;
	int rc;

	fm_jsonp_start(&w, &b);
	for (size_t i = 0; i < r->n; i++) {
		const struct value *v = &r->v[i];
		if (v->kind == TEXT)
			fm_jsonp_str(&w, v->name, v->text);
		else if (v->kind == TRUTH)
			fm_jsonp_bool(&w, v->name, v->whole != 0);
		else if (v->kind == WHOLE && !isnan(v->number))
			fm_jsonp_int(&w, v->name, v->whole);
		else
			fm_jsonp_double(&w, v->name, v->kind == WHOLE ? NAN : v->number);
	}
	rc = fm_jsonp_end(&w);
	size_t kept = 0;
	for (size_t i = 0; rc == FM_OK && i < b.len; i++) /* texts hold no bare line end */
		if (b.data[i] != '\n')
			b.data[kept++] = b.data[i];
	if (rc == FM_OK && (rc = fm_sink_add(out, first ? "\n" : ",\n", first ? 1 : 2)) == FM_OK)
		rc = fm_sink_add(out, b.data, kept);
	fm_buf_free(&b);
	return rc;
}

/* Columns of one estimate; the names are constants, one set a unit. */
static void estimate(struct row *r, const char *const names[8], const struct fm_estimate *e,
        double scale, bool intervals)
{
	const double v[8] = {e->mean, intervals ? e->half : NAN, e->median,
	        intervals ? e->median_low : NAN, intervals ? e->median_high : NAN, e->min, e->max,
	        e->n > 1 ? sqrt(e->variance) : NAN};

	for (int i = 0; i < 8; i++)
		number(r, names[i], e->n == 0 ? NAN : v[i] * scale);
}

static const char *const state_name[] = {"measured", "failed", "missing", "rejected"};

static void which(struct row *r, const struct fm_side *s, const struct fm_cell_fig *c)
{
	text(r, "system", s->system->plan->name);
	text(r, "candidate", s->candidate->id);
	text(r, "instance", c->instance);
	text(r, "label", c->label);
	text(r, "version", fm_version_name[c->version]);
	text(r, "operation", c->key);
	whole(r, "input_bytes", c->bytes, 0);
}

/* What was weighed of the library alone. */
static void memory(struct row *r, const struct fm_ev_memory *m)
{
	static const struct fm_ev_memory none = {.rom_bytes = -1,
	        .rom_reachable_bytes = -1,
	        .static_ram_bytes = -1,
	        .stack_touched_bytes = -1,
	        .heap_peak_usable_bytes = -1,
	        .allocs_per_call = -1,
	        .leak_bytes_per_call = -1,
	        .isolated_ram_upper_bytes = -1};

	m = m == NULL ? &none : m;
	whole(r, "isolated_rom_bytes", m->rom_bytes, 0);
	whole(r, "isolated_rom_reachable_bytes", m->rom_reachable_bytes, 0);
	whole(r, "isolated_static_ram_bytes", m->static_ram_bytes, 0);
	whole(r, "isolated_stack_touched_bytes", m->stack_touched_bytes, 0);
	whole(r, "isolated_heap_peak_bytes", m->heap_peak_usable_bytes, 0);
	whole(r, "isolated_allocations_per_call", m->allocs_per_call, 0);
	whole(r, "isolated_leak_per_call_bytes", m->leak_bytes_per_call, 0);
	whole(r, "isolated_ram_upper_bytes", m->isolated_ram_upper_bytes, 0);
}

static void cell_row(struct row *r, const struct fm_report *rep, const struct fm_side *s,
        const struct fm_cell_fig *c, const char *flags)
{
	static const char *const ns[] = {"process_mean_ns", "process_mean_ci95_half_ns",
	        "median_ns", "median_ci95_low_ns", "median_ci95_high_ns", "min_ns", "max_ns",
	        "process_sd_ns"},
	                         *const cycles[] = {"process_mean_core_cycles",
	                                 "process_mean_ci95_half_core_cycles", "median_core_cycles",
	                                 "median_ci95_low_core_cycles",
	                                 "median_ci95_high_core_cycles", "min_core_cycles",
	                                 "max_core_cycles", "process_sd_core_cycles"};
	static const struct fm_estimate none = {0};
	const struct fm_build_fig *b = fm_builds_find(&s->builds, c->label);
	bool measured = c->state == FM_CELL_MEASURED, counted = c->count == FM_COUNT_CYCLES;
	bool emulated = c->emulated || s->system->emulated;
	double bytes = c->bytes > 0 ? (double)c->bytes : NAN;

	which(r, s, c);
	text(r, "state", state_name[c->state]);
	text(r, "class", c->klass[0] == '\0' ? NULL : c->klass);
	text(r, "reason", c->reason[0] == '\0' ? NULL : c->reason);
	text(r, "kat", b == NULL ? NULL : b->kat);
	text(r, "build_flags_kind", b == NULL ? NULL : b->flags);
	text(r, "count_label",
	        !measured                    ? NULL
	        : counted                    ? "core_cycles"
	        : c->count == FM_COUNT_TICKS ? "ref_ticks"
	                                     : "ns");
	truth(r, "emulated", emulated);
	truth(r, "publishable", rep->plan.publish != 0 && !emulated);
	whole(r, "cpu", measured ? c->cpu : -1, 0);
	whole(r, "processes", (int64_t)c->seconds.n, 1);
	whole(r, "calls", c->measurements, 1);
	number(r, "mean_ns", c->mean_seconds * 1e9);
	number(r, "ns_per_byte", c->mean_seconds * 1e9 / bytes);
	number(r, "throughput_MB_per_s", c->mbs);
	estimate(r, ns, measured ? &c->seconds : &none, 1e9, !c->no_interval);
	number(r, "mean_core_cycles", c->mean_cycles);
	number(r, "core_cycles_per_byte", c->mean_cycles / bytes);
	estimate(r, cycles, measured && counted ? &c->counted : &none, 1, !c->no_interval);
	number(r, "mean_ref_ticks", c->mean_ticks);
	number(r, "ref_ticks_hz", c->count == FM_COUNT_TICKS ? c->hz : NAN);
	whole(r, "baseline_rss_process_bytes", c->baseline_rss, 1);
	whole(r, "peak_rss_process_bytes", c->peak_rss, 1);
	whole(r, "elf_load_bytes", b == NULL ? -1 : b->elf_bytes, 0);
	memory(r, fm_side_memory(s, c));
	text(r, "flags", flags);
	text(r, "library_sha256", b == NULL ? NULL : b->library_sha256);
	text(r, "bundle_manifest_sha256", s->have ? s->manifest_sha256 : NULL);
}

static int one_cell(struct fm_report *r, const struct fm_side *s, const struct fm_cell_fig *c)
{
	char *flags = c->state == FM_CELL_MEASURED ? fm_cell_flags(c) : fm_strdup("");
	bool none = flags == NULL || strcmp(flags, "\xe2\x80\x93") == 0 || flags[0] == '\0';
	struct row row = {.n = 0};
	int rc = flags == NULL ? FM_ERR_MEMORY : FM_OK;

	cell_row(&row, r, s, c, none ? NULL : flags);
	if (rc == FM_OK && (rc = csv_row(&r->export.cells, &row, false)) == FM_OK)
		rc = json_row(&r->export.json, &row, !r->export.any);
	r->export.any = true;
	free(flags);
	return rc;
}

int fm_export_side(struct fm_report *r, const struct fm_side *s)
{
	int rc = FM_OK;

	for (size_t i = 0; i < s->cells.count && rc == FM_OK; i++)
		rc = one_cell(r, s, &s->cells.list[i]);
	return rc;
}

int fm_export_process(struct fm_report *r, const struct fm_side *s, const struct fm_cell_fig *c,
        const struct fm_attempt *a)
{
	struct row row = {.n = 0};

	which(&row, s, c);
	text(&row, "state", a->state);
	text(&row, "reason", a->reason);
	whole(&row, "process", a->process, 0);
	whole(&row, "attempt", a->attempt, 0);
	whole(&row, "calls", a->calls, 0);
	whole(&row, "total_ns", a->ns, 0);
	whole(&row, "total_core_cycles", c->count == FM_COUNT_CYCLES ? a->count : -1, 0);
	whole(&row, "total_ref_ticks", c->count == FM_COUNT_TICKS ? a->count : -1, 0);
	return csv_row(&r->export.processes, &row, false);
}

/* The names of the columns, from a row of nothing. */
static int cell_names(struct fm_report *r)
{
	const struct fm_plan_system plan = {.name = ""};
	struct fm_report_system system = {.plan = &plan};
	const struct fm_candidate candidate = {.id = ""};
	const struct fm_side side = {.system = &system, .candidate = &candidate};
	const struct fm_cell_fig none = {.bytes = 0};
	struct row row = {.n = 0};

	cell_row(&row, r, &side, &none, NULL);
	return csv_row(&r->export.cells, &row, true);
}

int fm_export_begin(struct fm_report *r)
{
	static const char head[] = "{\"form\": 1, \"about\": \"one object per cell; the end of a "
	                           "name is its unit, times and counts are per call, null is "
	                           "unknown\", \"cells\": [",
	                  names[] = "system,candidate,instance,label,version,operation,input_bytes,"
	                            "state,reason,process,attempt,calls,total_ns,total_core_cycles,"
	                            "total_ref_ticks\n";
	int rc = fm_sink_begin(&r->sink, "data/cells.csv", &r->export.cells);

	if (rc == FM_OK)
		rc = fm_sink_begin(&r->sink, "data/cells.json", &r->export.json);
	if (rc == FM_OK)
		rc = fm_sink_begin(&r->sink, "data/processes.csv", &r->export.processes);
	if (rc == FM_OK)
		rc = cell_names(r);
	if (rc == FM_OK && (rc = fm_sink_add(&r->export.json, head, strlen(head))) == FM_OK)
		rc = fm_sink_add(&r->export.processes, names, strlen(names));
	return rc;
}

int fm_export_end(struct fm_report *r)
{
	struct fm_sink_stream *all[] = {&r->export.cells, &r->export.json, &r->export.processes};
	int rc = FM_OK;

	if (r->export.json.sink != NULL)
		rc = fm_sink_add(&r->export.json, "\n]}\n", 4);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		int one = fm_sink_end(all[i]);
		rc = rc == FM_OK ? one : rc;
	}
	return rc;
}
