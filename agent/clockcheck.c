/* clockcheck.c: the checks of the core clock of one candidate, each by a worker of its own. */
#include "agent/clockcheck.h"

#include "agent/fake.h"
#include "agent/runner.h"

#include <string.h>

#define MINUTE 60000000000u
#define TENTH  10

static uint64_t now_ns(void)
{
#ifdef FLEETMARK_TESTING
	uint64_t ns;

	if (fm_fake_clock(&ns))
		return ns;
#endif
	return fm_agent_boot_ns();
}

void fm_clockcheck_begin(struct fm_job *j)
{
	j->clocks[0] = (struct fm_clock_check){
	        j->counter.measured_hz, j->counter.iqr_ppm, j->counter.tick_hz};
	j->clock_count = 1;
	j->clock_began_ns = j->clock_last_ns = now_ns();
}

int fm_clockcheck_take(struct fm_job *j)
{
	struct fm_buf order = FM_BUF_INIT(1000);
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	struct fm_run run;
	int64_t width;
	int rc;

	memset(&run, 0, sizeof run);
	if ((rc = fm_order_begin(&order, "clock")) == FM_OK &&
	        (rc = fm_text_put(&order, "cpu", "%d", j->cpu)) == FM_OK &&
	        (rc = fm_text_end(&order)) == FM_OK)
		rc = fm_run_once(j->agent, &order, 60000, &child, &run);
	if (rc == FM_OK && fm_run_good(&child, &run) && fm_run_int(&run, "measured_hz", -1) > 0) {
		/* the last place is that of the end */
		struct fm_clock_check *c =
		        &j->clocks[j->clock_count < FM_CLOCK_CHECKS ? j->clock_count++
		                                                    : FM_CLOCK_CHECKS - 1];

		c->hz = fm_run_int(&run, "measured_hz", -1);
		c->iqr_ppm = fm_run_int(&run, "iqr_ppm", -1);
		c->tick_hz = fm_run_int(&run, "tick_hz", -1);
		width = fm_run_int(&run, "width_high_milli", -1);
		if (width > j->counter.width_milli)
			j->counter.width_milli = width;
	}
	j->clock_last_ns = now_ns();
	fm_run_free(&run);
	fm_child_free(&child);
	fm_buf_free(&order);
	return rc;
}

int fm_clockcheck_due(struct fm_job *j)
{
	const uint64_t now = now_ns();

	if (fm_job_late(j) || now - j->clock_last_ns < MINUTE + (now - j->clock_began_ns) / TENTH ||
	        j->clock_count + 1 >= FM_CLOCK_CHECKS)
		return FM_OK;
	return fm_clockcheck_take(j);
}
