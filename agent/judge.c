/* judge.c: whether a measured process stands, by evidence outside its counts. */
#include "agent/judge.h"

#include <string.h>
#include <sys/wait.h>

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

/* What makes a process no measurement at all; sum gets the ns of its windows. */
static enum fm_process_reason fault(
        const struct fm_child *child, const struct fm_run *run, uint64_t *sum)
{
	uint64_t own = (uint64_t)fm_run_int(run, "elapsed_ns", 0);
	enum fm_process_reason why = FM_WHY_NONE;

	*sum = 0;
	/* no window, and not all together, can be longer than the process: no sum can overflow */
	for (size_t i = 0; i < run->window_count; i++) {
		if (run->windows[i].ns > child->elapsed_ns ||
		        (*sum += run->windows[i].ns) > child->elapsed_ns)
			return FM_WHY_IMPOSSIBLE;
		if ((run->windows[i].events & 1u) != 0)
			why = FM_WHY_CPU_CHANGED;
		if ((run->windows[i].events & 64u) != 0 ||
		        (run->windows[i].counted && run->windows[i].count == 0 &&
		                run->windows[i].ns > 0))
			why = FM_WHY_COUNTER_STOPPED;
	}
	if (!fm_run_good(child, run) || run->window_count == 0)
		return failure(child, run);
	return *sum > own || own > child->elapsed_ns ? FM_WHY_IMPOSSIBLE : why;
}

/* thousandths of `whole` that `part` is, -1 unknown */
static int64_t permille(double part, double whole)
{
	return part >= 0 && whole > 0 ? (int64_t)(1000 * part / whole) : -1;
}

/* The share of the time that was not the candidate's own work, and a clock that moved. Time spent
 * waiting for the CPU is judged by windows, see preempted(). retry: so
 * much that it is worth another try. */
static enum fm_process_reason share(const struct fm_run *run, const struct fm_judge_facts *facts,
        const struct fm_process *p, uint64_t sum, bool *retry)
{
	const int64_t span = fm_run_int(run, "span_ns", -1);
	const int64_t waited = p->col[FM_COL_run_delay_ns] > 0 ? p->col[FM_COL_run_delay_ns] : 0;
	const int64_t cpu =
	        permille((double)p->col[FM_COL_thread_cpu_ns], (double)span - (double)waited);
	double counts = 0;
	int64_t clock = -1;

	for (size_t i = 0; facts->core_cycles && i < run->window_count; i++)
		counts += (double)run->windows[i].count;
	if (facts->core_cycles && facts->clock_hz > 0)
		clock = permille(counts * 1e9 / (double)facts->clock_hz, (double)sum);
	*retry = clock >= 0 ? clock < 950 : cpu >= 0 && cpu < 950;
	if (*retry || (cpu >= 0 && cpu < 995 && (clock < 0 || clock < 995)))
		return FM_WHY_KERNEL_SHARE;
	return clock >= 0 && (clock < 995 || clock > 1005) ? FM_WHY_CLOCK_OFF : FM_WHY_NONE;
}

#define WIDTH_TELLS \
	1500 /* thousandths: a core that does little at once does not show a neighbour */

/* The core did less at once than it can, by more than a tenth, at more than a tenth of the looks:
 * somebody else ran on its other thread. */
static bool shared(const struct fm_judge_facts *facts, const struct fm_process *p)
{
	const int64_t low = p->col[FM_COL_width_low_milli];

	return low >= 0 && facts->width_milli >= WIDTH_TELLS &&
	       (double)low < 0.9 * (double)facts->width_milli;
}

/* Did a window lose the CPU, or wait for it over 0.1 % of its time? What happens between windows
 * is in no count. */
static bool preempted(const struct fm_run *run)
{
	for (size_t i = 0; i < run->window_count; i++)
		if ((run->windows[i].events & (2u | 4u)) != 0)
			return true;
	return false;
}

/* Disturbances in the order of the guide's table. retry: whether another attempt may be better. */
static enum fm_process_reason disturbance(const struct fm_run *run,
        const struct fm_judge_facts *facts, const struct fm_process *p, uint64_t sum, bool *retry)
{
	const int64_t *col = p->col;

	*retry = true;
	if (preempted(run))
		return facts->throttled > 0 ? FM_WHY_QUOTA : FM_WHY_PREEMPTED;
	if (col[FM_COL_nvcsw] > 0)
		return FM_WHY_BLOCKED;
	if (facts->throttled > 0)
		return FM_WHY_QUOTA;
	if (col[FM_COL_steal_ticks] > 0)
		return FM_WHY_STEAL;
	if (col[FM_COL_throttle_delta] > 0)
		return FM_WHY_THERMAL;
	if (col[FM_COL_majflt] > 0) {
		*retry = facts->attempt == 1;
		return FM_WHY_MAJFAULT;
	}
	if (shared(facts, p))
		return FM_WHY_SHARED_CORE;
	return share(run, facts, p, sum, retry);
}

void fm_judge(const struct fm_child *child, const struct fm_run *run,
        const struct fm_judge_facts *facts, struct fm_process *p)
{
	uint64_t sum;
	bool retry = false;
	enum fm_process_reason why = fault(child, run, &sum);

	if (why != FM_WHY_NONE) {
		p->col[FM_COL_state] = FM_INVALID;
	} else {
		why = disturbance(run, facts, p, sum, &retry);
		p->col[FM_COL_state] = why != FM_WHY_NONE && retry && facts->attempt < facts->most
		                               ? FM_REPLACED
		                               : FM_ACCEPTED;
	}
	p->col[FM_COL_reason] = why;
}

const char *fm_judge_floor(
        const struct fm_process *p, unsigned bytes, bool core_cycles, char *text, size_t size)
{
	double calls = 0, ns = 0, cycles = 0;
	const double least_ns = 0.06 * bytes > 4 ? 0.06 * bytes : 4;
	const double least_cycles = 0.3 * bytes > 20 ? 0.3 * bytes : 20;

	for (size_t i = 0; i < p->window_count; i++) {
		calls += (double)p->windows[i].calls;
		ns += (double)p->windows[i].ns;
		cycles += (double)p->windows[i].count;
	}
	if (calls <= 0)
		return NULL;
	if (core_cycles && cycles / calls < least_cycles)
		snprintf(text, size,
		        "%.1f core cycles a call of %u bytes, possible are %.1f and more",
		        cycles / calls, bytes, least_cycles);
	else if (ns / calls < least_ns)
		snprintf(text, size, "%.2f ns a call of %u bytes, possible are %.2f and more",
		        ns / calls, bytes, least_ns);
	else
		return NULL;
	return text;
}
