/* evidence.c: reads evidence.json of a bundle field by field, from tables that repeat FORMATS.md
 * section 4.2. */
#include "orchestrator/evidence.h"
#include "orchestrator/fields.h"
#include "protocol/fs.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define EVIDENCE_MAX (4u << 20)

/* clang-format off */
#define F(s, m, t)    {#m, t, offsetof(struct s, m), NULL}
#define K(s, m, k, t) {k, t, offsetof(struct s, m), NULL}
#define W(s, m, w)    {#m, FM_WORD, offsetof(struct s, m), w}
#define E(k, m, t)    {k, t, offsetof(struct fm_evidence, m), NULL}
#define EW(k, m, w)   {k, FM_WORD, offsetof(struct fm_evidence, m), w}
#define ONLY(k, t)    {k, t, 0, NULL} /* checked, not kept */
#define SUB(k)        FM_FIELD_SUB(k)
/* clang-format on */

static const struct fm_field top_fields[] = {SUB("schema"), E("campaign", campaign, FM_NAME),
        E("system", system, FM_NAME), E("candidate", candidate, FM_NAME), E("nonce", nonce, FM_HEX),
        E("plan_sha256", plan_sha256, FM_HEX), E("job_nonce", job_nonce, FM_HEX),
        E("attempt", attempt, FM_INT), E("source_sha256", source_sha256, FM_HEX),
        E("test_world", test_world, FM_OPT_HEX), SUB("agent"), SUB("host"), SUB("isolation"),
        SUB("toolchain"), SUB("libraries"), SUB("builds"), SUB("kat"), SUB("cells"), SUB("measure"),
        SUB("clock"), FM_FIELD_END};

static const struct fm_field agent_fields[] = {E("version", agent.version, FM_STR),
        E("libsodium", agent.libsodium, FM_STR), E("source_sha256", agent.source_sha256, FM_HEX),
        E("sha256", agent.sha256, FM_HEX), E("worker_sha256", agent.worker_sha256, FM_HEX),
        FM_FIELD_END};

static const struct fm_field host_fields[] = {E("arch", host.arch, FM_STR),
        E("cpu_model", host.cpu_model, FM_STR), E("microcode", host.microcode, FM_STR),
        E("os", host.os, FM_STR), E("kernel", host.kernel, FM_STR),
        E("emulator", host.emulator, FM_STR), E("memory_kib", host.memory_kib, FM_INT),
        E("logical_cpus", host.logical_cpus, FM_INT), E("virtual", host.virtual_machine, FM_INT),
        E("epoch", host.epoch, FM_INT), E("machine_tag", host.machine_tag, FM_HEX), FM_FIELD_END};

static const struct fm_field isolation_fields[] = {EW("mode", isolation.mode, "one-user two-users"),
        E("no_new_privs", isolation.no_new_privs, FM_INT),
        E("landlock", isolation.landlock, FM_INT), E("seccomp", isolation.seccomp, FM_INT),
        FM_FIELD_END};

static const struct fm_field measure_fields[] = {E("profile", measure.profile, FM_STR),
        E("order_seed", measure.order_seed, FM_SEED), E("core_type", measure.core_type, FM_STR),
        E("cpu", measure.cpu, FM_INT), E("tuned", measure.tuned, FM_INT), SUB("counter"),
        SUB("clock"), SUB("host_checks"), SUB("cells"), SUB("memory"), FM_FIELD_END};

static const struct fm_field counter_fields[] = {
        EW("label", counter.label, "core_cycles ref_ticks ns"),
        EW("source", counter.source,
                "perf_rdpmc perf_user perf_read perf_read_toggle rdpmc pmccntr tsc cntvct clock"),
        EW("scope", counter.scope, "user emulated wall"), E("pmu", counter.pmu, FM_STR),
        E("hz", counter.hz, FM_INT), E("resolution", counter.resolution, FM_INT),
        E("read_pair_milli", counter.read_pair_milli, FM_INT),
        E("truth_permille", counter.truth_permille, FM_INT), SUB("rejected"), FM_FIELD_END};

static const struct fm_field clock_fields[] = {E("started_at", clock.started_at, FM_STAMP),
        E("finished_at", clock.finished_at, FM_STAMP), E("elapsed_ns", clock.elapsed_ns, FM_INT),
        FM_FIELD_END};

static const struct fm_field tool_fields[] = {F(fm_ev_tool, name, FM_STR),
        F(fm_ev_tool, path, FM_STR), F(fm_ev_tool, version, FM_STR), F(fm_ev_tool, package, FM_STR),
        F(fm_ev_tool, sha256, FM_HEX0), FM_FIELD_END};

static const struct fm_field library_fields[] = {ONLY("name", FM_STR), ONLY("version", FM_STR),
        ONLY("build_id", FM_STR), ONLY("sha256", FM_HEX), ONLY("static", FM_INT), FM_FIELD_END};

static const struct fm_field build_fields[] = {F(fm_ev_build, instance, FM_NAME),
        F(fm_ev_build, version, FM_NAME), W(fm_ev_build, status, "ok failed missing"),
        F(fm_ev_build, reason, FM_STR), F(fm_ev_build, flags, FM_STR),
        W(fm_ev_build, flags_kind, "guide fallback"), F(fm_ev_build, log, FM_STR),
        F(fm_ev_build, library_sha256, FM_HEX0), F(fm_ev_build, load_bytes, FM_INT),
        F(fm_ev_build, elapsed_ns, FM_INT), FM_FIELD_END};

static const struct fm_field kat_fields[] = {F(fm_ev_kat, instance, FM_NAME),
        F(fm_ev_kat, version, FM_NAME), F(fm_ev_kat, log, FM_STR),
        W(fm_ev_kat, status,
                "CRASH TIMEOUT OVERFLOW CRYPTOFAIL MISMATCH LOADFAIL BUILDFAIL NOKAT PASS"),
        F(fm_ev_kat, passed, FM_INT), F(fm_ev_kat, files, FM_INT), F(fm_ev_kat, vectors, FM_INT),
        F(fm_ev_kat, elapsed_ns, FM_INT), SUB("properties"), FM_FIELD_END};

static const struct fm_field cell_fields[] = {F(fm_ev_cell, instance, FM_NAME),
        F(fm_ev_cell, version, FM_NAME), F(fm_ev_cell, operation, FM_NAME),
        W(fm_ev_cell, status, "measured failed missing"), K(fm_ev_cell, klass, "class", FM_STR),
        F(fm_ev_cell, reason, FM_STR), F(fm_ev_cell, text, FM_STR), FM_FIELD_END};

static const struct fm_field measured_fields[] = {F(fm_ev_measured, instance, FM_NAME),
        F(fm_ev_measured, version, FM_NAME), F(fm_ev_measured, operation, FM_NAME),
        W(fm_ev_measured, stop, "fixed target cap budget"), F(fm_ev_measured, bytes, FM_INT),
        F(fm_ev_measured, planned, FM_INT), F(fm_ev_measured, accepted, FM_INT),
        F(fm_ev_measured, replaced, FM_INT), F(fm_ev_measured, invalid, FM_INT),
        F(fm_ev_measured, calls, FM_INT), F(fm_ev_measured, t1_ns, FM_INT),
        F(fm_ev_measured, library_sha256, FM_HEX), F(fm_ev_measured, message_sha256, FM_HEX),
        F(fm_ev_measured, digest_sha256, FM_HEX), SUB("marks"), FM_FIELD_END};

static const struct fm_field memory_fields[] = {F(fm_ev_memory, instance, FM_NAME),
        F(fm_ev_memory, version, FM_NAME), F(fm_ev_memory, bytes, FM_INT),
        F(fm_ev_memory, text_bytes, FM_INT), F(fm_ev_memory, rodata_bytes, FM_INT),
        F(fm_ev_memory, unwind_bytes, FM_INT), F(fm_ev_memory, data_bytes, FM_INT),
        F(fm_ev_memory, bss_bytes, FM_INT), F(fm_ev_memory, tls_bytes, FM_INT),
        F(fm_ev_memory, rom_bytes, FM_INT), F(fm_ev_memory, static_ram_bytes, FM_INT),
        F(fm_ev_memory, pt_load_memsz_bytes, FM_INT), F(fm_ev_memory, io_buffers_bytes, FM_INT),
        F(fm_ev_memory, rss_baseline_process_kib, FM_INT),
        F(fm_ev_memory, rss_peak_process_kib, FM_INT),
        F(fm_ev_memory, stack_touched_bytes, FM_OPT_INT),
        F(fm_ev_memory, heap_peak_requested_bytes, FM_OPT_INT),
        F(fm_ev_memory, heap_peak_usable_bytes, FM_OPT_INT),
        F(fm_ev_memory, allocs_per_call, FM_OPT_INT),
        F(fm_ev_memory, leak_bytes_per_call, FM_OPT_INT),
        F(fm_ev_memory, rom_reachable_bytes, FM_OPT_INT),
        F(fm_ev_memory, isolated_ram_upper_bytes, FM_OPT_INT),
        F(fm_ev_memory, unaccounted_mapping_bytes, FM_OPT_INT),
        F(fm_ev_memory, isolated_ram_upper_bytes_why, FM_OPT_STR), FM_FIELD_END};

static const struct fm_field check_fields[] = {F(fm_ev_check, check, FM_STR),
        W(fm_ev_check, severity, "refuse mark note"), W(fm_ev_check, state, "ok bad unknown"),
        F(fm_ev_check, value, FM_STR), F(fm_ev_check, source, FM_STR), FM_FIELD_END};

static const struct fm_field freq_fields[] = {F(fm_ev_clock, nominal_khz, FM_INT),
        F(fm_ev_clock, measured_hz, FM_INT), F(fm_ev_clock, iqr_ppm, FM_INT),
        F(fm_ev_clock, drift_ppm, FM_INT), F(fm_ev_clock, tick_hz, FM_INT), FM_FIELD_END};

/* kat[], and the properties of those that were looked at. */
static int read_kat(const struct fm_json_node *root, struct fm_evidence *e)
{
	const struct fm_json_node *array, *kat;
	size_t i = 0;
	int rc;

	if ((rc = fm_fields_array(
	             root, "kat", kat_fields, sizeof *e->kat, &e->kat, &e->kat_count)) != FM_OK ||
	        (rc = fm_json_array(root, "kat", &array)) != FM_OK)
		return rc;
	for (kat = fm_json_first(array); kat != NULL; kat = fm_json_next(kat), i++) {
		if (!fm_json_has(kat, "properties"))
			continue;
		e->kat[i].sound = true;
		if ((rc = fm_fields_strings(kat, "properties", &e->kat[i].properties,
		             &e->kat[i].property_count)) != FM_OK)
			return rc;
	}
	return FM_OK;
}

static int read_measured(const struct fm_json_node *measure, struct fm_evidence *e)
{
	const struct fm_json_node *array, *cell;
	size_t i = 0;
	int rc;

	if ((rc = fm_fields_array(measure, "cells", measured_fields, sizeof *e->measured,
	             &e->measured, &e->measured_count)) != FM_OK ||
	        (rc = fm_json_array(measure, "cells", &array)) != FM_OK)
		return rc;
	for (cell = fm_json_first(array); cell != NULL; cell = fm_json_next(cell), i++)
		if ((rc = fm_fields_strings(cell, "marks", &e->measured[i].marks,
		             &e->measured[i].mark_count)) != FM_OK)
			return rc;
	return FM_OK;
}

static int read_measure(const struct fm_json_node *root, struct fm_evidence *e)
{
	const struct fm_json_node *measure, *counter;
	int rc;

	if ((rc = fm_fields_object(root, "measure", measure_fields, e)) != FM_OK ||
	        (rc = fm_json_object(root, "measure", &measure)) != FM_OK ||
	        (rc = fm_fields_object(measure, "counter", counter_fields, e)) != FM_OK ||
	        (rc = fm_json_object(measure, "counter", &counter)) != FM_OK ||
	        (rc = fm_fields_strings(counter, "rejected", &e->counter.rejected,
	                 &e->counter.rejected_count)) != FM_OK ||
	        (rc = fm_fields_array(measure, "clock", freq_fields, sizeof *e->clocks, &e->clocks,
	                 &e->clock_count)) != FM_OK ||
	        (rc = fm_fields_array(measure, "host_checks", check_fields, sizeof *e->checks,
	                 &e->checks, &e->check_count)) != FM_OK ||
	        (rc = fm_fields_array(measure, "memory", memory_fields, sizeof *e->memory,
	                 &e->memory, &e->memory_count)) != FM_OK)
		return rc;
	return read_measured(measure, e);
}

/* Checked, not kept: nothing is computed from the libraries a candidate asked for. */
static int check_libraries(const struct fm_json_node *root)
{
	const struct fm_json_node *array, *e;
	int rc = fm_json_array(root, "libraries", &array);

	for (e = rc == FM_OK ? fm_json_first(array) : NULL; rc == FM_OK && e != NULL;
	        e = fm_json_next(e))
		rc = fm_fields_read(e, library_fields, NULL);
	return rc;
}

static int read_document(const struct fm_json_node *root, struct fm_evidence *e)
{
	int rc;

	if ((rc = fm_fields_schema(root, "evidence/1")) != FM_OK ||
	        (rc = fm_fields_read(root, top_fields, e)) != FM_OK ||
	        (rc = fm_fields_object(root, "agent", agent_fields, e)) != FM_OK ||
	        (rc = fm_fields_object(root, "host", host_fields, e)) != FM_OK ||
	        (rc = fm_fields_object(root, "isolation", isolation_fields, e)) != FM_OK ||
	        (rc = fm_fields_object(root, "clock", clock_fields, e)) != FM_OK ||
	        (rc = check_libraries(root)) != FM_OK ||
	        (rc = fm_fields_array(root, "toolchain", tool_fields, sizeof *e->toolchain,
	                 &e->toolchain, &e->toolchain_count)) != FM_OK ||
	        (rc = fm_fields_array(root, "builds", build_fields, sizeof *e->builds, &e->builds,
	                 &e->build_count)) != FM_OK ||
	        (rc = read_kat(root, e)) != FM_OK ||
	        (rc = fm_fields_array(root, "cells", cell_fields, sizeof *e->cells, &e->cells,
	                 &e->cell_count)) != FM_OK)
		return rc;
	return read_measure(root, e);
}

int fm_evidence_read(int dirfd, struct fm_evidence *out)
{
	struct fm_buf text = FM_BUF_INIT(EVIDENCE_MAX);
	struct fm_json *doc = NULL;
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_fs_read(dirfd, "evidence.json", EVIDENCE_MAX, &text)) != FM_OK)
		goto out;
	if ((rc = fm_json_read("evidence.json", text.data, text.len, EVIDENCE_MAX, &doc)) != FM_OK)
		goto out;
	out->owner = doc;
	rc = read_document(fm_json_root(doc), out);
out:
	if (rc != FM_OK)
		fm_evidence_free(out);
	fm_buf_free(&text);
	return rc;
}

static bool word_ok(const char *s, const char *allowed)
{
	size_t len = strlen(s);

	return len > 0 && len < 24 && strspn(s, allowed) == len;
}

bool fm_reason_ok(const char *klass, const char *reason)
{
	return word_ok(klass, "abcdefghijklmnopqrstuvwxyz-") &&
	       word_ok(reason, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

void fm_evidence_free(struct fm_evidence *e)
{
	size_t i;

	for (i = 0; i < e->measured_count; i++)
		free(e->measured[i].marks);
	free(e->measured);
	free(e->counter.rejected);
	free(e->toolchain);
	free(e->builds);
	for (i = 0; i < e->kat_count; i++)
		free(e->kat[i].properties);
	free(e->kat);
	free(e->cells);
	free(e->memory);
	free(e->checks);
	free(e->clocks);
	fm_json_free(e->owner);
	memset(e, 0, sizeof *e);
}
