/* trial.c: runs one worker process of one cell and decides by evidence outside its counts whether
 * it stands. */
#include "agent/trial.h"

#include "agent/fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define ATTEMPTS 3

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

static enum fm_process_reason failure(const struct fm_child *child, const struct fm_run *run)
{
	static const struct {
		const char *word;
		enum fm_process_reason reason;
	} words[] = {{"gate_mismatch", FM_WHY_GATE_MISMATCH}, {"canary", FM_WHY_CANARY},
	        {"cryptofail", FM_WHY_GATE_MISMATCH}, {"signal", FM_WHY_SIGNAL},
	        {"time_limit", FM_WHY_TIME_LIMIT}, {"counter", FM_WHY_COUNTER_STOPPED},
	        {"pin", FM_WHY_CPU_CHANGED}};

	if (child->killed == FM_CHILD_TIMEOUT)
		return FM_WHY_TIME_LIMIT;
	if (WIFSIGNALED(child->status))
		return FM_WHY_SIGNAL;
	for (size_t i = 0; run->reason != NULL && i < sizeof words / sizeof words[0]; i++)
		if (strcmp(run->reason, words[i].word) == 0)
			return words[i].reason;
	return FM_WHY_NO_END;
}

/* Disturbances that the table of the guide retries, worst first; majfault once only. */
static enum fm_process_reason disturbance(const struct fm_process *p, uint64_t window_ns)
{
	const int64_t *col = p->col;

	if (col[FM_COL_nivcsw] > 0 ||
	        (col[FM_COL_run_delay_ns] > 0 &&
	                (uint64_t)col[FM_COL_run_delay_ns] > window_ns / 1000))
		return FM_WHY_PREEMPTED;
	if (col[FM_COL_nvcsw] > 0)
		return FM_WHY_BLOCKED;
	if (col[FM_COL_steal_ticks] > 0)
		return FM_WHY_STEAL;
	if (col[FM_COL_throttle_delta] > 0)
		return FM_WHY_THERMAL;
	if (col[FM_COL_majflt] > 0)
		return FM_WHY_MAJFAULT;
	return FM_WHY_NONE;
}

void fm_trial_judge(const struct fm_child *child, const struct fm_run *run, bool may_retry,
        struct fm_process *p)
{
	enum fm_process_reason why = FM_WHY_NONE;
	uint64_t sum = 0, own = (uint64_t)fm_run_int(run, "elapsed_ns", 0);
	bool bad = false;

	for (size_t i = 0; i < run->window_count; i++) {
		sum += run->windows[i].ns;
		if ((run->windows[i].events & 1u) != 0) {
			bad = true;
			why = FM_WHY_CPU_CHANGED;
		}
		if ((run->windows[i].events & 64u) != 0 ||
		        (run->windows[i].counted && run->windows[i].count == 0 &&
		                run->windows[i].ns > 0)) {
			bad = true;
			why = FM_WHY_COUNTER_STOPPED;
		}
	}
	if (!fm_run_good(child, run) || run->window_count == 0) {
		bad = true;
		why = failure(child, run);
	} else if (!bad && (sum > own || own > child->elapsed_ns)) {
		bad = true; /* the process claims more time than there was */
		why = FM_WHY_CLOCK_OFF;
	}
	if (!bad)
		why = disturbance(p, sum);
	p->col[FM_COL_state] = bad                               ? FM_INVALID
	                       : why != FM_WHY_NONE && may_retry ? FM_REPLACED
	                                                         : FM_ACCEPTED;
	p->col[FM_COL_reason] = why;
}

static void fill(const struct fm_child *child, const struct fm_run *run, struct fm_process *p)
{
	for (int i = FM_COL_first_call_ns; i < FM_COLUMN_COUNT; i++)
		p->col[i] = fm_run_int(run, fm_column_names[i], -1);
	p->col[FM_COL_replaced_by] = -1;
	p->col[FM_COL_cpu] = fm_run_int(run, "cpu", -1);
	p->col[FM_COL_wall_ns] = (int64_t)child->elapsed_ns;
	p->col[FM_COL_windows] = (int64_t)run->window_count;
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
        unsigned round, unsigned number, bool may_retry)
{
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
		fm_trial_judge(&child, &run, may_retry, &p);
		if (round == 0 && p.col[FM_COL_state] != FM_INVALID)
			p.col[FM_COL_state] = FM_PLANNING;
		p.windows = run.windows;
		p.window_count = run.window_count;
		run.windows = NULL;
		cell->used_ns += child.elapsed_ns;
		if (fm_run_fact(&run, "note") != NULL &&
		        strstr(fm_run_fact(&run, "note"), "unsettled") != NULL)
			cell->unsettled = true;
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
	int rc = planned(cell) != NULL ? FM_OK : attempt(j, c, cell, 0, 1, false);

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

int fm_trial_slot(
        struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell, unsigned round)
{
	/* Under an emulator every process is disturbed and a retry shows nothing new. */
	unsigned most = j->emulated ? 1 : ATTEMPTS;

	for (;;) {
		const struct fm_process *last;
		unsigned n = attempts(cell, round, &last);
		int rc;

		if (last != NULL && last->col[FM_COL_state] == FM_ACCEPTED)
			return FM_OK;
		if (invalid_in_a_row(cell) >= 3) {
			char text[80];

			snprintf(text, sizeof text, "three invalid processes in a row: %s",
			        fm_reason_names[last == NULL ? FM_WHY_NO_END
			                                     : last->col[FM_COL_reason]]);
			fm_cell_close(cell, "failed", "measure", "failed", text);
			return FM_OK;
		}
		rc = attempt(j, c, cell, round, n + 1, n + 1 < most);
		if (rc != FM_OK)
			return rc;
	}
}
