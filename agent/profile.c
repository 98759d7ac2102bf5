/* profile.c: what a profile asks of one cell: processes, calls, windows, and the time that takes.
 */
#include "agent/profile.h"


#define SECOND       1000000000ull
#define SMOKE_BUDGET (5 * SECOND)
#define START_NS     60000000u  /* start, checks and warm-up of a process nobody has seen yet */
#define START_SLOW   300000000u /* the same under an emulator */
#define PART_NS      5000000u /* of a process of profile rigorous: at least this long in windows */
#define PART_CALLS   8u
#define PART_WINDOWS 20u /* of 250 us each */
#define SIX          6u  /* no interval of the median below */

static uint64_t t1_of(const struct fm_cell_work *cell)
{
	return cell->t1_ns > 0 ? (uint64_t)cell->t1_ns : 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void fixed(struct fm_cell_work *cell, unsigned processes)
{
	cell->processes = cell->most = processes;
}

void fm_profile_planning(struct fm_cell_work *cell)
{
	cell->warm = true;
	cell->windows = PART_WINDOWS;
	cell->calls = PART_CALLS;
	cell->min_ns = PART_NS;
}

/* Five processes of about a second, as the published pages had them; slow cells less. */
static void plan_guide(struct fm_cell_work *cell, uint64_t t1)
{
	fixed(cell, 5);
	cell->windows = 200;
	cell->min_ns = 0;
	cell->calls = (SECOND + t1 - 1) / t1;
	if (cell->calls < 20)
		cell->calls = 20;
	if (cell->calls > 20000)
		cell->calls = 20000;
	if (5 * cell->calls * t1 > FM_PROFILE_BUDGET_NS)
		cell->calls = larger(FM_PROFILE_BUDGET_NS / (5 * t1), 1);
	if (5 * t1 > FM_PROFILE_BUDGET_NS)
		fixed(cell, t1 > FM_PROFILE_BUDGET_NS ? 1 : (unsigned)(FM_PROFILE_BUDGET_NS / t1));
	cell->few_calls = cell->calls * cell->processes < 100;
}

/* Many short processes; how many decides what they show. */
static void plan_rigorous(struct fm_cell_work *cell, uint64_t t1)
{
	uint64_t cost = cell->process_ns, n;

	fm_profile_planning(cell);
	if (FM_PROFILE_MOST * cost <= FM_PROFILE_BUDGET_NS) {
		cell->processes = FM_PROFILE_LOOKS;
		cell->most = FM_PROFILE_MOST;
	} else if (SIX * cost <= FM_PROFILE_BUDGET_NS) {
		n = FM_PROFILE_BUDGET_NS / cost;
		fixed(cell, n > FM_PROFILE_MOST ? FM_PROFILE_MOST : (unsigned)n);
	} else { /* no warm-up but the first call, two windows of one call */
		cell->warm = false;
		cell->windows = 2;
		cell->calls = 2;
		cell->min_ns = 0;
		cell->process_ns = cost = 3 * t1 + START_NS;
		n = FM_PROFILE_BUDGET_NS / cost;
		fixed(cell, n > SIX ? SIX : n < 1 ? 1 : (unsigned)n);
	}
}

static void plan_smoke(struct fm_cell_work *cell, uint64_t t1)
{
	fixed(cell, 4 * t1 > SMOKE_BUDGET ? 1 : 2);
	cell->windows = 2;
	cell->calls = 1;
	cell->min_ns = 1000000;
}

void fm_profile_plan(const struct fm_job *j, struct fm_cell_work *cell)
{
	const uint64_t t1 = t1_of(cell), start = j->emulated ? START_SLOW : START_NS;
	/* beyond its windows a process starts, checks and warms up: what the planning process took
	 */
	const uint64_t part = larger(PART_NS, PART_CALLS * t1);
	uint64_t beside = cell->process_ns > part ? cell->process_ns - part : start + 3 * t1;

	cell->warm = true;
	if (cell->process_ns == 0)
		cell->process_ns = part + beside;
	if (j->rigorous) {
		plan_rigorous(cell, t1);
		return;
	}
	if (j->smoke)
		plan_smoke(cell, t1);
	else
		plan_guide(cell, t1);
	cell->process_ns = beside + larger(cell->calls * t1, cell->min_ns);
}

uint64_t fm_profile_cost_ns(const struct fm_cell_work *cell)
{
	return cell->processes * cell->process_ns;
}

uint64_t fm_profile_budget_ns(const struct fm_job *j)
{
	return j->smoke ? SMOKE_BUDGET : 2 * FM_PROFILE_BUDGET_NS;
}
