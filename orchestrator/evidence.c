/* evidence.c: reads evidence.json of a bundle field by field, from tables that repeat FORMATS.md
 * section 4.2. */
#include "orchestrator/evidence.h"
#include "orchestrator/jsonr.h"
#include "protocol/fs.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVIDENCE_MAX (4u << 20)

enum type {
	STR,     /* any text */
	NAME,    /* name rule */
	HEX,     /* 64 hex digits */
	HEX0,    /* the same, or "" */
	SEED,    /* 16 hex digits */
	STAMP,   /* YYYY-MM-DDTHH:MM:SSZ */
	INT,     /* integer */
	OPT_HEX, /* may be absent: NULL */
	OPT_INT, /* may be absent: -1 */
	SUB,     /* object or array that other code reads */
};

struct field {
	const char *key;
	enum type type;
	size_t offset;
};

#define END                  \
	{                    \
		NULL, STR, 0 \
	}
#define F(s, m, t)                           \
	{                                    \
#m, t, offsetof(struct s, m) \
	}
#define K(s, m, k, t)                       \
	{                                   \
		k, t, offsetof(struct s, m) \
	}
#define E(k, m, t)                                    \
	{                                             \
		k, t, offsetof(struct fm_evidence, m) \
	}

static const struct field top_fields[] = {{"schema", SUB, 0}, E("campaign", campaign, NAME),
        E("system", system, NAME), E("candidate", candidate, NAME), E("nonce", nonce, HEX),
        E("plan_sha256", plan_sha256, HEX), E("job_nonce", job_nonce, HEX),
        E("attempt", attempt, INT), E("source_sha256", source_sha256, HEX),
        E("test_world", test_world, OPT_HEX), {"agent", SUB, 0}, {"host", SUB, 0},
        {"isolation", SUB, 0}, {"toolchain", SUB, 0}, {"libraries", SUB, 0}, {"builds", SUB, 0},
        {"kat", SUB, 0}, {"cells", SUB, 0}, {"measure", SUB, 0}, {"clock", SUB, 0}, END};

static const struct field agent_fields[] = {E("version", agent.version, STR),
        E("libsodium", agent.libsodium, STR), E("source_sha256", agent.source_sha256, HEX),
        E("sha256", agent.sha256, HEX), E("worker_sha256", agent.worker_sha256, HEX), END};

static const struct field host_fields[] = {E("arch", host.arch, STR),
        E("cpu_model", host.cpu_model, STR), E("microcode", host.microcode, STR),
        E("os", host.os, STR), E("kernel", host.kernel, STR), E("emulator", host.emulator, STR),
        E("memory_kib", host.memory_kib, INT), E("logical_cpus", host.logical_cpus, INT),
        E("virtual", host.virtual_machine, INT), E("epoch", host.epoch, INT),
        E("machine_tag", host.machine_tag, HEX), END};

static const struct field isolation_fields[] = {E("mode", isolation.mode, STR),
        E("no_new_privs", isolation.no_new_privs, INT), E("landlock", isolation.landlock, INT),
        E("seccomp", isolation.seccomp, INT), END};

static const struct field measure_fields[] = {E("profile", measure.profile, STR),
        E("order_seed", measure.order_seed, SEED), E("core_type", measure.core_type, STR),
        E("cpu", measure.cpu, INT), E("tuned", measure.tuned, INT), {"counter", SUB, 0},
        {"clock", SUB, 0}, {"host_checks", SUB, 0}, {"cells", SUB, 0}, {"memory", SUB, 0}, END};

static const struct field counter_fields[] = {E("label", counter.label, STR),
        E("source", counter.source, STR), E("scope", counter.scope, STR),
        E("pmu", counter.pmu, STR), E("hz", counter.hz, INT),
        E("resolution", counter.resolution, INT),
        E("read_pair_milli", counter.read_pair_milli, INT),
        E("truth_permille", counter.truth_permille, INT), {"rejected", SUB, 0}, END};

static const struct field clock_fields[] = {E("started_at", clock.started_at, STAMP),
        E("finished_at", clock.finished_at, STAMP), E("elapsed_ns", clock.elapsed_ns, INT), END};

static const struct field tool_fields[] = {F(fm_ev_tool, name, STR), F(fm_ev_tool, path, STR),
        F(fm_ev_tool, version, STR), F(fm_ev_tool, package, STR), F(fm_ev_tool, sha256, HEX0), END};

static const struct field build_fields[] = {F(fm_ev_build, instance, NAME),
        F(fm_ev_build, version, NAME), F(fm_ev_build, status, STR), F(fm_ev_build, reason, STR),
        F(fm_ev_build, flags, STR), F(fm_ev_build, flags_kind, STR), F(fm_ev_build, log, STR),
        F(fm_ev_build, library_sha256, HEX0), F(fm_ev_build, load_bytes, INT),
        F(fm_ev_build, elapsed_ns, INT), END};

static const struct field kat_fields[] = {F(fm_ev_kat, instance, NAME), F(fm_ev_kat, version, NAME),
        F(fm_ev_kat, log, STR), F(fm_ev_kat, status, STR), F(fm_ev_kat, passed, INT),
        F(fm_ev_kat, files, INT), F(fm_ev_kat, vectors, INT), F(fm_ev_kat, elapsed_ns, INT), END};

static const struct field cell_fields[] = {F(fm_ev_cell, instance, NAME),
        F(fm_ev_cell, version, NAME), F(fm_ev_cell, operation, NAME), F(fm_ev_cell, status, STR),
        K(fm_ev_cell, klass, "class", STR), F(fm_ev_cell, reason, STR), F(fm_ev_cell, text, STR),
        END};

static const struct field measured_fields[] = {F(fm_ev_measured, instance, NAME),
        F(fm_ev_measured, version, NAME), F(fm_ev_measured, operation, NAME),
        F(fm_ev_measured, stop, STR), F(fm_ev_measured, bytes, INT),
        F(fm_ev_measured, planned, INT), F(fm_ev_measured, accepted, INT),
        F(fm_ev_measured, replaced, INT), F(fm_ev_measured, invalid, INT),
        F(fm_ev_measured, calls, INT), F(fm_ev_measured, t1_ns, INT),
        F(fm_ev_measured, library_sha256, HEX), F(fm_ev_measured, message_sha256, HEX),
        F(fm_ev_measured, digest_sha256, HEX), {"marks", SUB, 0}, END};

static const struct field memory_fields[] = {F(fm_ev_memory, instance, NAME),
        F(fm_ev_memory, version, NAME), F(fm_ev_memory, bytes, INT),
        F(fm_ev_memory, text_bytes, INT), F(fm_ev_memory, rodata_bytes, INT),
        F(fm_ev_memory, unwind_bytes, INT), F(fm_ev_memory, data_bytes, INT),
        F(fm_ev_memory, bss_bytes, INT), F(fm_ev_memory, tls_bytes, INT),
        F(fm_ev_memory, rom_bytes, INT), F(fm_ev_memory, static_ram_bytes, INT),
        F(fm_ev_memory, pt_load_memsz_bytes, INT), F(fm_ev_memory, io_buffers_bytes, INT),
        F(fm_ev_memory, rss_baseline_process_kib, INT), F(fm_ev_memory, rss_peak_process_kib, INT),
        F(fm_ev_memory, stack_touched_bytes, OPT_INT),
        F(fm_ev_memory, heap_peak_requested_bytes, OPT_INT),
        F(fm_ev_memory, heap_peak_usable_bytes, OPT_INT), F(fm_ev_memory, allocs_per_call, OPT_INT),
        F(fm_ev_memory, leak_bytes_per_call, OPT_INT),
        F(fm_ev_memory, rom_reachable_bytes, OPT_INT),
        F(fm_ev_memory, isolated_ram_upper_bytes, OPT_INT), END};

static const struct field check_fields[] = {F(fm_ev_check, check, STR),
        F(fm_ev_check, severity, STR), F(fm_ev_check, state, STR), F(fm_ev_check, value, STR),
        F(fm_ev_check, source, STR), END};

static const struct field freq_fields[] = {F(fm_ev_clock, nominal_khz, INT),
        F(fm_ev_clock, measured_hz, INT), F(fm_ev_clock, iqr_ppm, INT),
        F(fm_ev_clock, drift_ppm, INT), F(fm_ev_clock, tick_hz, INT), END};

static const struct field library_fields[] = {{"name", SUB, 0}, {"version", SUB, 0},
        {"build_id", SUB, 0}, {"sha256", SUB, 0}, {"static", SUB, 0}, END};

/* The member's name may be a field, or a field's name and "_why". */
static bool known(const struct field *fields, const char *key)
{
	for (; fields->key != NULL; fields++) {
		size_t len = strlen(fields->key);

		if (strncmp(key, fields->key, len) == 0 &&
		        (key[len] == '\0' || strcmp(key + len, "_why") == 0))
			return true;
	}
	return false;
}

static bool seed_ok(const char *s)
{
	return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

static bool text_ok(enum type type, const char *s)
{
	switch (type) {
	case NAME:
		return fm_name_ok(s);
	case HEX:
	case OPT_HEX:
		return fm_hex64_ok(s);
	case HEX0:
		return s[0] == '\0' || fm_hex64_ok(s);
	case SEED:
		return seed_ok(s);
	case STAMP:
		return fm_stamp_ok(s);
	default:
		return true;
	}
}

/* True if the field is not there but its reason is, or it may be left out. */
static bool excused(const struct fm_json_node *o, const struct field *f)
{
	char why[80];

	if (fm_json_has(o, f->key))
		return false;
	if (f->type == OPT_INT || f->type == OPT_HEX)
		return true;
	(void)snprintf(why, sizeof why, "%s_why", f->key);
	return fm_json_has(o, why);
}

static int read_field(const struct fm_json_node *o, const struct field *f, char *base)
{
	bool number = f->type == INT || f->type == OPT_INT;
	const char *text = "";
	int rc;

	if (excused(o, f)) {
		if (number)
			*(int64_t *)(void *)(base + f->offset) = -1;
		else
			*(const char **)(void *)(base + f->offset) = f->type == OPT_HEX ? NULL : "";
		return FM_OK;
	}
	if (number)
		return fm_json_int(o, f->key, (int64_t *)(void *)(base + f->offset));
	if ((rc = fm_json_str(o, f->key, &text)) != FM_OK)
		return rc;
	if (!text_ok(f->type, text)) {
		char shown[100];

		return fm_fail(FM_ERR_FORM,
		        "evidence.json: %s: '%s' is not of the form this field has", f->key,
		        fm_escape(text, strlen(text), shown, sizeof shown));
	}
	*(const char **)(void *)(base + f->offset) = text;
	return FM_OK;
}

static int read_fields(const struct fm_json_node *o, const struct field *fields, void *base)
{
	const struct fm_json_node *m;
	int rc;

	for (m = fm_json_first(o); m != NULL; m = fm_json_next(m))
		if (!known(fields, fm_json_key(m)))
			return fm_fail(
			        FM_ERR_FORM, "evidence.json: unknown field '%s'", fm_json_key(m));
	for (; fields->key != NULL; fields++)
		if (fields->type != SUB && (rc = read_field(o, fields, base)) != FM_OK)
			return rc;
	return FM_OK;
}

static int read_object(
        const struct fm_json_node *o, const char *key, const struct field *fields, void *base)
{
	const struct fm_json_node *sub;
	int rc = fm_json_object(o, key, &sub);

	return rc != FM_OK ? rc : fm_wrap(read_fields(sub, fields, base), "%s", key);
}

/* Array of objects of one kind into fresh memory. */
static int read_array(const struct fm_json_node *o, const char *key, const struct field *fields,
        size_t size, void *out, size_t *count)
{
	const struct fm_json_node *array, *e;
	size_t n = 0;
	char *items;
	int rc;

	if ((rc = fm_json_array(o, key, &array)) != FM_OK)
		return rc;
	if (fm_json_count(array) == 0)
		return FM_OK;
	if ((items = fm_alloc_array(fm_json_count(array), size)) == NULL)
		return FM_ERR_MEMORY;
	*(void **)out = items; /* owned by the evidence from here on, also after an error */
	for (e = fm_json_first(array); e != NULL; e = fm_json_next(e), n++)
		if ((rc = read_fields(e, fields, items + n * size)) != FM_OK)
			return fm_wrap(rc, "%s[%zu]", key, n);
	*count = n;
	return FM_OK;
}

static int read_strings(
        const struct fm_json_node *o, const char *key, const char ***out, size_t *count)
{
	const struct fm_json_node *array, *e;
	size_t n = 0;
	int rc;

	if ((rc = fm_json_array(o, key, &array)) != FM_OK)
		return rc;
	if (fm_json_count(array) == 0)
		return FM_OK;
	if ((*out = fm_alloc_array(fm_json_count(array), sizeof **out)) == NULL)
		return FM_ERR_MEMORY;
	for (e = fm_json_first(array); e != NULL; e = fm_json_next(e), n++)
		if (((*out)[n] = fm_json_text(e)) == NULL)
			return fm_fail(FM_ERR_FORM, "evidence.json: %s[%zu]: a string was expected",
			        key, n);
	*count = n;
	return FM_OK;
}

static int read_measured(const struct fm_json_node *measure, struct fm_evidence *e)
{
	const struct fm_json_node *array, *cell;
	size_t i = 0;
	int rc;

	if ((rc = read_array(measure, "cells", measured_fields, sizeof *e->measured, &e->measured,
	             &e->measured_count)) != FM_OK ||
	        (rc = fm_json_array(measure, "cells", &array)) != FM_OK)
		return rc;
	for (cell = fm_json_first(array); cell != NULL; cell = fm_json_next(cell), i++)
		if ((rc = read_strings(cell, "marks", &e->measured[i].marks,
		             &e->measured[i].mark_count)) != FM_OK)
			return rc;
	return FM_OK;
}

static int read_measure(const struct fm_json_node *root, struct fm_evidence *e)
{
	const struct fm_json_node *measure, *counter;
	int rc;

	if ((rc = read_object(root, "measure", measure_fields, e)) != FM_OK ||
	        (rc = fm_json_object(root, "measure", &measure)) != FM_OK ||
	        (rc = read_object(measure, "counter", counter_fields, e)) != FM_OK ||
	        (rc = fm_json_object(measure, "counter", &counter)) != FM_OK ||
	        (rc = read_strings(counter, "rejected", &e->counter.rejected,
	                 &e->counter.rejected_count)) != FM_OK ||
	        (rc = read_array(measure, "clock", freq_fields, sizeof *e->clocks, &e->clocks,
	                 &e->clock_count)) != FM_OK ||
	        (rc = read_array(measure, "host_checks", check_fields, sizeof *e->checks,
	                 &e->checks, &e->check_count)) != FM_OK ||
	        (rc = read_array(measure, "memory", memory_fields, sizeof *e->memory, &e->memory,
	                 &e->memory_count)) != FM_OK)
		return fm_wrap(rc, "measure");
	return fm_wrap(read_measured(measure, e), "measure");
}

/* Checked, not kept: nothing is computed from the libraries a candidate asked for. */
static int check_libraries(const struct fm_json_node *root)
{
	const struct fm_json_node *array, *e;
	int rc = fm_json_array(root, "libraries", &array);

	for (e = rc == FM_OK ? fm_json_first(array) : NULL; rc == FM_OK && e != NULL;
	        e = fm_json_next(e))
		rc = read_fields(e, library_fields, NULL);
	return rc;
}

static int read_document(const struct fm_json_node *root, struct fm_evidence *e)
{
	const char *schema;
	int rc;

	if ((rc = fm_json_str(root, "schema", &schema)) != FM_OK)
		return rc;
	if (strcmp(schema, "evidence/1") != 0)
		return fm_fail(FM_ERR_FORM,
		        "evidence.json: schema '%s', this program reads evidence/1", schema);
	if ((rc = read_fields(root, top_fields, e)) != FM_OK ||
	        (rc = read_object(root, "agent", agent_fields, e)) != FM_OK ||
	        (rc = read_object(root, "host", host_fields, e)) != FM_OK ||
	        (rc = read_object(root, "isolation", isolation_fields, e)) != FM_OK ||
	        (rc = read_object(root, "clock", clock_fields, e)) != FM_OK ||
	        (rc = check_libraries(root)) != FM_OK ||
	        (rc = read_array(root, "toolchain", tool_fields, sizeof *e->toolchain,
	                 &e->toolchain, &e->toolchain_count)) != FM_OK ||
	        (rc = read_array(root, "builds", build_fields, sizeof *e->builds, &e->builds,
	                 &e->build_count)) != FM_OK ||
	        (rc = read_array(root, "kat", kat_fields, sizeof *e->kat, &e->kat,
	                 &e->kat_count)) != FM_OK ||
	        (rc = read_array(root, "cells", cell_fields, sizeof *e->cells, &e->cells,
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

void fm_evidence_free(struct fm_evidence *e)
{
	size_t i;

	for (i = 0; i < e->measured_count; i++)
		free(e->measured[i].marks);
	free(e->measured);
	free(e->counter.rejected);
	free(e->toolchain);
	free(e->builds);
	free(e->kat);
	free(e->cells);
	free(e->memory);
	free(e->checks);
	free(e->clocks);
	fm_json_free(e->owner);
	memset(e, 0, sizeof *e);
}
