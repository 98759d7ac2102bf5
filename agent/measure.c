/* measure.c: measures one candidate: plans its cells, runs one worker process per trial in the
 * order of the profile. */
#include "agent/gate_order.h"
#include "agent/order.h"
#include "agent/trial.h"
#include "agent/work.h"

#include <stdlib.h>
#include <string.h>

#define SECOND       1000000000u
#define GUIDE_BUDGET (900ull * SECOND)
#define PLAN_CALLS   16u /* of each size, about: the first, a warm-up, three batches */
#define SMOKE_BUDGET (5ull * SECOND)

/* Digests and t1 of the messages that will be timed, from one process per unit on the measured
 * core. */
static int plan_unit(struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u)
{
	struct fm_buf order = FM_BUF_INIT(1u << 16);
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	struct fm_run run;
	const char *reason, *timeout = NULL;
	uint64_t bytes = 0;
	int rc = fm_order_library(&order, "digest", c, u, j->cpu);

	memset(&run, 0, sizeof run);
	for (size_t i = 0; rc == FM_OK && i < u->cell_count; i++)
		rc = fm_text_put(&order, "bytes", "%u", u->cells[i].bytes);
	for (size_t i = 0; i < u->cell_count; i++)
		bytes += u->cells[i].bytes;
	if (rc == FM_OK && (rc = fm_text_end(&order)) == FM_OK)
		rc = fm_run_once(j->agent, &order,
		        1000ull * fm_gate_seconds(
		                          j, u, PLAN_CALLS * u->cell_count, PLAN_CALLS * bytes),
		        &child, &run);
	if (rc == FM_OK && child.killed == FM_CHILD_TIMEOUT)
		timeout = "the planning process did not end in its time";
	for (size_t i = 0; rc == FM_OK && fm_run_good(&child, &run) && i < u->cell_count; i++) {
		struct fm_cell_work *cell = &u->cells[i];
		const char *digest, *message;
		char key[40];

		snprintf(key, sizeof key, "digest_sha256_%u", cell->bytes);
		digest = fm_run_fact(&run, key);
		snprintf(key, sizeof key, "message_sha256_%u", cell->bytes);
		message = fm_run_fact(&run, key);
		snprintf(key, sizeof key, "t1_ns_%u", cell->bytes);
		cell->t1_ns = fm_run_int(&run, key, -1);
		if (digest != NULL && message != NULL && fm_hex64_ok(digest) &&
		        fm_hex64_ok(message)) {
			memcpy(cell->digest_sha256, digest, 65);
			memcpy(cell->message_sha256, message, 65);
		}
	}
	reason = timeout != NULL ? timeout : fm_run_fact(&run, "reason");
	for (size_t i = 0; rc == FM_OK && i < u->cell_count; i++)
		if (u->cells[i].digest_sha256[0] == '\0')
			fm_cell_close(&u->cells[i], "failed", "measure", "failed",
			        reason != NULL ? reason : "the planning process gave no digest");
	fm_run_free(&run);
	fm_child_free(&child);
	fm_buf_free(&order);
	return rc;
}

/* Processes, calls and windows of one cell (guide/measurement section 5). */
static void plan_cell(const struct fm_job *j, struct fm_cell_work *cell)
{
	uint64_t t1 = cell->t1_ns > 0 ? (uint64_t)cell->t1_ns : 1;

	cell->warm = true;
	if (j->smoke) {
		cell->processes = 2;
		cell->windows = 2;
		cell->calls = 1;
		cell->min_ns = 1000000;
		if (4 * t1 > SMOKE_BUDGET)
			cell->processes = 1;
		return;
	}
	cell->processes = 5;
	cell->windows = 200;
	cell->min_ns = 0;
	cell->calls = (SECOND + t1 - 1) / t1;
	if (cell->calls < 20)
		cell->calls = 20;
	if (cell->calls > 20000)
		cell->calls = 20000;
	if (5 * cell->calls * t1 > GUIDE_BUDGET)
		cell->calls = GUIDE_BUDGET / (5 * t1);
	if (cell->calls < 1)
		cell->calls = 1;
	if (5 * t1 > GUIDE_BUDGET)
		cell->processes = t1 > GUIDE_BUDGET ? 1 : (unsigned)(GUIDE_BUDGET / t1);
	cell->few_calls = cell->calls * cell->processes < 100;
}

static int plan(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t *count)
{
	int rc = fm_job_stage(j, "plan", c->plan->candidate, c->unit_count);

	*count = 0;
	for (size_t i = 0; rc == FM_OK && i < c->unit_count; i++) {
		struct fm_unit *u = &c->units[i];

		if (fm_unit_gated(u))
			rc = plan_unit(j, c, u);
		for (size_t k = 0; rc == FM_OK && k < u->cell_count; k++) {
			if (u->cells[k].status != NULL)
				continue;
			plan_cell(j, &u->cells[k]);
			cells[(*count)++] = &u->cells[k];
		}
		if (rc == FM_OK)
			rc = fm_job_step(j);
	}
	return rc;
}

/* The agent's own estimate in ns: what the processes will take, with 60 ms each for start and
 * warm-up. */
static uint64_t estimate(const struct fm_job *j, struct fm_cell_work *const *cells, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		const struct fm_cell_work *c = cells[i];
		uint64_t work = c->calls * (uint64_t)(c->t1_ns > 0 ? c->t1_ns : 1);

		if (work < c->min_ns)
			work = c->min_ns;
		sum += c->processes * (work + (j->emulated ? 300000000u : 60000000u));
	}
	return sum;
}

static int by_cost(const void *a, const void *b)
{
	const struct fm_cell_work *x = *(struct fm_cell_work *const *)a,
	                          *y = *(struct fm_cell_work *const *)b;
	uint64_t left = x->calls * (uint64_t)x->t1_ns, right = y->calls * (uint64_t)y->t1_ns;

	if (left != right)
		return left < right ? -1 : 1;
	return strcmp(x->stem, y->stem);
}

static int finish_cell(
        struct fm_job *j, const struct fm_candidate_work *c, struct fm_cell_work *cell)
{
	size_t accepted = 0;

	for (size_t i = 0; i < cell->taken_count; i++)
		accepted += cell->taken[i].col[FM_COL_state] == FM_ACCEPTED;
	if (cell->status == NULL && accepted > 0)
		cell->status = "measured";
	else if (cell->status == NULL)
		fm_cell_close(cell, "failed", "measure", "failed", "no valid process");
	if (cell->stop == NULL)
		cell->stop = "fixed";
	return fm_job_cell(j, c, cell);
}

/* One slot: a process of one round, with its retries. */
static int slot(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell, unsigned round)
{
	uint64_t budget = j->smoke ? SMOKE_BUDGET : 2 * GUIDE_BUDGET;
	int rc = FM_OK;

	if (cell->status != NULL || cell->over || round > cell->processes)
		return FM_OK;
	if (round > 1 && cell->used_ns > budget) {
		cell->over = true;
		cell->stop = "budget";
		return FM_OK;
	}
	rc = fm_trial_slot(j, c, cell, round);
	if (rc == FM_OK)
		rc = fm_job_step(j);
	return rc;
}

/* smoke: rounds over all cells, each in a fresh permutation. */
static int blocks(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t count)
{
	struct fm_order order;
	unsigned rounds = 0;
	size_t *turn = fm_alloc_array(count + 1, sizeof *turn);
	int rc = turn == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; i < count; i++)
		if (cells[i]->processes > rounds)
			rounds = cells[i]->processes;
	fm_order_seed(&order, strtoull(c->order_seed, NULL, 16));
	for (unsigned round = 1; rc == FM_OK && round <= rounds; round++) {
		fm_order_permute(&order, turn, count);
		for (size_t i = 0; rc == FM_OK && i < count; i++)
			rc = slot(j, c, cells[turn[i]], round);
		if (rc == FM_OK)
			rc = fm_spool_sync(j, c, true);
	}
	free(turn);
	return rc;
}

/* guide: cheapest cell first, its processes in a row. */
static int in_a_row(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t count)
{
	int rc = FM_OK;

	qsort(cells, count, sizeof *cells, by_cost);
	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		for (unsigned round = 1; rc == FM_OK && round <= cells[i]->processes; round++)
			rc = slot(j, c, cells[i], round);
		if (rc == FM_OK)
			rc = finish_cell(j, c, cells[i]);
	}
	return rc;
}

int fm_job_measure(struct fm_job *j, struct fm_candidate_work *c)
{
	struct fm_cell_work **cells = fm_alloc_array(c->cell_count + 1, sizeof *cells);
	uint64_t processes = 0, cost;
	size_t count = 0;
	char text[120];
	int rc = cells == NULL ? FM_ERR_MEMORY : plan(j, c, cells, &count);

	if (rc == FM_OK)
		rc = fm_spool_open(j, c);
	for (size_t i = 0; i < count; i++)
		processes += cells[i]->processes;
	cost = rc == FM_OK ? estimate(j, cells, count) : 0;
	/* Half as long again as the estimate, were every process disturbed and tried three times,
	 * and ten minutes. */
	if (rc == FM_OK && j->mandate.dispatch.deadline_s == 0)
		j->deadline_ns = fm_agent_boot_ns() + cost * 9 / 2 + 600ull * SECOND;
	snprintf(text, sizeof text, "%s: %zu cells, %llu processes, about %llu s",
	        c->plan->candidate, count, (unsigned long long)processes,
	        (unsigned long long)(cost / SECOND + 1));
	if (rc == FM_OK)
		rc = fm_job_note(j, text);
	if (rc == FM_OK)
		rc = fm_job_stage(j, "measure", c->plan->candidate, processes);
	if (rc == FM_OK)
		rc = j->smoke ? blocks(j, c, cells, count) : in_a_row(j, c, cells, count);
	for (size_t i = 0; rc == FM_OK && j->smoke && i < count; i++)
		rc = finish_cell(j, c, cells[i]);
	for (size_t i = 0; rc == FM_OK && i < c->unit_count; i++)
		for (size_t k = 0; rc == FM_OK && k < c->units[i].cell_count; k++)
			if (!fm_unit_gated(&c->units[i]) ||
			        c->units[i].cells[k].digest_sha256[0] == '\0')
				rc = fm_job_cell(j, c, &c->units[i].cells[k]);
	if (rc == FM_OK)
		rc = fm_spool_sync(j, c, true);
	free(cells);
	return rc;
}
