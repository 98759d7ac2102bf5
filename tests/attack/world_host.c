/* world_host.c: the host's part of a test campaign: a bundle made by the agent's own writers from
 * invented samples. */
#include "agent/work.h"
#include "protocol/seal.h"
#include "tests/attack/world.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what the host was told ---- */

static int take_mandate(const struct world_job *job, struct fm_mandate *m)
{
	struct fm_buf plan = FM_BUF_INIT(FM_TEXT_MAX), text = FM_BUF_INIT(FM_TEXT_MAX);
	char *path = fm_sprintf("%s/jobs/%s.txt", job->plan, job->system);
	int rc = FM_ERR_MEMORY;

	if (path == NULL || (rc = fm_fs_read(AT_FDCWD, path, FM_TEXT_MAX, &plan)) != FM_OK ||
	        (rc = fm_jobplan_parse(plan.data, plan.len, &m->plan)) != FM_OK ||
	        (rc = fm_text_begin(&text, "job")) != FM_OK ||
	        (rc = fm_text_put(&text, "campaign", "%s", job->campaign)) != FM_OK ||
	        (rc = fm_text_put(&text, "system", "%s", job->system)) != FM_OK ||
	        (rc = fm_text_put(&text, "plan_sha256", "%s", job->plan_sha256)) != FM_OK ||
	        (rc = fm_text_put(&text, "lease_s", "3600")) != FM_OK ||
	        (rc = fm_text_put(&text, "deadline_s", "0")) != FM_OK ||
	        (rc = fm_text_put(&text, "job", "%s %d %s", job->candidate, job->attempt,
	                 job->nonce)) != FM_OK ||
	        (rc = fm_text_end(&text)) != FM_OK)
		goto out;
	memcpy(m->plan_sha256, job->plan_sha256, sizeof m->plan_sha256);
	rc = fm_dispatch_parse(text.data, text.len, &m->dispatch);
out:
	free(path);
	fm_buf_free(&plan);
	fm_buf_free(&text);
	return rc;
}

/* ---- what the machine is ---- */

static void make_facts(const struct world_job *job, struct fm_job *j)
{
	static const char *const tools[] = {"cc", "cc1", "as", "ld"};
	bool arm = strcmp(job->arch, "aarch64") == 0;

	fm_sha256_hex("agent", 5, j->facts.agent_sha256);
	fm_sha256_hex("worker", 6, j->facts.worker_sha256);
	fm_sha256_hex(job->system, strlen(job->system), j->facts.machine);
	fm_sha256_hex("boot", 4, j->facts.boot);
	snprintf(j->facts.libsodium, FM_HOST_TEXT, "libsodium 1.0.18");
	snprintf(j->facts.libsodium_link, sizeof j->facts.libsodium_link, "static");
	snprintf(j->facts.cpu_model, FM_HOST_TEXT, "%s core", arm ? "Arm" : "x86");
	snprintf(j->facts.microcode, FM_HOST_TEXT, "0x1");
	snprintf(j->facts.os, FM_HOST_TEXT, "Debian GNU/Linux 12");
	snprintf(j->facts.kernel, FM_HOST_TEXT, "6.1.0");
	snprintf(j->facts.compiler, FM_HOST_TEXT, "gcc 12.2.0");
	snprintf(j->facts.emulator, sizeof j->facts.emulator, "none");
	j->facts.memory_kib = 8388608;
	j->facts.logical_cpus = 4;
	j->cpu = 3;
	snprintf(j->counter.label, sizeof j->counter.label, arm ? "ref_ticks" : "core_cycles");
	snprintf(j->counter.source, sizeof j->counter.source, arm ? "cntvct" : "perf_rdpmc");
	snprintf(j->counter.scope, sizeof j->counter.scope, arm ? "wall" : "user");
	snprintf(j->counter.pmu, sizeof j->counter.pmu, arm ? "none" : "cpu");
	snprintf(j->counter.core_type, sizeof j->counter.core_type, "unknown");
	j->counter.hz = arm ? 1000000000 : 0;
	j->counter.resolution = 1;
	j->counter.read_pair_milli = 40000;
	j->counter.truth_permille = arm ? -1 : 1000;
	j->counter.nominal_khz = j->counter.tick_hz = -1;
	j->counter.measured_hz = 3000000000;
	j->counter.iqr_ppm = 20;
	for (j->clock_count = 0; j->clock_count < 2; j->clock_count++)
		j->clocks[j->clock_count] = (struct fm_clock_check){3000000000, 20, -1};
	j->checks.at[0] = (struct fm_check){.check = "governor",
	        .severity = "mark",
	        .state = "ok",
	        .value = "performance",
	        .source = "scaling_governor"};
	j->checks.count = 1;
	for (int i = 0; i < 4; i++) {
		j->tools[i].name = tools[i];
		snprintf(j->tools[i].path, FM_HOST_TEXT, "/usr/bin/%s", tools[i]);
		snprintf(j->tools[i].version, FM_HOST_TEXT, "12.2.0");
		snprintf(j->tools[i].package, FM_HOST_TEXT, "gcc-12 12.2.0-14");
		fm_sha256_hex(tools[i], strlen(tools[i]), j->tools[i].sha256);
	}
}

/* ---- what it did ---- */

static void message_digest(unsigned bytes, char hex[65])
{
	struct fm_sha256 h;

	fm_sha256_start(&h);
	for (unsigned i = 0; i < bytes; i++) {
		unsigned char byte = (unsigned char)(131 * i + bytes);

		fm_sha256_add(&h, &byte, 1);
	}
	fm_sha256_end(&h, hex);
}

/* A process with two windows; its number is its place in the list. */
static int add_process(struct fm_cell_work *cell, enum fm_process_state state, int round, bool ns)
{
	struct fm_process *p = fm_grow(&cell->taken, &cell->taken_count, sizeof *p);

	if (p == NULL || (p->windows = fm_alloc_array(2, sizeof *p->windows)) == NULL)
		return FM_ERR_MEMORY;
	for (int i = 0; i < FM_COLUMN_COUNT; i++)
		p->col[i] = -1;
	p->col[FM_COL_process] = (int64_t)cell->taken_count - 1;
	p->col[FM_COL_attempt] = 1;
	p->col[FM_COL_round] = round;
	p->col[FM_COL_state] = state;
	p->col[FM_COL_reason] = state == FM_ACCEPTED ? FM_WHY_NONE : FM_WHY_PREEMPTED;
	p->col[FM_COL_cpu] = 3;
	p->col[FM_COL_windows] = (int64_t)(p->window_count = 2);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t ns_taken = 1000 * (cell->bytes + 10u * (unsigned)cell->taken_count + i);

		p->windows[i] = (struct fm_run_window){.calls = 1000 + i,
		        .ns = ns_taken,
		        .count = ns ? 0 : 3 * ns_taken,
		        .counted = !ns,
		        .events = state == FM_ACCEPTED ? 0 : 2};
	}
	return FM_OK;
}

static int measure_cell(const struct fm_job *j, struct fm_cell_work *cell)
{
	bool ns = strcmp(j->counter.label, "ns") == 0;
	int rc;

	message_digest(cell->bytes, cell->message_sha256);
	fm_sha256_hex(cell->stem, strlen(cell->stem), cell->digest_sha256);
	cell->t1_ns = cell->bytes;
	cell->weight = (struct fm_weight){.rss_baseline_kib = 3000,
	        .rss_peak_kib = 3100,
	        .io_buffers = -1,
	        .stack = 400,
	        .heap_requested = 0,
	        .heap_usable = 0,
	        .allocs = 0,
	        .leak = 0,
	        .unaccounted = -1};
	cell->processes = 2;
	cell->stop = "fixed";
	if ((rc = add_process(cell, FM_ACCEPTED, 1, ns)) == FM_OK &&
	        (rc = add_process(cell, FM_REPLACED, 2, ns)) == FM_OK)
		rc = add_process(cell, FM_ACCEPTED, 2, ns);
	fm_cell_close(cell, "measured", "", "", "");
	return rc;
}

static int put_log(int out, const struct fm_candidate_work *c, const struct fm_unit *u)
{
	struct fm_buf text = FM_BUF_INIT(1 << 20);
	char path[200];
	int rc = fm_buf_printf(&text,
	        "candidate = %s\ninstance = %s\nversion = %s\nbuild flags = %s\nlibrary = %s\n",
	        c->plan->candidate, u->instance->instance, u->version->version, u->flags,
	        u->library_sha256);

	for (size_t i = 0; rc == FM_OK && i < u->instance->kat_lines.count; i++)
		rc = strcmp(u->kat_status, "PASS") == 0
		             ? fm_buf_printf(&text, "manifest %s\n", u->instance->kat_lines.at[i])
		             : fm_buf_printf(&text, "differs line %zu: count 0, Digest\n", i);
	if (rc == FM_OK)
		rc = fm_buf_printf(&text, "RESULT %s %s %s \n", c->plan->candidate,
		        u->instance->instance, u->kat_status);
	snprintf(path, sizeof path, "kat/%s.log", u->stem);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(out, path, text.data, text.len, 0644);
	fm_buf_free(&text);
	return rc;
}

/* Looked at beyond the known answers; the reference has something to tell. */
static int add_property(struct fm_unit *u)
{
	char **slot;

	u->sound = true;
	if (strcmp(u->version->version, "reference") != 0)
		return FM_OK;
	if ((slot = fm_grow(&u->properties, &u->property_count, sizeof *slot)) == NULL ||
	        (*slot = fm_strdup("threads: the library keeps state")) == NULL)
		return FM_ERR_MEMORY;
	return FM_OK;
}

static int do_unit(const struct fm_job *j, const struct fm_candidate_work *c, struct fm_unit *u,
        enum world_answer answer, int out)
{
	char path[200];
	int rc;

	snprintf(path, sizeof path, "build/%s.log", u->stem);
	if ((u->flags = fm_sprintf("%s %s", u->version->flags, j->mandate.plan.additions)) == NULL)
		return FM_ERR_MEMORY;
	u->build_status = answer == WORLD_BUILD_FAILED ? "failed" : "ok";
	u->build_ns = 1000000;
	if ((rc = fm_fs_write_deep(out, path, "", 0, 0644)) != FM_OK)
		return rc;
	if (answer == WORLD_BUILD_FAILED) {
		snprintf(u->build_reason, sizeof u->build_reason, "tiny.c:1: error");
		fm_unit_close(u, "failed", "build", "failed", u->build_reason);
		return FM_OK;
	}
	fm_sha256_hex(u->stem, strlen(u->stem), u->library_sha256);
	u->sizes = (struct fm_elf){.text = 4096,
	        .rodata = 512,
	        .unwind = 64,
	        .data = 8,
	        .bss = 16,
	        .load_memsz = 9000};
	snprintf(u->kat_status, sizeof u->kat_status, "%s",
	        answer == WORLD_KAT_FAILED         ? "MISMATCH"
	        : u->instance->kat_lines.count > 0 ? "PASS"
	                                           : "NOKAT");
	u->kat_ns = 2000000;
	u->kat_passed = answer == WORLD_KAT_FAILED ? 0 : 2;
	if ((rc = put_log(out, c, u)) != FM_OK || (rc = add_property(u)) != FM_OK)
		return rc;
	if (answer == WORLD_KAT_FAILED)
		fm_unit_close(u, "failed", "kat", "failed", "MISMATCH");
	for (size_t i = 0; rc == FM_OK && i < u->cell_count; i++) {
		if (answer == WORLD_CELL_MISSING && i + 1 == u->cell_count)
			fm_cell_close(
			        &u->cells[i], "missing", "measure", "failed", "no time was left");
		if (u->cells[i].status == NULL && (rc = measure_cell(j, &u->cells[i])) == FM_OK)
			rc = fm_samples_write(out, &u->cells[i], j->counter.label);
	}
	return rc;
}

/* The agent writes its own architecture; this host has another. */
static int set_arch(int out, const char *arch)
{
	struct fm_buf text = FM_BUF_INIT(4u << 20), again = FM_BUF_INIT(5u << 20);
	static const char mine[] = "\"arch\": \"" FM_ARCH "\"";
	const char *at;
	int rc = fm_fs_read(out, "evidence.json", 4u << 20, &text);

	if (rc == FM_OK && (at = strstr(text.data, mine)) != NULL) {
		rc = fm_buf_printf(&again, "%.*s\"arch\": \"%s\"%s", (int)(at - text.data),
		        text.data, arch, at + sizeof mine - 1);
		if (rc == FM_OK)
			rc = fm_fs_write(out, "evidence.json", again.data, again.len, 0644);
	}
	fm_buf_free(&text);
	fm_buf_free(&again);
	return rc;
}

static int write_rest(const struct world_job *job, const struct fm_job *j, int out)
{
	static const char commands[] = "0 1000000 cwd=/ gcc -c tiny.c\n",
	                  host[] = "== uname\nLinux\n";
	int rc;

	if ((rc = fm_fs_write_deep(out, "build/SOURCES.sha256", job->sources, strlen(job->sources),
	             0644)) != FM_OK ||
	        (rc = fm_fs_write_deep(out, "build/commands.txt", commands, sizeof commands - 1,
	                 0644)) != FM_OK ||
	        (rc = fm_fs_write_deep(out, "env/host.txt", host, sizeof host - 1, 0644)) !=
	                FM_OK ||
	        (rc = fm_evidence_write(j, &j->candidates[0], out)) != FM_OK)
		return rc;
	return set_arch(out, job->arch);
}

int world_bundle(const struct world_job *job, int out, char manifest[65])
{
	struct fm_agent agent = {.dir = -1};
	struct fm_identity *id = NULL;
	struct fm_job *j = fm_alloc(sizeof *j);
	int rc = FM_ERR_MEMORY;

	if (j == NULL)
		return rc;
	j->agent = &agent;
	if ((rc = fm_fs_dir(AT_FDCWD, job->host, &agent.dir)) != FM_OK ||
	        (rc = take_mandate(job, &j->mandate)) != FM_OK || (rc = fm_work_make(j)) != FM_OK)
		goto out;
	memcpy(agent.source, j->mandate.plan.agent_source, sizeof agent.source);
	make_facts(job, j);
	j->candidates[0].no_new_privs = j->candidates[0].seccomp = 1;
	for (size_t i = 0; rc == FM_OK && i < j->candidates[0].unit_count; i++)
		rc = do_unit(j, &j->candidates[0], &j->candidates[0].units[i],
		        i + 1 == j->candidates[0].unit_count ? job->answer : WORLD_GOOD, out);
	if (rc == FM_OK && (rc = write_rest(job, j, out)) == FM_OK &&
	        (rc = fm_identity_load(agent.dir, "key", &id)) == FM_OK)
		rc = fm_seal(out, FM_SEAL_BUNDLE, id, manifest);
out:
	fm_identity_free(id);
	fm_work_free(j);
	fm_mandate_free(&j->mandate);
	free(j);
	if (agent.dir >= 0)
		close(agent.dir);
	return rc;
}
