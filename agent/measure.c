/* measure.c: measures one candidate: finds out what its cells need, tells it, and has them timed.
 */
#include "agent/gate_order.h"
#include "agent/profile.h"
#include "agent/rounds.h"
#include "agent/trial.h"
#include "agent/work.h"

#include <stdlib.h>
#include <string.h>

#define SECOND     1000000000ull
#define PLAN_CALLS 16u /* of each size, about: the first, a warm-up, three batches */
#define PLAN_MOST_NS                                                                \
	(SECOND / 5) /* a longer call needs no process to tell what a process takes \
	              */

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
		if (cell->t1_ns > 0 && (uint64_t)cell->t1_ns > child.elapsed_ns &&
		        j->agent->world == NULL) { /* a made-up clock is not ours */
			fm_cell_close(cell, "failed", "measure", "failed",
			        "claims that one call took longer than its whole process");
			continue;
		}
		if (digest != NULL && message != NULL && fm_hex64_ok(digest) &&
		        fm_hex64_ok(message)) {
			memcpy(cell->digest_sha256, digest, 65);
			memcpy(cell->message_sha256, message, 65);
		}
	}
	reason = timeout != NULL ? timeout : fm_run_fact(&run, "reason");
	for (size_t i = 0; rc == FM_OK && i < u->cell_count; i++)
		if (u->cells[i].digest_sha256[0] == '\0' && u->cells[i].status == NULL)
			fm_cell_close(&u->cells[i], "failed", "measure", "failed",
			        reason != NULL ? reason : "the planning process gave no digest");
	fm_run_free(&run);
	fm_child_free(&child);
	fm_buf_free(&order);
	return rc;
}

/* Cells that can be timed: their digests are known. */
static int plan_units(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t *count)
{
	int rc = fm_job_stage(j, "plan", c->plan->candidate, c->unit_count + c->cell_count);

	*count = 0;
	for (size_t i = 0; rc == FM_OK && i < c->unit_count; i++) {
		struct fm_unit *u = &c->units[i];

		if (fm_unit_gated(u))
			rc = plan_unit(j, c, u);
		for (size_t k = 0; rc == FM_OK && k < u->cell_count; k++)
			if (u->cells[k].status == NULL)
				cells[(*count)++] = &u->cells[k];
		if (rc == FM_OK)
			rc = fm_job_step(j);
	}
	return rc;
}

/* What one process of each cell takes, from one of it where that is cheap beside what is to come.
 */
static int plan_cells(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work **cells, size_t count)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		struct fm_cell_work *cell = cells[i];

		if (!j->smoke && !j->emulated && cell->t1_ns <= (int64_t)PLAN_MOST_NS) {
			fm_profile_planning(cell);
			rc = fm_trial_planning(j, c, cell);
		}
		fm_profile_plan(j, cell);
		if (rc == FM_OK)
			rc = fm_job_step(j);
	}
	return rc;
}

/* One line per unit: calls, processes and time of each cell. */
static int tell_plan(struct fm_job *j, const struct fm_unit *u)
{
	struct fm_buf text = FM_BUF_INIT(2000);
	int rc = fm_buf_printf(&text, "plan %s:", u->stem);

	for (size_t i = 0; rc == FM_OK && i < u->cell_count; i++) {
		const struct fm_cell_work *cell = &u->cells[i];
		char many[32] = "", part[40];

		if (cell->processes == 0)
			continue;
		if (cell->most > cell->processes)
			snprintf(many, sizeof many, " to %u", cell->most);
		if (cell->min_ns > 0 && (uint64_t)cell->t1_ns * cell->calls < cell->min_ns)
			snprintf(part, sizeof part, "%.0f ms", (double)cell->min_ns / 1e6);
		else
			snprintf(part, sizeof part, "%llu calls", (unsigned long long)cell->calls);
		rc = fm_buf_printf(&text, " %s %u%s x %s, %.1f s;", cell->operation,
		        cell->processes, many, part, (double)fm_profile_cost_ns(cell) / 1e9);
	}
	if (rc == FM_OK && text.len > 0 && text.data[text.len - 1] == ';')
		rc = fm_job_note(j, text.data);
	fm_buf_free(&text);
	return rc;
}

static int tell_estimate(struct fm_job *j, const struct fm_candidate_work *c,
        struct fm_cell_work *const *cells, size_t count, uint64_t *processes)
{
	uint64_t cost = 0, most = 0;
	char text[200], more[60] = "";
	int rc = FM_OK;

	*processes = 0;
	for (size_t i = 0; i < count; i++) {
		*processes += cells[i]->processes;
		cost += fm_profile_cost_ns(cells[i]);
		most += cells[i]->most * cells[i]->process_ns;
	}
	/* Half as long again as the longest it may take, were every process disturbed and tried
	 * three times, and ten minutes. */
	j->candidate_end_ns = fm_agent_boot_ns() + most * 9 / 2 + 600ull * SECOND;
	if (most > cost)
		snprintf(more, sizeof more, " (if spread asks for it up to %llu s)",
		        (unsigned long long)(most / SECOND + 1));
	snprintf(text, sizeof text, "%s: %zu cells, %llu processes, about %llu s%s",
	        c->plan->candidate, count, (unsigned long long)*processes,
	        (unsigned long long)(cost / SECOND + 1), more);
	for (size_t i = 0; rc == FM_OK && i < c->unit_count; i++)
		rc = tell_plan(j, &c->units[i]);
	return rc == FM_OK ? fm_job_note(j, text) : rc;
}

int fm_job_measure(struct fm_job *j, struct fm_candidate_work *c)
{
	struct fm_cell_work **cells = fm_alloc_array(c->cell_count + 1, sizeof *cells);
	uint64_t processes = 0;
	size_t count = 0;
	int rc = cells == NULL ? FM_ERR_MEMORY : plan_units(j, c, cells, &count);

	if (rc == FM_OK && (rc = fm_spool_open(j, c)) == FM_OK &&
	        (rc = plan_cells(j, c, cells, count)) == FM_OK &&
	        (rc = tell_estimate(j, c, cells, count, &processes)) == FM_OK &&
	        (rc = fm_job_stage(j, "measure", c->plan->candidate, processes)) == FM_OK)
		rc = j->smoke || j->rigorous ? fm_rounds_blocks(j, c, cells, count)
		                             : fm_rounds_in_a_row(j, c, cells, count);
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
