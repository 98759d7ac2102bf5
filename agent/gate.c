/* gate.c: the gate: known answers of every built unit, in parallel and before anything is timed;
 * PASS and NOKAT go on. */
#include "agent/gate_judge.h"
#include "agent/gate_order.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define HASH_FILES     4 /* files the official generator makes */
#define PROPERTIES_MAX 24
#define LONG_KIB       (4 << 20) /* memory of the host for each KAT_2_33 at a time */

struct stage {
	struct fm_job *job;
	struct fm_gate_task *tasks;
	size_t count;
};

static int begin(void *arg, size_t index, size_t slot, struct fm_child *child)
{
	struct stage *s = arg;
	struct fm_buf order = FM_BUF_INIT(FM_TEXT_MAX);
	uint64_t limit_ms = 0;
	int rc = fm_gate_order(s->job, &s->tasks[index], fm_work_cpu(slot), &order, &limit_ms);

	if (rc == FM_OK)
		rc = s->tasks[index].kind == FM_GATE_MEMORY
		             ? fm_run_weigh(s->job->agent, &order, limit_ms, child)
		             : fm_run_start(s->job->agent, &order, limit_ms, child);
	fm_buf_free(&order);
	return rc;
}

/* kat/<stem>.log in the published form: what the worker said, then the RESULT line. */
static int write_log(const struct fm_gate_task *t, const struct fm_run *run)
{
	struct fm_buf log = FM_BUF_INIT(4u << 20);
	const struct fm_unit *u = t->unit;
	char path[200];
	int rc = fm_buf_printf(&log,
	        "candidate = %s\ninstance = %s\nversion = %s\nbuild flags = %s\nlibrary = %s\n"
	        "limit = %u s\n",
	        t->candidate->plan->candidate, u->instance->instance, u->version->version, u->flags,
	        u->library_sha256, u->kat_limit_s);

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

/* What the task sound said, the first PROPERTIES_MAX. */
static int properties(struct fm_unit *u, const struct fm_child *child, const struct fm_run *run)
{
	char text[FM_HOST_TEXT];

	u->sound = fm_run_good(child, run);
	for (size_t i = 0; i < run->fact_count && u->property_count < PROPERTIES_MAX; i++) {
		char **p;

		if (strcmp(run->facts[i].key, "property") != 0)
			continue;
		fm_agent_clean(run->facts[i].value, strlen(run->facts[i].value), text);
		p = fm_grow(&u->properties, &u->property_count, sizeof *p);
		if (p == NULL || (*p = fm_strdup(text)) == NULL)
			return FM_ERR_MEMORY;
	}
	return FM_OK;
}

/* Everything is told as soon as it is known: what a process said before it died stands. */
static void weighed(struct fm_weight *w, const struct fm_child *child, const struct fm_run *run)
{
	const char *words = fm_run_fact(run, "reason");
	char how[FM_HOST_TEXT], text[3 * FM_HOST_TEXT];

	w->rss_baseline_kib = fm_run_int(run, "rss_baseline_process_kib", -1);
	w->rss_peak_kib = fm_run_int(run, "rss_peak_process_kib", -1);
	w->io_buffers = fm_run_int(run, "io_buffers_bytes", -1);
	w->stack = fm_run_int(run, "stack_touched_bytes", -1);
	w->heap_requested = fm_run_int(run, "heap_peak_requested_bytes", -1);
	w->heap_usable = fm_run_int(run, "heap_peak_usable_bytes", -1);
	w->allocs = fm_run_int(run, "allocs_per_call", -1);
	w->leak = fm_run_int(run, "leak_bytes_per_call", -1);
	w->unaccounted = fm_run_int(run, "unaccounted_mapping_bytes", -1);
	if (fm_run_good(child, run))
		return;
	(void)fm_child_good(child, how, sizeof how);
	snprintf(text, sizeof text, "%s%s%s",
	        run->reason != NULL && run->reason[0] != '\0' ? run->reason : how,
	        words == NULL ? "" : ": ", words == NULL ? "" : words);
	fm_agent_clean(text, strlen(text), w->why);
}

static int end(void *arg, size_t index, struct fm_child *child)
{
	struct stage *s = arg;
	const struct fm_gate_task *t = &s->tasks[index];
	struct fm_unit *u = t->unit;
	struct fm_run run;
	int rc = fm_run_read(child, &run);

	if (rc != FM_OK)
		return rc;
	switch (t->kind) {
	case FM_GATE_PACE:
		u->pace_one_ns = fm_run_int(&run, "t1_ns_1", -1);
		u->pace_long_ns = fm_run_int(&run, "t1_ns_4096", -1);
		break;
	case FM_GATE_KAT:
		fm_gate_judge(u, child, &run);
		isolation(t->candidate, &run);
		u->kat_ns = child->elapsed_ns;
		u->kat_passed = (int)fm_run_int(&run, "kat_files", 0);
		u->kat_vectors = (int)fm_run_int(&run, "kat_vectors", 0);
		if (u->kat_passed < 0 || u->kat_passed > HASH_FILES)
			u->kat_passed = 0;
		rc = write_log(t, &run);
		break;
	case FM_GATE_SOUND:
		rc = properties(u, child, &run);
		break;
	case FM_GATE_MEMORY:
		weighed(&t->cell->weight, child, &run);
		break;
	}
	fm_run_free(&run);
	return rc != FM_OK ? rc : fm_job_step(s->job);
}

static int add(struct stage *s, enum fm_gate_kind kind, struct fm_candidate_work *c,
        struct fm_unit *u, struct fm_cell_work *cell)
{
	struct fm_gate_task *t = fm_grow(&s->tasks, &s->count, sizeof *t);

	if (t == NULL)
		return FM_ERR_MEMORY;
	*t = (struct fm_gate_task){kind, c, u, cell};
	return FM_OK;
}

/* One unit alone, on a quiet host: after a TIMEOUT under load, and for the fallback flags. */
static int alone(struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u)
{
	struct fm_gate_task task = {FM_GATE_KAT, c, u, NULL};
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
		fm_unit_close(u, "missing", "host-state",
		        u->kat_word != NULL ? u->kat_word : "missing", u->kat_reason);
	else {
		snprintf(status, sizeof status, "%s", u->kat_status);
		fm_unit_close(u, "failed", "kat", "failed",
		        u->kat_reason[0] != '\0' ? u->kat_reason : status);
	}
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

/* A unit that cannot be checked as planned: its cells will be missing. */
static bool no_message(const struct fm_job *j, struct fm_unit *u)
{
	if (j->no_message[0] == '\0' || !fm_gate_long(j, u))
		return false;
	u->kat_missing = true;
	u->kat_word = "memory";
	snprintf(u->kat_status, sizeof u->kat_status, "LOADFAIL");
	snprintf(u->kat_reason, sizeof u->kat_reason, "%s", j->no_message);
	return true;
}

static int add_unit(
        struct stage *s, enum fm_gate_kind kind, struct fm_candidate_work *c, struct fm_unit *u)
{
	struct fm_run nothing;
	int rc = FM_OK;

	if (!fm_streq(u->build_status, "ok"))
		return FM_OK;
	if (kind == FM_GATE_KAT && no_message(s->job, u)) {
		const struct fm_gate_task t = {kind, c, u, NULL};

		memset(&nothing, 0, sizeof nothing);
		return write_log(&t, &nothing);
	}
	if (kind == FM_GATE_PACE || kind == FM_GATE_KAT)
		return add(s, kind, c, u, NULL);
	if (!fm_unit_gated(u))
		return FM_OK;
	if (kind == FM_GATE_SOUND)
		return add(s, kind, c, u, NULL);
	for (size_t m = 0; rc == FM_OK && m < u->cell_count; m++)
		rc = add(s, kind, c, u, &u->cells[m]);
	return rc;
}

/* How many at once: one per core, and for KAT_2_33 what the memory holds. */
static size_t width(const struct fm_job *j, const struct stage *s, enum fm_gate_kind kind)
{
	size_t cores = (size_t)fm_facts_cpus(), fit;

	for (size_t i = 0; i < s->count; i++)
		if (kind == FM_GATE_KAT && fm_gate_long(j, s->tasks[i].unit)) {
			fit = j->facts.memory_kib > 0 ? (size_t)j->facts.memory_kib / LONG_KIB : 1;
			return fit < 1 ? 1 : fit < cores ? fit : cores;
		}
	return cores;
}

static int run_stage(struct fm_job *j, enum fm_gate_kind kind)
{
	struct stage s = {j, NULL, 0};
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++)
		for (size_t k = 0;
		        rc == FM_OK && !j->candidates[i].done && k < j->candidates[i].unit_count;
		        k++)
			rc = add_unit(&s, kind, &j->candidates[i], &j->candidates[i].units[k]);
	if (rc == FM_OK)
		rc = fm_job_stage(j, "kat", "", s.count);
	if (rc == FM_OK)
		rc = fm_children_run(s.count, width(j, &s, kind), begin, end, &s);
	free(s.tasks);
	return rc;
}

int fm_job_gate(struct fm_job *j)
{
	int rc = fm_gate_prepare(j);

	if (rc == FM_OK && (rc = run_stage(j, FM_GATE_PACE)) == FM_OK)
		rc = run_stage(j, FM_GATE_KAT);
	if (rc == FM_OK)
		rc = for_units(j, second_tries);
	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++)
		for (size_t k = 0; !j->candidates[i].done && k < j->candidates[i].unit_count; k++)
			close_unit(&j->candidates[i].units[k]);
	/* fifteen processes an instance: an emulated host spends more on starting them than smoke
	 * spends on everything else, so there the pages say "not checked" */
	if (rc == FM_OK && !(j->smoke && j->emulated))
		rc = run_stage(j, FM_GATE_SOUND);
	return rc != FM_OK ? rc : run_stage(j, FM_GATE_MEMORY);
}
