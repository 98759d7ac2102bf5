/* evidence.c: writes evidence.json of one candidate, exactly the fields of FORMATS.md section 4.2
 * in byte order of their keys. */
#include "agent/evidence_measure.h"
#include "protocol/world.h"

#include <stdlib.h>
#include <string.h>

#define EVIDENCE_MAX (4u << 20)

static void put_agent(struct fm_jsonw *w, const struct fm_job *j)
{
	char text[2 * FM_HOST_TEXT];
	const char *version = strrchr(j->facts.libsodium, ' ');

	snprintf(text, sizeof text, "%s %s", version == NULL ? j->facts.libsodium : version + 1,
	        j->facts.libsodium_link);
	fm_jsonw_object(w, "agent");
	fm_jsonw_text(w, "libsodium", text);
	fm_jsonw_str(w, "sha256", j->facts.agent_sha256);
	fm_jsonw_str(w, "source_sha256", j->agent->source);
	fm_jsonw_str(w, "version", FM_VERSION);
	fm_jsonw_str(w, "worker_sha256", j->facts.worker_sha256);
	fm_jsonw_close(w);
}

static void put_builds(struct fm_jsonw *w, const struct fm_candidate_work *c)
{
	char log[200];

	fm_jsonw_array(w, "builds");
	for (size_t i = 0; i < c->unit_count; i++) {
		const struct fm_unit *u = &c->units[i];

		snprintf(log, sizeof log, "build/%s.log", u->stem);
		fm_jsonw_object(w, NULL);
		fm_jsonw_int(w, "elapsed_ns", (long long)u->build_ns);
		fm_jsonw_str(w, "flags", u->flags == NULL ? "" : u->flags);
		fm_jsonw_str(w, "flags_kind", u->fallback ? "fallback" : "guide");
		fm_jsonw_str(w, "instance", u->instance->instance);
		fm_jsonw_str(w, "library_sha256", u->library_sha256);
		fm_jsonw_int(w, "load_bytes", (long long)u->sizes.load_memsz);
		fm_jsonw_str(w, "log", log);
		fm_jsonw_text(w, "reason", u->build_reason);
		fm_jsonw_str(w, "status", u->build_status);
		fm_jsonw_str(w, "version", u->version->version);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

static void put_cells(struct fm_jsonw *w, const struct fm_candidate_work *c)
{
	fm_jsonw_array(w, "cells");
	for (size_t i = 0; i < c->unit_count; i++)
		for (size_t k = 0; k < c->units[i].cell_count; k++) {
			const struct fm_cell_work *cell = &c->units[i].cells[k];
			bool measured = strcmp(cell->status, "measured") == 0;

			fm_jsonw_object(w, NULL);
			fm_jsonw_str(w, "class", measured ? "" : cell->klass);
			fm_jsonw_str(w, "instance", c->units[i].instance->instance);
			fm_jsonw_str(w, "operation", cell->operation);
			fm_jsonw_str(w, "reason", measured ? "" : cell->reason);
			fm_jsonw_str(w, "status", cell->status);
			fm_jsonw_text(w, "text", measured ? "" : cell->text);
			fm_jsonw_str(w, "version", c->units[i].version->version);
			fm_jsonw_close(w);
		}
	fm_jsonw_close(w);
}

/* A number that stands for this set of system software; it rises with every change that is seen
 * here. */
static long long epoch(const struct fm_job *j)
{
	struct fm_buf old = FM_BUF_INIT(200);
	char text[5 * FM_HOST_TEXT], hex[65], line[100];
	unsigned long long number = 0;

	snprintf(text, sizeof text, "%s\n%s\n%s\n%s\n", j->facts.os, j->facts.kernel,
	        j->facts.microcode, j->facts.compiler);
	fm_sha256_hex(text, strlen(text), hex);
	if (fm_fs_read(j->agent->dir, "epoch", 200, &old) == FM_OK && old.len > 66 &&
	        strncmp(old.data, hex, 64) == 0)
		number = strtoull(old.data + 65, NULL, 10);
	else if (old.len > 66)
		number = strtoull(old.data + 65, NULL, 10) + 1;
	if (number < 1)
		number = 1;
	snprintf(line, sizeof line, "%s %llu\n", hex, number);
	if (old.data == NULL || strcmp(old.data, line) != 0)
		(void)!fm_fs_write(j->agent->dir, "epoch", line, strlen(line), 0600);
	fm_buf_free(&old);
	return (long long)number;
}

static void put_host(struct fm_jsonw *w, const struct fm_job *j)
{
	char text[130], tag[65];

	snprintf(text, sizeof text, "%s%s", j->mandate.plan.nonce, j->facts.machine);
	fm_sha256_hex(text, strlen(text), tag);
	fm_jsonw_object(w, "host");
	fm_jsonw_str(w, "arch", FM_ARCH);
	fm_jsonw_text(w, "cpu_model", j->facts.cpu_model);
	fm_jsonw_str(
	        w, "emulator", strcmp(j->facts.emulator, "none") == 0 ? "" : j->facts.emulator);
	fm_jsonw_int(w, "epoch", epoch(j));
	fm_jsonw_text(w, "kernel", j->facts.kernel);
	fm_jsonw_int(w, "logical_cpus", j->facts.logical_cpus);
	fm_jsonw_str(w, "machine_tag", tag);
	fm_jsonw_int(w, "memory_kib", j->facts.memory_kib);
	fm_jsonw_text(w, "microcode", j->facts.microcode);
	fm_jsonw_text(w, "os", j->facts.os);
	fm_jsonw_int(w, "virtual", j->facts.virtual_machine);
	fm_jsonw_close(w);
}

static void put_kat(struct fm_jsonw *w, const struct fm_candidate_work *c)
{
	char log[200];

	fm_jsonw_array(w, "kat");
	for (size_t i = 0; i < c->unit_count; i++) {
		const struct fm_unit *u = &c->units[i];

		if (strcmp(u->build_status, "ok") != 0)
			continue;
		snprintf(log, sizeof log, "kat/%s.log", u->stem);
		fm_jsonw_object(w, NULL);
		fm_jsonw_int(w, "elapsed_ns", (long long)u->kat_ns);
		fm_jsonw_int(w, "files", 4);
		fm_jsonw_str(w, "instance", u->instance->instance);
		fm_jsonw_str(w, "log", log);
		fm_jsonw_int(w, "passed", u->kat_passed);
		if (u->sound || u->property_count > 0) {
			fm_jsonw_array(w, "properties");
			for (size_t p = 0; p < u->property_count; p++)
				fm_jsonw_text(w, NULL, u->properties[p]);
			fm_jsonw_close(w);
		}
		fm_jsonw_str(w, "status", u->kat_status);
		fm_jsonw_int(w, "vectors", u->kat_vectors);
		fm_jsonw_str(w, "version", u->version->version);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

static void put_toolchain(struct fm_jsonw *w, const struct fm_job *j)
{
	fm_jsonw_array(w, "toolchain");
	for (int i = 0; i < 4; i++) {
		const struct fm_tool *t = &j->tools[i];

		fm_jsonw_object(w, NULL);
		fm_jsonw_str(w, "name", t->name);
		fm_jsonw_text(w, "package", t->package);
		fm_jsonw_text(w, "path", t->path);
		fm_jsonw_str(w, "sha256", t->sha256);
		fm_jsonw_text(w, "version", t->version);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

int fm_evidence_write(const struct fm_job *j, const struct fm_candidate_work *c, int out)
{
	struct fm_buf text = FM_BUF_INIT(EVIDENCE_MAX);
	struct fm_jsonw w;
	char finished[21];
	int rc;

	fm_stamp_now(finished);
	fm_jsonw_start(&w, &text);
	put_agent(&w, j);
	fm_jsonw_int(&w, "attempt", c->item->attempt);
	put_builds(&w, c);
	fm_jsonw_str(&w, "campaign", j->mandate.plan.campaign);
	fm_jsonw_str(&w, "candidate", c->plan->candidate);
	put_cells(&w, c);
	fm_jsonw_object(&w, "clock");
	fm_jsonw_int(&w, "elapsed_ns", (long long)(fm_agent_now_ns() - c->started_ns));
	fm_jsonw_str(&w, "finished_at", finished);
	fm_jsonw_str(&w, "started_at", c->started_at);
	fm_jsonw_close(&w);
	put_host(&w, j);
	fm_jsonw_object(&w, "isolation");
	fm_jsonw_int(&w, "landlock", c->landlock < 0 ? 0 : c->landlock);
	fm_jsonw_str(&w, "mode", "one-user");
	fm_jsonw_int(&w, "no_new_privs", c->no_new_privs < 0 ? 0 : c->no_new_privs);
	fm_jsonw_int(&w, "seccomp", c->seccomp < 0 ? 0 : c->seccomp);
	fm_jsonw_close(&w);
	fm_jsonw_str(&w, "job_nonce", c->item->nonce);
	put_kat(&w, c);
	fm_jsonw_array(&w, "libraries");
	fm_jsonw_close(&w);
	fm_evidence_measure(&w, j, c);
	fm_jsonw_str(&w, "nonce", j->mandate.plan.nonce);
	fm_jsonw_str(&w, "plan_sha256", j->mandate.plan_sha256);
	fm_jsonw_str(&w, "schema", "evidence/1");
	fm_jsonw_str(&w, "source_sha256", c->plan->source);
	fm_jsonw_str(&w, "system", j->mandate.plan.system);
#ifdef FLEETMARK_TESTING
	if (j->agent->world != NULL)
		fm_jsonw_str(&w, "test_world", fm_world_now()->sha256);
#endif
	put_toolchain(&w, j);
	rc = fm_jsonw_end(&w);
	if (rc == FM_OK)
		rc = fm_fs_write(out, "evidence.json", text.data, text.len, 0644);
	fm_buf_free(&text);
	return fm_wrap(rc, "evidence.json");
}
