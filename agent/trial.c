/* trial.c: runs one worker process of one cell and decides by evidence outside its counts whether
 * it stands. */
#include "agent/trial.h"

#include "agent/fake.h"
#include "agent/judge.h"
#include "agent/outside.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ATTEMPTS    3
#define COOL_MOST_S 120
#define COOL_MC     2000 /* this near to the temperature of the start is cool */

static int order_text(const struct fm_job *j, const struct fm_candidate_work *c,
        const struct fm_cell_work *cell, long long process, struct fm_buf *order)
{
	char text[300], seed[65];
	int rc;

	snprintf(text, sizeof text, "%s\n%s\n%lld\n", c->order_seed, cell->stem, process);
	fm_sha256_hex(text, strlen(text), seed);
	if ((rc = fm_order_library(order, "time", c, cell->unit, j->cpu)) != FM_OK ||
	        (rc = fm_text_put(order, "bytes", "%u", cell->bytes)) != FM_OK ||
	        (rc = fm_text_put(order, "calls", "%llu", (unsigned long long)cell->calls)) !=
	                FM_OK ||
	        (rc = fm_text_put(order, "windows", "%u", cell->windows)) != FM_OK ||
	        (rc = fm_text_put(order, "min_ns", "%llu", (unsigned long long)cell->min_ns)) !=
	                FM_OK ||
	        (rc = fm_text_put(order, "warm", "%d", cell->warm ? 1 : 0)) != FM_OK ||
	        (rc = fm_text_put(order, "digest_sha256", "%s", cell->digest_sha256)) != FM_OK ||
	        (rc = fm_text_put(order, "seed", "%.16s", seed)) != FM_OK ||
	        (rc = fm_text_put(order, "counter", "%s", j->counter.source)) != FM_OK)
		return rc;
	return fm_text_end(order);
}

static void fill(const struct fm_child *child, const struct fm_run *run, struct fm_process *p)
{
	for (int i = FM_COL_first_call_ns; i < FM_COLUMN_COUNT; i++) {
		p->col[i] = fm_run_int(run, fm_column_names[i], -1);
		if (p->col[i] < -1) /* no such number: not known */
			p->col[i] = -1;
	}
	p->col[FM_COL_replaced_by] = -1;
	p->col[FM_COL_cpu] = fm_run_int(run, "cpu", -1);
	p->col[FM_COL_wall_ns] = (int64_t)child->elapsed_ns;
	p->col[FM_COL_windows] = (int64_t)run->window_count;
}

/* Heat and quota as the agent saw them, into the columns and the facts. */
static void note_outside(const struct fm_job *j, const struct fm_outside *before,
        struct fm_process *p, struct fm_judge_facts *facts)
{
	struct fm_outside after;
	int64_t throttle, cooling;

	fm_outside_read(j->cpu, &after);
	facts->throttled = fm_outside_since(before->throttled, after.throttled);
	throttle = fm_outside_since(before->throttle, after.throttle);
	cooling = fm_outside_since(before->cooling, after.cooling);
	if (throttle >= 0 || cooling >= 0)
		p->col[FM_COL_throttle_delta] =
		        (throttle > 0 ? throttle : 0) + (cooling > 0 ? cooling : 0);
	if (before->temp_mc >= 0)
		p->col[FM_COL_temp_start_mc] = before->temp_mc;
	if (after.temp_mc >= 0)
		p->col[FM_COL_temp_end_mc] = after.temp_mc;
}

/* Waits until the core is as cool as at the start, two minutes at most. */
static void cool_down(struct fm_job *j)
{
	const struct timespec second = {1, 0};
	struct fm_outside now;

	for (unsigned i = 0; i < COOL_MOST_S; i++) {
		fm_outside_read(j->cpu, &now);
		if (now.temp_mc < 0 || j->cool_mc < 0 || now.temp_mc <= j->cool_mc + COOL_MC)
			return;
		if (j->agent->world == NULL) {
			(void)nanosleep(&second, NULL);
			(void)!fm_job_serve(j);
		}
	}
}

/* A call that cannot have been so short was none: the cell fails. A claim of more time than there
 * was is no measurement: the spool has it, the samples do not. */
static void check_floor(struct fm_job *j, struct fm_cell_work *cell, struct fm_process *p)
{
	char text[120];

	if (p->col[FM_COL_reason] == FM_WHY_IMPOSSIBLE)
		p->col[FM_COL_windows] = 0;
	if (p->col[FM_COL_state] == FM_ACCEPTED &&
	        fm_judge_floor(p, cell->bytes, strcmp(j->counter.label, "core_cycles") == 0, text,
	                sizeof text) != NULL)
		fm_cell_close(cell, "failed", "measure", "below_physical_floor", text);
}

/* The most the core was seen to do at once, by the checks of the clock and by this candidate's
 * processes: what a library says of it concerns nobody else. 0 under an emulator. */
static int64_t width(
        const struct fm_job *j, struct fm_candidate_work *c, const struct fm_process *p)
{
	const int64_t seen = p->col[FM_COL_width_high_milli];

	if (seen > c->width_milli)
		c->width_milli = seen;
	if (j->emulated)
		return 0;
	return c->width_milli > j->counter.width_milli ? c->width_milli : j->counter.width_milli;
}

/* When the next process starts, since the job did. */
static int64_t started_ns(const struct fm_candidate_work *c)
{
	uint64_t ns;

#ifdef FLEETMARK_TESTING
	if (fm_fake_clock(&ns))
		return (int64_t)ns;
#endif
	ns = fm_agent_boot_ns() - c->base_ns;
	return (int64_t)ns;
}

/* One process. round 0: the planning process, which counts for nothing. */
static int attempt(struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell,
        unsigned round, unsigned number, unsigned most)
{
	struct fm_judge_facts facts = {number, most, -1, j->counter.measured_hz,
	        strcmp(j->counter.label, "core_cycles") == 0, 0};
	struct fm_outside before;
	struct fm_buf order = FM_BUF_INIT(1u << 16);
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	struct fm_process p;
	struct fm_run run;
	uint64_t work = cell->calls * (uint64_t)(cell->t1_ns > 0 ? cell->t1_ns : 1), limit;
	int rc;

	memset(&p, 0, sizeof p);
	memset(&run, 0, sizeof run);
	p.col[FM_COL_process] = round == 0 ? 0 : 1;
	if (cell->taken_count > 0)
		p.col[FM_COL_process] = cell->taken[cell->taken_count - 1].col[FM_COL_process] + 1;
	p.col[FM_COL_attempt] = number;
	p.col[FM_COL_round] = round;
	p.col[FM_COL_started_ns] = started_ns(c);
	fm_outside_read(j->cpu, &before);
	if (j->cool_mc == 0)
		j->cool_mc = before.temp_mc;
	limit = (work / 1000000u) * 5 + (j->emulated ? 300000u : 60000u);
#ifdef FLEETMARK_TESTING
	fm_fake_turn(c->timed, cell->timed);
#endif
	if ((rc = order_text(j, c, cell, (long long)p.col[FM_COL_process], &order)) == FM_OK)
		rc = fm_run_once(j->agent, &order, limit, &child, &run);
	if (rc == FM_OK) {
#ifdef FLEETMARK_TESTING
		fm_fake_child(&run, &child);
#endif
		c->timed += round != 0;
		cell->timed += round != 0;
		fill(&child, &run, &p);
		note_outside(j, &before, &p, &facts);
		facts.width_milli = width(j, c, &p);
		fm_judge(&child, &run, &facts, &p);
		if (round == 0 && p.col[FM_COL_state] != FM_INVALID)
			p.col[FM_COL_state] = FM_PLANNING;
		p.windows = run.windows;
		p.window_count = run.window_count;
		run.windows = NULL;
		check_floor(j, cell, &p);
		cell->used_ns += child.elapsed_ns;
		for (size_t i = 0; i < run.fact_count; i++) {
			if (strcmp(run.facts[i].key, "note") != 0)
				continue;
			cell->unsettled |= strcmp(run.facts[i].value, "unsettled") == 0;
			cell->slope_differs |= strcmp(run.facts[i].value, "slope_differs") == 0;
		}
		rc = fm_spool_add(j, c, cell, &p);
		if (rc != FM_OK)
			free(p.windows);
	}
	fm_run_free(&run);
	fm_child_free(&child);
	fm_buf_free(&order);
	return rc;
}

static const struct fm_process *planned(const struct fm_cell_work *cell)
{
	for (size_t i = cell->taken_count; i > 0; i--)
		if (cell->taken[i - 1].col[FM_COL_state] == FM_PLANNING)
			return &cell->taken[i - 1];
	return NULL;
}

int fm_trial_planning(struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell)
{
	int rc = planned(cell) != NULL ? FM_OK : attempt(j, c, cell, 0, 1, 1);

	if (rc == FM_OK && planned(cell) != NULL)
		cell->process_ns = (uint64_t)planned(cell)->col[FM_COL_wall_ns];
	return rc;
}

/* Attempts of this slot that count (not superseded), and the last of them. */
static unsigned attempts(
        const struct fm_cell_work *cell, unsigned round, const struct fm_process **last)
{
	unsigned n = 0;

	*last = NULL;
	for (size_t i = 0; i < cell->taken_count; i++)
		if (cell->taken[i].col[FM_COL_round] == round &&
		        cell->taken[i].col[FM_COL_reason] != FM_WHY_SUPERSEDED) {
			*last = &cell->taken[i];
			n++;
		}
	return n;
}

static unsigned invalid_in_a_row(const struct fm_cell_work *cell)
{
	unsigned n = 0;

	for (size_t i = cell->taken_count;
	        i > 0 && cell->taken[i - 1].col[FM_COL_state] == FM_INVALID; i--)
		n++;
	return n;
}

bool fm_trial_any(const struct fm_cell_work *cell)
{
	for (size_t i = 0; i < cell->taken_count; i++)
		if (cell->taken[i].col[FM_COL_state] == FM_ACCEPTED)
			return true;
	return false;
}

int fm_trial_slot(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell, unsigned round)
{
	/* Under an emulator every process is disturbed and a retry shows nothing new. */
	unsigned most = j->emulated ? 1 : ATTEMPTS;

	for (;;) {
		const struct fm_process *last;
		unsigned n = attempts(cell, round, &last);
		int rc;

		if (last != NULL && (last->col[FM_COL_state] == FM_ACCEPTED || fm_job_late(j)))
			return FM_OK;
		if (invalid_in_a_row(cell) >= 3) {
			char text[80];

			snprintf(text, sizeof text, "three invalid processes in a row: %s",
			        fm_reason_names[last == NULL ? FM_WHY_NO_END
			                                     : last->col[FM_COL_reason]]);
			fm_cell_close(cell, "failed", "measure", "failed", text);
			return FM_OK;
		}
		if (last != NULL && last->col[FM_COL_reason] == FM_WHY_THERMAL)
			cool_down(j);
		rc = attempt(j, c, cell, round, n + 1, most);
		if (rc != FM_OK)
			return rc;
	}
}
