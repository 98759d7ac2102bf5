/* gate.c: the gate: known answers of every built unit, in parallel and before anything is timed;
 * PASS and NOKAT go on. */
#include "agent/gate_judge.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define HASH_FILES 4 /* files the official generator makes */

struct gate_task {
	struct fm_candidate_work *candidate;
	struct fm_unit *unit;
	struct fm_cell_work *cell; /* NULL: the gate; else one memory call */
};
struct stage {
	struct fm_job *job;
	struct gate_task *tasks;
	size_t count;
};

/* Seconds for one KAT file. */
static unsigned file_seconds(const struct fm_job *j)
{
	unsigned seconds = strcmp(j->mandate.plan.kat, "full") == 0 ? 14400 : 900;

	return j->emulated ? seconds * 10 : seconds;
}

static int kat_order(
        const struct fm_job *j, const struct gate_task *t, int cpu, struct fm_buf *order)
{
	const struct fm_jp_instance *in = t->unit->instance;
	int rc = fm_order_library(order, "kat", t->candidate, t->unit, cpu);

	if (rc == FM_OK)
		rc = fm_text_put(order, "kat_name", "%s", in->kat_name);
	for (size_t i = 0; rc == FM_OK && i < in->kat_lines.count; i++)
		rc = fm_text_put(order, "kat_line", "%s", in->kat_lines.at[i]);
	if (rc == FM_OK && t->candidate->plan->vectors_file != NULL)
		rc = fm_text_put(order, "vectors_file", "%s/jobs/%s/plan/%s", j->agent->path,
		        j->mandate.plan.campaign, t->candidate->plan->vectors_file);
	if (rc == FM_OK && strcmp(j->mandate.plan.kat, "full") == 0)
		rc = fm_text_put(order, "message_file", "%s/message_2_33", j->agent->path);
	return rc != FM_OK ? rc : fm_text_put(order, "seconds", "%u", file_seconds(j));
}

static int begin(void *arg, size_t index, size_t slot, struct fm_child *child)
{
	struct stage *s = arg;
	const struct gate_task *t = &s->tasks[index];
	struct fm_buf order = FM_BUF_INIT(FM_TEXT_MAX);
	uint64_t limit = t->cell != NULL ? 300u
	                                 : (uint64_t)file_seconds(s->job) *
	                                           (t->unit->instance->kat_lines.count + 3);
	int rc;

	if (t->cell == NULL) {
		rc = kat_order(s->job, t, fm_work_cpu(slot), &order);
	} else {
		rc = fm_order_library(&order, "memory", t->candidate, t->unit, fm_work_cpu(slot));
		if (rc == FM_OK)
			rc = fm_text_put(&order, "bytes", "%u", t->cell->bytes);
	}
	if (rc == FM_OK)
		rc = fm_text_end(&order);
	if (rc == FM_OK)
		rc = fm_run_start(s->job->agent, &order, limit * 1000u + 60000u, child);
	fm_buf_free(&order);
	return rc;
}

/* kat/<stem>.log in the published form: what the worker said, then the RESULT line. */
static int write_log(const struct gate_task *t, const struct fm_run *run)
{
	struct fm_buf log = FM_BUF_INIT(4u << 20);
	const struct fm_unit *u = t->unit;
	char path[200];
	int rc = fm_buf_printf(&log,
	        "candidate = %s\ninstance = %s\nversion = %s\nbuild flags = %s\nlibrary = %s\n",
	        t->candidate->plan->candidate, u->instance->instance, u->version->version, u->flags,
	        u->library_sha256);

	for (size_t i = 0; rc == FM_OK && i < run->log_count; i++)
		rc = fm_buf_printf(&log, "%s\n", run->logs[i]);
	if (rc == FM_OK && u->kat_reason[0] != '\0')
		rc = fm_buf_printf(&log, "reason = %s\n", u->kat_reason);
	if (rc == FM_OK)
		rc = fm_buf_printf(&log, "RESULT %s %s %s \n", t->candidate->plan->candidate,
		        u->instance->instance, u->kat_status);
	snprintf(path, sizeof path, "out/kat/%s.log", u->stem);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(t->candidate->dir, path, log.data, log.len, 0644);
	fm_buf_free(&log);
	return rc;
}

static void isolation(struct fm_candidate_work *c, const struct fm_run *run)
{
	const char *const keys[3] = {"no_new_privs", "landlock", "seccomp"};
	int *const seen[3] = {&c->no_new_privs, &c->landlock, &c->seccomp};

	/* The weakest that any worker reported is what the evidence says. */
	for (int i = 0; i < 3; i++) {
		int value = (int)fm_run_int(run, keys[i], 0);

		if (*seen[i] < 0 || value < *seen[i])
			*seen[i] = value;
	}
}

static int end(void *arg, size_t index, struct fm_child *child)
{
	struct stage *s = arg;
	const struct gate_task *t = &s->tasks[index];
	struct fm_run run;
	int rc = fm_run_read(child, &run);

	if (rc == FM_OK && t->cell != NULL) {
		t->cell->rss_baseline_kib = fm_run_int(&run, "rss_baseline_process_kib", -1);
		t->cell->rss_peak_kib = fm_run_int(&run, "rss_peak_process_kib", -1);
		t->cell->io_buffers_bytes = fm_run_int(&run, "io_buffers_bytes", -1);
	} else if (rc == FM_OK) {
		struct fm_unit *u = t->unit;

		fm_gate_judge(u, child, &run);
		isolation(t->candidate, &run);
		u->kat_ns = child->elapsed_ns;
		u->kat_passed = (int)fm_run_int(&run, "kat_files", 0);
		u->kat_vectors = (int)fm_run_int(&run, "kat_vectors", 0);
		if (u->kat_passed < 0 || u->kat_passed > HASH_FILES)
			u->kat_passed = 0;
		rc = write_log(t, &run);
	}
	fm_run_free(&run);
	return rc != FM_OK ? rc : fm_job_step(s->job);
}

static int add(
        struct stage *s, struct fm_candidate_work *c, struct fm_unit *u, struct fm_cell_work *cell)
{
	struct gate_task *t = fm_grow(&s->tasks, &s->count, sizeof *t);

	if (t == NULL)
		return FM_ERR_MEMORY;
	*t = (struct gate_task){c, u, cell};
	return FM_OK;
}

/* One unit alone, on a quiet host: after a TIMEOUT under load, and for the fallback flags. */
static int alone(struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u)
{
	struct gate_task task = {c, u, NULL};
	struct stage s = {j, &task, 1};

	u->kat_missing = false;
	u->kat_reason[0] = '\0';
	return fm_children_run(1, 1, begin, end, &s);
}

/* The fallback flags, once; what the guide's flags gave comes back if they do not pass either. */
static int fallback(struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u)
{
	struct fm_unit kept = *u;
	char path[200];
	struct fm_buf log = FM_BUF_INIT(4u << 20);
	int rc;

	snprintf(path, sizeof path, "out/kat/%s.log", u->stem);
	rc = fm_fs_read(c->dir, path, 4u << 20, &log);
	u->flags = u->library = NULL;
	if (rc == FM_OK)
		rc = fm_build_unit_again(j, u);
	if (rc == FM_OK && strcmp(u->build_status, "ok") == 0)
		rc = alone(j, c, u);
	if (rc == FM_OK && !fm_unit_gated(u)) {
		free(u->flags);
		free(u->library);
		*u = kept;
		rc = fm_fs_write_deep(c->dir, path, log.data, log.len, 0644);
	} else {
		free(kept.flags);
		free(kept.library);
	}
	fm_buf_free(&log);
	return rc;
}

static int second_tries(struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u)
{
	int rc = FM_OK;

	if (!fm_streq(u->build_status, "ok"))
		return FM_OK;
	if (strcmp(u->kat_status, "TIMEOUT") == 0)
		rc = alone(j, c, u);
	if (rc == FM_OK && !fm_unit_gated(u) && !u->kat_missing && !u->fallback)
		rc = fallback(j, c, u);
	return rc;
}

/* Cells of units that did not get through are closed with their true reason. */
static void close_unit(struct fm_unit *u)
{
	char status[20];

	if (fm_unit_gated(u))
		return;
	if (strcmp(u->build_status, "missing") == 0)
		fm_unit_close(u, "missing", "host-state", "missing", u->build_reason);
	else if (strcmp(u->build_status, "ok") != 0)
		fm_unit_close(u, "failed", "build", "failed", u->build_reason);
	else if (u->kat_missing)
		fm_unit_close(u, "missing", "host-state", "missing", u->kat_reason);
	else {
		snprintf(status, sizeof status, "%s", u->kat_status);
		fm_unit_close(u, "failed", "kat", "failed",
		        u->kat_reason[0] != '\0' ? u->kat_reason : status);
	}
}

/* The generators of the gate, once per job; with the 1 GiB message where the plan wants it. */
static int selftest(struct fm_job *j)
{
	struct fm_buf order = FM_BUF_INIT(4096);
	struct fm_child child = {.out_fd = -1, .result_fd = -1};
	struct fm_run run;
	const char *reason;
	int rc;

	memset(&run, 0, sizeof run);
	if ((rc = fm_text_begin(&order, "order")) != FM_OK ||
	        (rc = fm_text_put(&order, "task", "selftest")) != FM_OK)
		goto out;
	if (strcmp(j->mandate.plan.kat, "full") == 0)
		rc = fm_text_put(&order, "message_file", "%s/message_2_33", j->agent->path);
	if (rc != FM_OK || (rc = fm_text_end(&order)) != FM_OK ||
	        (rc = fm_run_once(j->agent, &order, 3600000u, &child, &run)) != FM_OK)
		goto out;
	reason = fm_run_fact(&run, "reason");
	if (!fm_run_good(&child, &run))
		rc = fm_fail(FM_ERR_INTERNAL,
		        "the gate's own generators failed their self-test: %s",
		        reason != NULL       ? reason
		        : run.reason != NULL ? run.reason
		                             : "no end");
out:
	fm_run_free(&run);
	fm_child_free(&child);
	fm_buf_free(&order);
	return rc;
}

/* Calls each(job, candidate, unit) for all units that are to be done. */
static int for_units(struct fm_job *j,
        int (*each)(struct fm_job *, struct fm_candidate_work *, struct fm_unit *))
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++)
		for (size_t k = 0;
		        rc == FM_OK && !j->candidates[i].done && k < j->candidates[i].unit_count;
		        k++)
			rc = each(j, &j->candidates[i], &j->candidates[i].units[k]);
	return rc;
}

static int run_stage(struct fm_job *j, bool memory)
{
	struct stage s = {j, NULL, 0};
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		for (size_t k = 0; rc == FM_OK && !c->done && k < c->unit_count; k++) {
			struct fm_unit *u = &c->units[k];

			if (!memory && strcmp(u->build_status, "ok") == 0)
				rc = add(&s, c, u, NULL);
			for (size_t m = 0;
			        rc == FM_OK && memory && fm_unit_gated(u) && m < u->cell_count; m++)
				rc = add(&s, c, u, &u->cells[m]);
		}
	}
	if (rc == FM_OK)
		rc = fm_job_stage(j, "kat", "", s.count);
	if (rc == FM_OK)
		rc = fm_children_run(s.count, (size_t)fm_facts_cpus(), begin, end, &s);
	free(s.tasks);
	return rc;
}

int fm_job_gate(struct fm_job *j)
{
	int rc = selftest(j);

	if (rc == FM_OK)
		rc = run_stage(j, false);
	if (rc == FM_OK)
		rc = for_units(j, second_tries);
	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++)
		for (size_t k = 0; !j->candidates[i].done && k < j->candidates[i].unit_count; k++)
			close_unit(&j->candidates[i].units[k]);
	return rc != FM_OK ? rc : run_stage(j, true);
}
