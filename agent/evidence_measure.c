/* evidence_measure.c: writes how it was measured: counter, clock, host checks, every measured cell,
 * its memory. */
#include "agent/evidence_measure.h"
#include "agent/tune.h"

#include <string.h>

static void put_counter(struct fm_jsonw *w, const struct fm_counter *c)
{
	fm_jsonw_object(w, "counter");
	fm_jsonw_int(w, "hz", c->hz);
	fm_jsonw_text(w, "label", c->label);
	fm_jsonw_text(w, "pmu", strcmp(c->pmu, "none") == 0 ? "" : c->pmu);
	fm_jsonw_int(w, "read_pair_milli", c->read_pair_milli);
	fm_jsonw_array(w, "rejected");
	for (size_t i = 0; i < c->rejected_count; i++)
		fm_jsonw_text(w, NULL, c->rejected[i]);
	fm_jsonw_close(w);
	fm_jsonw_int(w, "resolution", c->resolution);
	fm_jsonw_text(w, "scope", c->scope);
	fm_jsonw_text(w, "source", c->source);
	fm_jsonw_int(w, "truth_permille", c->truth_permille);
	fm_jsonw_close(w);
}

/* Every check, with its distance from the first one. */
static void put_clock(struct fm_jsonw *w, const struct fm_job *j)
{
	const int64_t first = j->clocks[0].hz;

	fm_jsonw_array(w, "clock");
	for (size_t i = 0; i < j->clock_count; i++) {
		const struct fm_clock_check *c = &j->clocks[i];
		int64_t drift = -1;

		if (first > 0 && c->hz > 0)
			drift = (int64_t)((first > c->hz ? first - c->hz : c->hz - first) /
			                  ((double)first / 1e6));
		fm_jsonw_object(w, NULL);
		fm_jsonw_int(w, "drift_ppm", drift);
		fm_jsonw_int(w, "iqr_ppm", c->iqr_ppm);
		fm_jsonw_int(w, "measured_hz", c->hz);
		fm_jsonw_int(w, "nominal_khz", j->counter.nominal_khz);
		fm_jsonw_int(w, "tick_hz", c->tick_hz);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

static void put_host_checks(struct fm_jsonw *w, const struct fm_checks *checks)
{
	fm_jsonw_array(w, "host_checks");
	for (size_t i = 0; i < checks->count; i++) {
		fm_jsonw_object(w, NULL);
		fm_jsonw_str(w, "check", checks->at[i].check);
		fm_jsonw_str(w, "severity", checks->at[i].severity);
		fm_jsonw_text(w, "source", checks->at[i].source);
		fm_jsonw_str(w, "state", checks->at[i].state);
		fm_jsonw_text(w, "value", checks->at[i].value);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

/* What the empty call cost differed by more than two cycles from process to process. */
static bool frame_spread(const struct fm_cell_work *cell)
{
	int64_t least = INT64_MAX, most = -1;

	for (size_t i = 0; i < cell->taken_count; i++) {
		const int64_t *col = cell->taken[i].col;

		if (col[FM_COL_state] != FM_ACCEPTED || col[FM_COL_frame_milli] < 0)
			continue;
		least = col[FM_COL_frame_milli] < least ? col[FM_COL_frame_milli] : least;
		most = col[FM_COL_frame_milli] > most ? col[FM_COL_frame_milli] : most;
	}
	return most >= 0 && most - least > 2000;
}

/* What is taken off would be 5 % of the count and more: frame and reading, in thousandths. */
static bool overhead_dominated(const struct fm_cell_work *cell)
{
	double off = 0, counts = 0;

	for (size_t i = 0; i < cell->taken_count; i++) {
		const struct fm_process *p = &cell->taken[i];

		for (size_t k = 0; p->col[FM_COL_state] == FM_ACCEPTED && k < p->window_count;
		        k++) {
			const struct fm_run_window *w = &p->windows[k];

			off += (double)w->calls * (double)p->col[FM_COL_frame_milli] +
			       (double)p->col[FM_COL_read_pair_milli];
			counts += 1000.0 * (double)(w->counted ? w->count : w->ns);
		}
	}
	return counts > 0 && off >= 0.05 * counts;
}

/* Marks of the cell itself: reasons of accepted processes, too few calls, no settled warm-up, an
 * emulator. */
static void put_marks(struct fm_jsonw *w, const struct fm_job *j, const struct fm_cell_work *cell)
{
	bool seen[FM_WHY_COUNT] = {false};

	fm_jsonw_array(w, "marks");
	if (j->emulated)
		fm_jsonw_str(w, NULL, "emulated");
	if (cell->few_calls)
		fm_jsonw_str(w, NULL, "few_calls");
	if (frame_spread(cell))
		fm_jsonw_str(w, NULL, "frame_spread");
	if (overhead_dominated(cell))
		fm_jsonw_str(w, NULL, "overhead_dominated");
	if (cell->slope_differs)
		fm_jsonw_str(w, NULL, "slope_differs");
	if (cell->unsettled)
		fm_jsonw_str(w, NULL, "unsettled");
	if (fm_streq(cell->stop, "budget"))
		fm_jsonw_str(w, NULL, "partial");
	for (size_t i = 0; i < cell->taken_count; i++)
		if (cell->taken[i].col[FM_COL_state] == FM_ACCEPTED)
			seen[cell->taken[i].col[FM_COL_reason]] = true;
	for (int i = 1; i < FM_WHY_COUNT; i++)
		if (seen[i])
			fm_jsonw_str(w, NULL, fm_reason_names[i]);
	fm_jsonw_close(w);
}

static void put_measured(
        struct fm_jsonw *w, const struct fm_job *j, const struct fm_cell_work *cell)
{
	long long states[4] = {0}, calls = 0;

	for (size_t i = 0; i < cell->taken_count; i++) {
		const struct fm_process *p = &cell->taken[i];

		states[p->col[FM_COL_state] & 3]++;
		for (size_t k = 0; p->col[FM_COL_state] == FM_ACCEPTED && k < p->window_count; k++)
			calls += (long long)p->windows[k].calls;
	}
	fm_jsonw_object(w, NULL);
	fm_jsonw_int(w, "accepted", states[FM_ACCEPTED]);
	fm_jsonw_int(w, "bytes", cell->bytes);
	fm_jsonw_int(w, "calls", calls);
	fm_jsonw_str(w, "digest_sha256", cell->digest_sha256);
	fm_jsonw_str(w, "instance", cell->unit->instance->instance);
	fm_jsonw_int(w, "invalid", states[FM_INVALID]);
	fm_jsonw_str(w, "library_sha256", cell->unit->library_sha256);
	put_marks(w, j, cell);
	fm_jsonw_str(w, "message_sha256", cell->message_sha256);
	fm_jsonw_str(w, "operation", cell->operation);
	fm_jsonw_int(w, "planned", cell->processes);
	fm_jsonw_int(w, "replaced", states[FM_REPLACED]);
	fm_jsonw_str(w, "stop", cell->stop);
	fm_jsonw_int(w, "t1_ns", cell->t1_ns);
	fm_jsonw_str(w, "version", cell->unit->version->version);
	fm_jsonw_close(w);
}

/* An unknown is an absent key. */
static void put_known(struct fm_jsonw *w, const char *key, int64_t value)
{
	if (value >= 0)
		fm_jsonw_int(w, key, value);
}

static void put_memory(struct fm_jsonw *w, const struct fm_cell_work *cell)
{
	const struct fm_elf *e = &cell->unit->sizes;
	const struct fm_weight *weight = &cell->weight;
	long long io = weight->io_buffers >= 0
	                       ? weight->io_buffers
	                       : (long long)cell->bytes + cell->unit->instance->digest_bits / 8;
	long long ram = (long long)(e->data + e->bss + e->tls);

	fm_jsonw_object(w, NULL);
	put_known(w, "allocs_per_call", weight->allocs);
	fm_jsonw_int(w, "bss_bytes", (long long)e->bss);
	fm_jsonw_int(w, "bytes", cell->bytes);
	fm_jsonw_int(w, "data_bytes", (long long)e->data);
	put_known(w, "heap_peak_requested_bytes", weight->heap_requested);
	put_known(w, "heap_peak_usable_bytes", weight->heap_usable);
	fm_jsonw_str(w, "instance", cell->unit->instance->instance);
	fm_jsonw_int(w, "io_buffers_bytes", io);
	if (weight->stack >= 0 && weight->heap_usable >= 0)
		fm_jsonw_int(
		        w, "isolated_ram_upper_bytes", ram + weight->stack + weight->heap_usable);
	else if (weight->why[0] != '\0')
		fm_jsonw_str(w, "isolated_ram_upper_bytes_why", weight->why);
	put_known(w, "leak_bytes_per_call", weight->leak);
	fm_jsonw_int(w, "pt_load_memsz_bytes", (long long)e->load_memsz);
	fm_jsonw_int(w, "rodata_bytes", (long long)e->rodata);
	fm_jsonw_int(w, "rom_bytes", (long long)(e->text + e->rodata + e->data + e->tls_init));
	put_known(w, "rom_reachable_bytes", cell->unit->rom_reachable);
	fm_jsonw_int(w, "rss_baseline_process_kib", weight->rss_baseline_kib);
	fm_jsonw_int(w, "rss_peak_process_kib", weight->rss_peak_kib);
	put_known(w, "stack_touched_bytes", weight->stack);
	fm_jsonw_int(w, "static_ram_bytes", ram);
	fm_jsonw_int(w, "text_bytes", (long long)e->text);
	fm_jsonw_int(w, "tls_bytes", (long long)e->tls);
	put_known(w, "unaccounted_mapping_bytes", weight->unaccounted);
	fm_jsonw_int(w, "unwind_bytes", (long long)e->unwind);
	fm_jsonw_str(w, "version", cell->unit->version->version);
	fm_jsonw_close(w);
}

static void each_measured(
        struct fm_jsonw *w, const struct fm_job *j, const struct fm_candidate_work *c, bool memory)
{
	fm_jsonw_array(w, memory ? "memory" : "cells");
	for (size_t i = 0; i < c->unit_count; i++)
		for (size_t k = 0; k < c->units[i].cell_count; k++) {
			const struct fm_cell_work *cell = &c->units[i].cells[k];

			if (strcmp(cell->status, "measured") != 0)
				continue;
			if (memory)
				put_memory(w, cell);
			else
				put_measured(w, j, cell);
		}
	fm_jsonw_close(w);
}

void fm_evidence_measure(
        struct fm_jsonw *w, const struct fm_job *j, const struct fm_candidate_work *c)
{
	struct fm_buf state = FM_BUF_INIT(1u << 16);
	bool is_tuned = fm_fs_read(j->agent->dir, FM_TUNE_STATE, 1u << 16, &state) == FM_OK;

	fm_buf_free(&state);
	fm_jsonw_object(w, "measure");
	each_measured(w, j, c, false);
	put_clock(w, j);
	fm_jsonw_text(w, "core_type", j->counter.core_type);
	put_counter(w, &j->counter);
	fm_jsonw_int(w, "cpu", j->cpu);
	put_host_checks(w, &j->checks);
	each_measured(w, j, c, true);
	fm_jsonw_str(w, "order_seed", c->order_seed);
	fm_jsonw_str(w, "profile", j->mandate.plan.profile);
	fm_jsonw_int(w, "tuned", is_tuned);
	fm_jsonw_close(w);
}
