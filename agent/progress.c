/* progress.c: what a job tells while it runs, at least every 30 s, and the questions it answers
 * meanwhile. */
#include "agent/work.h"

#include <string.h>

#define HEARTBEAT_NS 20000000000u

static int say_stage(struct fm_job *j)
{
	uint64_t now = fm_agent_now_ns(), spent = now - j->stage_started_ns, left = 0;
	char done[24], total[24], eta[24];

	if (j->stage_done > 0 && j->stage_total > j->stage_done)
		left = (uint64_t)((double)spent / (double)j->stage_done *
		                  (double)(j->stage_total - j->stage_done) / 1e9);
	snprintf(done, sizeof done, "%llu", (unsigned long long)j->stage_done);
	snprintf(total, sizeof total, "%llu", (unsigned long long)j->stage_total);
	snprintf(eta, sizeof eta, "%llu", (unsigned long long)left);
	j->said_ns = now;
	return fm_lines_put(j->progress, "stage", "stage", j->stage, "candidate",
	        j->stage_candidate, "done", done, "total", total, "eta_s", eta, NULL);
}

int fm_job_stage(struct fm_job *j, const char *stage, const char *candidate, uint64_t total)
{
	snprintf(j->stage, sizeof j->stage, "%s", stage);
	snprintf(j->stage_candidate, sizeof j->stage_candidate, "%s", candidate);
	j->stage_done = 0;
	j->stage_total = total;
	j->stage_started_ns = fm_agent_now_ns();
	return say_stage(j);
}

/* One more of the stage is done; told about once a second, and the end always. */
int fm_job_step(struct fm_job *j)
{
	if (j->stage_done < j->stage_total)
		j->stage_done++;
	if (j->over[0] != '\0')
		return fm_fail(FM_ERR_CANCELLED, "%s", j->over);
	if (j->stage_done < j->stage_total && fm_agent_now_ns() - j->said_ns < 1000000000u)
		return FM_OK;
	return say_stage(j);
}

int fm_job_note(struct fm_job *j, const char *text)
{
	j->said_ns = fm_agent_now_ns();
	return fm_lines_put(j->progress, "note", "text", text, NULL);
}

int fm_job_cell(
        struct fm_job *j, const struct fm_candidate_work *c, const struct fm_cell_work *cell)
{
	bool measured = strcmp(cell->status, "measured") == 0;

	j->said_ns = fm_agent_now_ns();
	return fm_lines_put(j->progress, "cell", "candidate", c->plan->candidate, "instance",
	        cell->unit->instance->instance, "version", cell->unit->version->version,
	        "operation", cell->operation, "state", cell->status, "class",
	        measured ? "" : cell->klass, "reason", measured ? "" : cell->reason, NULL);
}

bool fm_job_late(const struct fm_job *j)
{
	return j->candidate_end_ns != 0 && fm_agent_boot_ns() > j->candidate_end_ns;
}

int fm_job_serve(void *arg)
{
	struct fm_job *j = arg;
	uint64_t lease = j->mandate.dispatch.lease_s * 1000000000u, now;
	int rc = fm_door_serve(&j->door);

	if (rc != FM_OK)
		return rc;
	/* The running process is finished; the next step sees this. */
	now = fm_agent_boot_ns();
	if (lease != 0 && now > j->door.renewed_ns && now - j->door.renewed_ns > lease)
		snprintf(j->over, sizeof j->over,
		        "the lease of %llu s is over: no controller came back",
		        (unsigned long long)j->mandate.dispatch.lease_s);
	if (j->deadline_ns != 0 && now > j->deadline_ns)
		snprintf(j->over, sizeof j->over, "the deadline of the job is over");
	if (j->progress != NULL && j->stage[0] != '\0' &&
	        fm_agent_now_ns() - j->said_ns > HEARTBEAT_NS)
		rc = say_stage(j);
	return rc;
}
