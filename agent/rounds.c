/* rounds.c: the order in which the processes of a candidate run. */
#include "agent/rounds.h"

#include "agent/clockcheck.h"
#include "agent/looks.h"
#include "agent/order.h"
#include "agent/profile.h"
#include "agent/trial.h"

#include <stdlib.h>
#include <string.h>

bool fm_rounds_joins(unsigned n, unsigned round)
{
	if (round == 0 || round > FM_PROFILE_LOOKS)
		return round != 0 && round <= n;
	return n >= FM_PROFILE_LOOKS ||
	       round * n / FM_PROFILE_LOOKS > (round - 1) * n / FM_PROFILE_LOOKS;
}

static void finish(struct fm_cell_work *cell)
{
	if (cell->status == NULL && fm_trial_any(cell))
		cell->status = "measured";
	else if (cell->status == NULL)
		fm_cell_close(cell, "failed", "measure", "failed", "no valid process");
	if (cell->stop == NULL)
		cell->stop = "fixed";
}

static int tell(struct fm_job *j, const struct fm_candidate_work *c, struct fm_cell_work *cell)
{
	finish(cell);
	return fm_job_cell(j, c, cell);
}

/* The time of the candidate is over: a cell keeps what it has. */
static void out_of_time(struct fm_cell_work *cell)
{
	cell->over = true;
	cell->stop = "budget";
	if (!fm_trial_any(cell))
		fm_cell_close(cell, "failed", "measure", "time_limit",
		        "the time for this candidate was over before a valid process of this cell");
}

/* One slot: the process of one round, with its retries. */
static int slot(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell, unsigned round)
{
	int rc;

	if (cell->status != NULL || cell->over)
		return FM_OK;
	if (round > 1 && cell->used_ns > fm_profile_budget_ns(j)) {
		cell->over = true;
		cell->stop = "budget";
		return FM_OK;
	}
	if (fm_job_late(j)) {
		out_of_time(cell);
		return fm_job_step(j);
	}
	rc = fm_trial_slot(j, c, cell, round);
	return rc == FM_OK ? fm_job_step(j) : rc;
}

/* smoke has its processes in the first rounds; rigorous spreads those of slow cells. */
static bool joins(const struct fm_job *j, const struct fm_cell_work *cell, unsigned round)
{
	if (cell->status != NULL || cell->over || round > FM_PROFILE_MOST)
		return false;
	if (!j->rigorous || cell->most > cell->processes)
		return round <= cell->most;
	return fm_rounds_joins(cell->processes, round);
}

static int one_round(struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells,
        size_t count, struct fm_order *order, unsigned round, size_t *turn)
{
	struct fm_cell_work **open = fm_alloc_array(count + 1, sizeof *open);
	size_t n = 0;
	int rc = open == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; rc == FM_OK && i < count; i++)
		if (joins(j, cells[i], round))
			open[n++] = cells[i];
	if (rc == FM_OK && n > 0)
		fm_order_permute(order, turn, n);
	for (size_t i = 0; rc == FM_OK && i < n; i++)
		rc = slot(j, c, open[turn[i]], round);
	free(open);
	return rc;
}

/* Cells that have enough leave; the others have ten more processes before them. */
static int look(struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells,
        size_t count, unsigned round)
{
	uint64_t more = 0, needed = 0;
	unsigned left = 0;
	char text[200];
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		struct fm_cell_work *cell = cells[i];
		struct fm_look seen;

		if (cell->status != NULL || cell->over || cell->most <= cell->processes)
			continue;
		if ((rc = fm_look_take(cell, &seen)) != FM_OK)
			break;
		if ((cell->stop = fm_look_stop(&seen, round)) != NULL) {
			cell->over = true;
			rc = tell(j, c, cell);
			continue;
		}
		left++;
		more += 10 * cell->process_ns;
		needed += (seen.needed > round + 10 && seen.needed < FM_PROFILE_MOST
		                          ? seen.needed - round
		                  : seen.needed <= round + 10 ? 10
		                                              : FM_PROFILE_MOST - round) *
		          cell->process_ns;
		j->stage_total += 10;
	}
	if (rc != FM_OK || left == 0)
		return rc;
	snprintf(text, sizeof text,
	        "look at %u processes: %u cells go on to %u, about %llu s; by the spread seen "
	        "about "
	        "%llu s to the end",
	        round, left, round + 10, (unsigned long long)(more / 1000000000u + 1),
	        (unsigned long long)(needed / 1000000000u + 1));
	return fm_job_note(j, text);
}

int fm_rounds_blocks(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t count)
{
	struct fm_order order;
	unsigned rounds = 0;
	size_t *turn = fm_alloc_array(count + 1, sizeof *turn);
	int rc = turn == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; i < count; i++) {
		unsigned last = cells[i]->most;

		if (j->rigorous && last < FM_PROFILE_LOOKS)
			last = FM_PROFILE_LOOKS;
		rounds = last > rounds ? last : rounds;
	}
	fm_order_seed(&order, strtoull(c->order_seed, NULL, 16));
	for (unsigned round = 1; rc == FM_OK && round <= rounds; round++) {
		rc = one_round(j, c, cells, count, &order, round, turn);
		if (rc == FM_OK && j->rigorous && fm_look_due(round))
			rc = look(j, c, cells, count, round);
		if (rc == FM_OK)
			rc = fm_clockcheck_due(j);
		if (rc == FM_OK)
			rc = fm_spool_sync(j, c, true);
	}
	for (size_t i = 0; rc == FM_OK && i < count; i++)
		if (cells[i]->status == NULL || strcmp(cells[i]->status, "measured") != 0)
			rc = tell(j, c, cells[i]);
	free(turn);
	return rc;
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

int fm_rounds_in_a_row(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t count)
{
	int rc = FM_OK;

	qsort(cells, count, sizeof *cells, by_cost);
	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		for (unsigned round = 1; rc == FM_OK && round <= cells[i]->processes; round++)
			rc = slot(j, c, cells[i], round);
		if (rc == FM_OK)
			rc = fm_clockcheck_due(j);
		if (rc == FM_OK)
			rc = tell(j, c, cells[i]);
	}
	return rc;
}
