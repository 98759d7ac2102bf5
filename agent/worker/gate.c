/* gate.c: the task kat: runs the references of an order one by one and tells what agreed. */
#include "agent/worker/kat.h"

#include "agent/worker/clock.h"
#include "agent/worker/confine.h"
#include "agent/worker/crash.h"
#include "agent/worker/drng.h"
#include "agent/worker/host.h"
#include "agent/worker/result.h"
#include "agent/worker/selftest.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {
        [FM_KAT_OVERFLOW] = "OVERFLOW",
        [FM_KAT_CRYPTOFAIL] = "CRYPTOFAIL",
        [FM_KAT_MISMATCH] = "MISMATCH",
        [FM_KAT_LOADFAIL] = "LOADFAIL",
        [FM_KAT_NOKAT] = "NOKAT",
        [FM_KAT_PASS] = "PASS",
};

/* What the references came to. */
struct verdict {
	enum fm_kat_status worst;
	uint64_t files, run, vectors;
	char reason[800];
};

static void worsen(struct verdict *v, enum fm_kat_status status, const char *reason)
{
	if (status == FM_KAT_PASS || status >= v->worst)
		return;
	v->worst = status;
	snprintf(v->reason, sizeof v->reason, "%s", reason);
}

_Noreturn static void decide(const struct fm_order *o, const struct verdict *v)
{
	/* A library that writes results of its own does not know it without looking for it. */
	if (o->token[0] != '\0')
		fm_result_fact("token", "%s", o->token);
	fm_result_number("kat_files", (int64_t)v->files);
	fm_result_number("kat_run", (int64_t)v->run);
	fm_result_number("kat_vectors", (int64_t)v->vectors);
	if (v->reason[0] != '\0')
		fm_result_fact("kat_reason", "%s", v->reason);
	fm_result_number("elapsed_ns", (int64_t)fm_clock_elapsed());
	fm_result_status(names[v->worst]);
	fm_result_ok();
}

/* The verdict of one that could not be computed, or differs. */
static void tell_bad(
        struct verdict *v, const char *file, enum fm_kat_status status, const char *words)
{
	fm_result_log("differs %s: %s", file, words);
	worsen(v, status, words);
}

/* Seconds that this file may take. */
static unsigned limit_of(const struct fm_order *o, const char *tag)
{
	for (size_t i = 0; i < o->limit_count; i++)
		if (strcmp(o->limits[i].tag, tag) == 0)
			return o->limits[i].seconds;
	return o->seconds;
}

static void run_file(struct fm_kat *k, const struct fm_order *o, const struct fm_order_kat *want,
        const char *tag, struct verdict *v)
{
	char hex[65], words[400], name[160];
	uint64_t bytes, start = fm_clock_ns();
	enum fm_kat_status status;

	snprintf(name, sizeof name, "%s_%s.txt", tag, o->kat_name);
	fm_result_file(name);
	fm_crash_limit(limit_of(o, tag));
	status = fm_kat_generate(k, tag, hex, &bytes);
	fm_crash_limit(0);
	v->run++;
	fm_result_log("timing  %s %.3f s", tag, (double)(fm_clock_ns() - start) * 1e-9);
	if (status != FM_KAT_PASS) {
		tell_bad(v, name, status, fm_error_text());
		return;
	}
	fm_result_log("wrote  %s (%" PRIu64 " bytes)", name, bytes);
	if (want == NULL) {
		fm_result_log("generated %s strict %s", hex, name);
	} else if (strcmp(hex, want->hex) == 0) {
		fm_result_log("manifest %s strict %s", hex, name);
		v->files++;
	} else {
		snprintf(words, sizeof words,
		        "canonical SHA-256 %s, the reference has %s; only the whole file has a "
		        "reference, so the "
		        "record is not known from it",
		        hex, want->hex);
		tell_bad(v, name, FM_KAT_MISMATCH, words);
	}
}

static void run_vectors(struct fm_kat *k, const struct fm_order *o, const struct fm_order_kat *want,
        struct verdict *v)
{
	char hex[65], first[300], words[400];
	uint64_t lines, agreed, start = fm_clock_ns();
	enum fm_kat_status status;

	fm_result_file(want->file);
	fm_crash_limit(o->seconds);
	status = fm_kat_vectors(k, hex, &lines, &agreed, first, sizeof first);
	fm_crash_limit(0);
	v->vectors += agreed;
	fm_result_log("timing  vectors %.3f s", (double)(fm_clock_ns() - start) * 1e-9);
	if (status != FM_KAT_PASS) {
		tell_bad(v, want->file, status, fm_error_text());
	} else if (lines != want->vectors || (agreed == lines && strcmp(hex, want->hex) != 0)) {
		snprintf(words, sizeof words,
		        "%" PRIu64 " lines with SHA-256 %s, ordered were %" PRIu64 " with %s",
		        lines, hex, want->vectors, want->hex);
		tell_bad(v, want->file, FM_KAT_LOADFAIL, words);
	} else if (agreed != lines) {
		tell_bad(v, want->file, FM_KAT_MISMATCH, first);
	} else {
		fm_result_log("manifest %s vectors:%" PRIu64 " %s", hex, lines, want->file);
	}
}

/* "KAT_2_12_<kat_name>.txt" gives the tag; false for any other name. */
static bool tag_of(const struct fm_order *o, const char *file, char tag[9])
{
	char name[160];

	memset(tag, 0, 9);
	memcpy(tag, file, strnlen(file, 8));
	snprintf(name, sizeof name, "%s_%s.txt", tag, o->kat_name);
	return strlen(tag) == 8 && strcmp(name, file) == 0;
}

/* The long files of a library that has failed already say nothing new. */
static bool worth(const struct verdict *v, const char *tag, const char *file)
{
	bool whole = v->worst == FM_KAT_PASS || strcmp(tag, "KAT_2_12") == 0 ||
	             strcmp(tag, "KAT_2_23") == 0;

	if (!whole)
		fm_result_log("skipped  %s", file);
	return whole;
}

static void run_all(struct fm_kat *k, const struct fm_order *o, struct verdict *v)
{
	static const char *const always[] = {"KAT_2_12", "KAT_2_23"};
	char tag[9], words[200];

	for (size_t i = 0; i < o->kat_count && v->worst > FM_KAT_OVERFLOW; i++) {
		const struct fm_order_kat *want = &o->kat[i];

		if (want->vectors > 0) {
			run_vectors(k, o, want, v);
		} else if (tag_of(o, want->file, tag)) {
			if (worth(v, tag, want->file))
				run_file(k, o, want, tag, v);
		} else {
			snprintf(words, sizeof words, "%s is no file of %s", want->file,
			        o->kat_name);
			tell_bad(v, want->file, FM_KAT_LOADFAIL, words);
		}
	}
	for (size_t i = 0; i < o->generate_count && v->worst > FM_KAT_OVERFLOW; i++)
		if (tag_of(o, o->generate[i], tag) && worth(v, tag, o->generate[i]))
			run_file(k, o, NULL, tag, v);
	if (o->kat_count > 0)
		return;
	for (size_t i = 0; i < 2 && o->generate_count == 0; i++)
		run_file(k, o, NULL, always[i], v);
	worsen(v, FM_KAT_NOKAT, "no reference digest: files were generated, nothing was compared");
}

/* Everything that needs a path, before the sandbox closes them. "" or the reason word of the end
 * line. */
static const char *prepare(struct fm_kat *k, const struct fm_order *o)
{
	bool big = false;
	int cpu;

	for (size_t i = 0; i < o->kat_count; i++)
		big |= strncmp(o->kat[i].file, "KAT_2_33_", 9) == 0;
	for (size_t i = 0; i < o->generate_count; i++)
		big |= strncmp(o->generate[i], "KAT_2_33_", 9) == 0;
	if (fm_host_pin(o->cpu, &cpu) != FM_OK)
		return "pin";
	fm_result_number("cpu", cpu);
	if (fm_drng_selftest() != FM_OK)
		return "drng";
	k->digest_bits = o->digest_bits;
	k->instance = o->instance;
	if (fm_buffer_open(&k->digest, (o->digest_bits + 7) / 8, FM_BUFFER_FLUSH) != FM_OK ||
	        fm_buffer_open(&k->message, (size_t)1 << 20, 0) != FM_OK)
		return "memory";
	if (o->vectors_file != NULL && (k->vectors = fopen(o->vectors_file, "re")) == NULL) {
		fm_fail_errno("opening %s", o->vectors_file);
		return "system";
	}
	if (big && fm_selftest_map_message(o->message_file, &k->message_2_33) != FM_OK)
		return "memory";
	return "";
}

void fm_kat_run(const struct fm_order *o)
{
	struct fm_kat k = {0};
	struct verdict v = {.worst = FM_KAT_PASS};
	struct fm_library library;
	struct fm_confine confine;
	const char *reason = prepare(&k, o);

	if (reason[0] != '\0')
		fm_result_fail(reason);
	if (fm_library_open(&library, o->library, o->library_sha256) != FM_OK)
		fm_result_fail("library");
	if (fm_crash_install(1) != FM_OK ||
	        fm_confine_memory(k.message_2_33 != NULL ? FM_CONFINE_MEMORY_2_33
	                                                 : FM_CONFINE_MEMORY) != FM_OK ||
	        fm_confine_enter(&confine, library.fd) != FM_OK)
		fm_result_fail("system");
	fm_confine_tell(&confine);
	fm_crash_limit(o->seconds);
	if (fm_library_load(&library) != FM_OK) {
		fm_result_log("differs library: %s", fm_error_text());
		worsen(&v, FM_KAT_LOADFAIL, fm_error_text());
		decide(o, &v);
	}
	if (fm_confine_close_files(&confine) != FM_OK)
		fm_result_fail("system");
	k.hash = library.hash;
	run_all(&k, o, &v);
	decide(o, &v);
}
