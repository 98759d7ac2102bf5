/* faketree.h: a small tree of results made with the program's own writers, for tests of what is
 * derived from one: two systems (x86_1 counts core cycles, arm_1 is emulated and has ticks), one
 * candidate of two instances and the baseline, three sizes. */
#ifndef FAKETREE_H
#define FAKETREE_H

#include "orchestrator/plan.h"
#include "orchestrator/samples.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/jsonw.h"
#include "protocol/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(call)                                                  \
	do {                                                        \
		if ((call) != FM_OK)                                \
			fail_msg("%s: %s", #call, fm_error_text()); \
	} while (0)

static const unsigned fake_sizes[] = {32, 1024, 65536};
static const char fake_hex[] = "01ba4719c80b6fe911b091a7c05124b64eeece964e09c058ef8f9805daca546b";

struct fake {
	int dirfd;
	struct fm_identity *controller, *host[2];
	struct fm_plan plan;
	char plan_sha256[65];
	int processes;     /* of a cell */
	const char *about; /* of x86_1; host text that must stay text */
	bool smoke;
	bool ticks;   /* x86_1 has no core cycles, but ticks of a clock that runs at half their rate
	               */
	int permille; /* cost of a call of Toy-512 on x86_1, above that of the others */
	bool real;    /* arm_1 is no emulator */
	bool bare;    /* x86_1 has no counter at all */
	bool single;  /* cells of 32 bytes have one process */
	bool twin; /* Toy-1024 is a second Toy-512 on x86_1: as wide, and as dear unless permille */
	bool mixed;  /* the candidates of x86_1 ran on cores of two types */
	bool leak;   /* Toy-512 keeps bytes + 200 of every call */
	int fixed;   /* Toy-1024 costs 5 cycles a byte as the others, and so much a call */
	int clocks;  /* checks of the core clock, 0: one */
	int iqr_ppm; /* of the last of them, 0: 2000 */
};

/* Processes of a cell. */
static int fake_processes(const struct fake *f, unsigned bytes)
{
	return f->single && bytes == 32 ? 1 : f->processes;
}

static void fake_instance(struct fm_candidate *c, const char *name, int bits, bool kat)
{
	struct fm_instance *i = fm_grow(&c->instances, &c->count, sizeof *i);
	snprintf(i->name, sizeof i->name, "%s", name);
	snprintf(i->kat, sizeof i->kat, "%s", name);
	i->digest_bits = bits;
	i->header = fm_strdup("CryptHash_AlgorithmInstance.h");
	i->version[0].exists = i->version[0].own = true;
	i->version[0].sources.word = fm_alloc_array(1, sizeof(char *));
	i->version[0].sources.word[0] = fm_strdup("hash.c");
	i->version[0].sources.count = 1;
	memcpy(i->vectors_sha256, fake_hex, 65);
	i->vectors = 0;
	if (!kat)
		return;
	for (int k = 0; k < 2; k++) {
		struct fm_kat_line *l = fm_grow(&i->kat_lines, &i->kat_count, sizeof *l);
		memcpy(l->sha256, fake_hex, 65);
		snprintf(l->mode, sizeof l->mode, "strict");
		l->file = fm_sprintf("KAT_2_%s_%s.txt", k == 0 ? "12" : "23", name);
	}
}

static void fake_candidate(struct fm_candidates *all, const char *id, const char *name, bool twin)
{
	struct fm_candidate *c = fm_grow(&all->list, &all->count, sizeof *c);
	snprintf(c->id, sizeof c->id, "%s", id);
	c->name = fm_strdup(name);
	c->category = fm_strdup("hash");
	c->page = fm_strdup("https://example.org/submission.html");
	c->origin = fm_strdup("own");
	c->archive_url = fm_strdup("");
	c->archive_root = fm_strdup("");
	memcpy(c->tree_sha256, fake_hex, 65);
	c->sources = FM_BUF_INIT(1000);
	MUST(fm_buf_printf(&c->sources, "%s  hash.c\n", fake_hex));
	fm_sha256_hex(c->sources.data, c->sources.len, c->source_sha256);
	c->vectors = FM_BUF_INIT(1000);
	bool kat = strcmp(id, "iccs") != 0;
	if (kat) {
		fake_instance(c, "Toy-512", 512, true);
		fake_instance(c, "Toy-1024", twin ? 512 : 1024, true);
	} else {
		fake_instance(c, "pseudoXOF-512", 512, false);
	}
}

static int fake_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void fake_plan(struct fake *f)
{
	struct fm_plan *p = &f->plan;
	static const char *const arch[] = {"x86_64", "aarch64"}, *const name[] = {"x86_1", "arm_1"};
	int fd;

	snprintf(p->campaign, sizeof p->campaign, "toy");
	memcpy(p->nonce, fake_hex, 65);
	snprintf(p->issued_at, sizeof p->issued_at, "2026-01-02T03:04:05Z");
	snprintf(p->expires_at, sizeof p->expires_at, "2026-04-02T03:04:05Z");
	snprintf(p->profile, sizeof p->profile, f->smoke ? "smoke" : "guide");
	snprintf(p->kat, sizeof p->kat, "standard");
	memcpy(p->agent_source_sha256, fake_hex, 65);
	p->publish = !f->smoke;
	MUST(fm_flags_load(FM_TEST_ROOT, &p->flags));
	p->systems = fm_alloc_array(2, sizeof *p->systems);
	p->system_count = 2;
	for (int s = 0; s < 2; s++) {
		snprintf(p->systems[s].name, sizeof p->systems[s].name, "%s", name[s]);
		snprintf(p->systems[s].arch, sizeof p->systems[s].arch, "%s", arch[s]);
		p->systems[s].key = *fm_identity_public(f->host[s]);
		p->systems[s].cpu = -1;
		p->systems[s].about = fm_strdup(s == 0 ? f->about : "");
	}
	fake_candidate(&p->candidates, "hash-99", "Toy <Hash> | `Family`", f->twin);
	fake_candidate(&p->candidates, "iccs", "ICCS helper functions", false);
	for (int s = 0; s < 2; s++)
		for (size_t c = 0; c < p->candidates.count; c++)
			for (size_t i = 0; i < p->candidates.list[c].count; i++)
				for (size_t k = 0; k < 3; k++) {
					char **cell =
					        fm_grow(&p->cells, &p->cell_count, sizeof *cell);
					*cell = fm_sprintf("%s/%s/%s/reference/hash_%u", name[s],
					        p->candidates.list[c].id,
					        p->candidates.list[c].instances[i].name,
					        fake_sizes[k]);
				}
	qsort(p->cells, p->cell_count, sizeof *p->cells, fake_bytes);
	MUST(fm_fs_mkdirs(f->dirfd, "plan", 0755, &fd));
	MUST(fm_plan_write(p, fd, f->controller));
	MUST(fm_fs_sha256(fd, "MANIFEST.sha256", f->plan_sha256, NULL));
	close(fd);
}

/* Cells of Toy-1024 at 64 KiB fail on arm_1; one process of Toy-512 at 1024 B on x86_1 is far
 * slower, another was preempted. */
static bool fake_fails(int system, const char *instance, unsigned bytes)
{
	return system == 1 && strcmp(instance, "Toy-1024") == 0 && bytes == 65536;
}

static void fake_file(int fd, const char *path, struct fm_buf *b)
{
	MUST(fm_fs_write_deep(fd, path, b->data, b->len, 0644));
	fm_buf_free(b);
}

static void fake_samples(
        const struct fake *f, int fd, int system, const char *instance, unsigned bytes)
{
	struct fm_buf process = FM_BUF_INIT(65536), calls = process, ns = process, count = process,
	              events = process, tsv = process;
	char stem[128], path[200];
	int windows = 4;
	/* cost per call in cycles: 5 a byte and 1,000; the clock runs at 2 GHz, ticks at 1 GHz */
	long cycles = 1000 + (long)bytes * (strcmp(instance, "Toy-1024") == 0 ? 9 : 5);
	bool counts = system == 0 && !f->ticks && !f->bare;

	if (f->twin)
		cycles = 1000 + (long)bytes * 5;
	if (f->fixed > 0 && strcmp(instance, "Toy-1024") == 0)
		cycles = f->fixed + (long)bytes * 5;
	if (system == 0 && strcmp(instance, "Toy-512") == 0)
		cycles += cycles * f->permille / 1000;

	snprintf(stem, sizeof stem, "%s__reference__hash_%u", instance, bytes);
	for (int c = 0; c < FM_PROC_COLUMNS; c++)
		MUST(fm_buf_printf(
		        &tsv, "%s%s", fm_proc_name[c], c + 1 < FM_PROC_COLUMNS ? "\t" : "\n"));
	bool odd = system == 0 && strcmp(instance, "Toy-512") == 0 && bytes == 1024;
	for (int p = 1; p <= fake_processes(f, bytes) + odd; p++) {
		long each = cycles * (1000 + p) / 1000 * (odd && p == 2 ? 2 : 1);
		bool replaced = odd && p == 3;
		for (int w = 0; w < windows; w++) {
			MUST(fm_buf_printf(&process, "%d\n", p));
			MUST(fm_buf_printf(&calls, "%d\n", 100 + w));
			MUST(fm_buf_printf(&ns, "%ld\n", each * (100 + w) / 2));
			MUST(fm_buf_printf(
			        &count, "%ld\n", counts ? each * (100 + w) : each * (100 + w) / 2));
			MUST(fm_buf_printf(&events, "%d\n", replaced ? 2 : 0));
		}
		for (int c = 0; c < FM_PROC_COLUMNS; c++) {
			long v = c == FM_PROC_PROCESS           ? p
			         : c == FM_PROC_ATTEMPT         ? 1
			         : c == FM_PROC_ROUND           ? p
			         : c == FM_PROC_STATE           ? (replaced ? 1 : 0)
			         : c == FM_PROC_REPLACED_BY     ? (replaced ? 4 : -1)
			         : c == FM_PROC_REASON          ? (replaced ? 1 : 0)
			         : c == FM_PROC_CPU             ? 2
			         : c == FM_PROC_STARTED_NS      ? p * 1000000000L
			         : c == FM_PROC_WALL_NS         ? 900000000L
			         : c == FM_PROC_WINDOWS         ? windows
			         : c == FM_PROC_READ_PAIR_MILLI ? 30000
			         : c == FM_PROC_FRAME_MILLI     ? 8000
			                                        : -1;
			MUST(fm_buf_printf(
			        &tsv, "%ld%s", v, c + 1 < FM_PROC_COLUMNS ? "\t" : "\n"));
		}
	}
	struct {
		const char *column;
		struct fm_buf *b;
	} files[] = {{"process", &process}, {"calls", &calls}, {"ns", &ns},
	        {counts ? "core_cycles" : "ref_ticks", &count}, {"events", &events}};
	for (size_t i = 0; i < 5; i++) {
		if (f->bare && system == 0 && files[i].b == &count) {
			fm_buf_free(&count);
			continue;
		}
		snprintf(path, sizeof path, "samples/%s.%s.txt", stem, files[i].column);
		fake_file(fd, path, files[i].b);
	}
	snprintf(path, sizeof path, "env/%s.process.tsv", stem);
	fake_file(fd, path, &tsv);
}

static void fake_builds(struct fm_jsonw *w, const struct fm_candidate *c)
{
	char log[200];

	fm_jsonw_array(w, "builds");
	for (size_t i = 0; i < c->count; i++) {
		fm_jsonw_object(w, NULL);
		fm_jsonw_int(w, "elapsed_ns", 5);
		fm_jsonw_str(w, "flags", "-O2 -fPIC");
		fm_jsonw_str(w, "flags_kind", "guide");
		fm_jsonw_str(w, "instance", c->instances[i].name);
		fm_jsonw_str(w, "library_sha256", fake_hex);
		fm_jsonw_int(w, "load_bytes", 11676);
		snprintf(log, sizeof log, "build/%s__reference.log", c->instances[i].name);
		fm_jsonw_str(w, "log", log);
		fm_jsonw_str(w, "reason", "");
		fm_jsonw_str(w, "status", "ok");
		fm_jsonw_str(w, "version", "reference");
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

static void fake_cells(struct fm_jsonw *w, const struct fake *f, int system,
        const struct fm_candidate *c, bool measured)
{
	fm_jsonw_array(w, "cells");
	for (size_t n = 0; n < f->plan.cell_count; n++) {
		struct fm_cell cell;
		MUST(fm_cell_parse(f->plan.cells[n], &cell));
		bool fails = fake_fails(system, cell.instance, cell.bytes);
		if (strcmp(cell.system, f->plan.systems[system].name) != 0 ||
		        strcmp(cell.candidate, c->id) != 0 || (measured && fails))
			continue;
		fm_jsonw_object(w, NULL);
		if (measured) {
			bool odd = system == 0 && strcmp(cell.instance, "Toy-512") == 0 &&
			           cell.bytes == 1024;
			fm_jsonw_int(w, "accepted", fake_processes(f, cell.bytes));
			fm_jsonw_int(w, "bytes", cell.bytes);
			fm_jsonw_int(w, "calls", 406LL * fake_processes(f, cell.bytes));
			fm_jsonw_str(w, "digest_sha256", fake_hex);
			fm_jsonw_str(w, "instance", cell.instance);
			fm_jsonw_int(w, "invalid", 0);
			fm_jsonw_str(w, "library_sha256", fake_hex);
			fm_jsonw_array(w, "marks");
			if (odd)
				fm_jsonw_str(w, NULL, "preempted");
			fm_jsonw_close(w);
			fm_jsonw_str(w, "message_sha256", fake_hex);
			fm_jsonw_str(w, "operation", cell.operation);
			fm_jsonw_int(w, "planned", fake_processes(f, cell.bytes));
			fm_jsonw_int(w, "replaced", odd);
			fm_jsonw_str(w, "stop", "fixed");
			fm_jsonw_int(w, "t1_ns", 1000);
		} else {
			fm_jsonw_str(w, "class", fails ? "measure" : "");
			fm_jsonw_str(w, "instance", cell.instance);
			fm_jsonw_str(w, "operation", cell.operation);
			fm_jsonw_str(w, "reason", fails ? "failed" : "");
			fm_jsonw_str(w, "status", fails ? "failed" : "measured");
			fm_jsonw_str(
			        w, "text", fails ? "three processes in a row were invalid" : "");
		}
		fm_jsonw_str(w, "version", "reference");
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
}

static void fake_memory(
        struct fm_jsonw *w, const struct fake *f, int system, const struct fm_candidate *c)
{
	fm_jsonw_array(w, "memory");
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < 3; k++) {
			if (fake_fails(system, c->instances[i].name, fake_sizes[k]))
				continue;
			fm_jsonw_object(w, NULL);
			fm_jsonw_int(w, "bss_bytes", 16);
			fm_jsonw_int(w, "bytes", fake_sizes[k]);
			fm_jsonw_int(w, "data_bytes", 8);
			fm_jsonw_str(w, "instance", c->instances[i].name);
			fm_jsonw_int(w, "io_buffers_bytes", fake_sizes[k] + 64);
			if (f->leak && strcmp(c->instances[i].name, "Toy-512") == 0)
				fm_jsonw_int(w, "leak_bytes_per_call", fake_sizes[k] + 200);
			fm_jsonw_int(w, "pt_load_memsz_bytes", 11676);
			fm_jsonw_int(w, "rodata_bytes", 700);
			fm_jsonw_int(w, "rom_bytes", 5700);
			fm_jsonw_int(w, "rss_baseline_process_kib", 1400);
			fm_jsonw_int(w, "rss_peak_process_kib", 1464);
			fm_jsonw_int(w, "static_ram_bytes", 24);
			fm_jsonw_int(w, "text_bytes", 5000);
			fm_jsonw_int(w, "tls_bytes", 0);
			fm_jsonw_int(w, "unwind_bytes", 100);
			fm_jsonw_str(w, "version", "reference");
			fm_jsonw_close(w);
		}
	fm_jsonw_close(w);
	(void)f;
}

static void fake_measure(
        struct fm_jsonw *w, const struct fake *f, int system, const struct fm_candidate *c)
{
	fm_jsonw_object(w, "measure");
	fake_cells(w, f, system, c, true);
	fm_jsonw_array(w, "clock");
	for (int i = f->clocks > 0 ? f->clocks : 1; i > 0; i--) {
		fm_jsonw_object(w, NULL);
		fm_jsonw_int(w, "drift_ppm", 100);
		fm_jsonw_int(w, "iqr_ppm", i == 1 && f->iqr_ppm > 0 ? f->iqr_ppm : 2000);
		fm_jsonw_int(w, "measured_hz", 1998000000);
		fm_jsonw_int(w, "nominal_khz", 2000000);
		fm_jsonw_int(w, "tick_hz", 1000000000);
		fm_jsonw_close(w);
	}
	fm_jsonw_close(w);
	fm_jsonw_str(w, "core_type",
	        !f->mixed || system == 1     ? "unknown"
	        : strcmp(c->id, "iccs") == 0 ? "cpu_core"
	                                     : "cpu_atom");
	fm_jsonw_object(w, "counter");
	bool bare = system == 0 && f->bare, counts = system == 0 && !f->ticks && !bare;
	fm_jsonw_int(w, "hz", counts || bare ? 0 : 1000000000);
	fm_jsonw_str(w, "label", bare ? "ns" : counts ? "core_cycles" : "ref_ticks");
	fm_jsonw_str(w, "pmu", counts ? "cpu" : "none");
	fm_jsonw_int(w, "read_pair_milli", 30000);
	fm_jsonw_array(w, "rejected");
	if (system == 1)
		fm_jsonw_str(w, NULL, "perf_user: ENOSYS, no perf in this kernel (or emulated)");
	else if (!counts)
		fm_jsonw_str(w, NULL, "perf_rdpmc: no PMU on this CPU (ENOENT)");
	fm_jsonw_close(w);
	fm_jsonw_int(w, "resolution", 1);
	fm_jsonw_str(w, "scope",
	        system == 1 && !f->real  ? "emulated"
	        : system == 1 || f->bare ? "wall"
	                                 : "user");
	fm_jsonw_str(w, "source",
	        bare          ? "clock"
	        : counts      ? "perf_rdpmc"
	        : system == 0 ? "tsc"
	                      : "cntvct");
	fm_jsonw_int(w, "truth_permille", counts ? 1000 : -1);
	fm_jsonw_close(w);
	fm_jsonw_int(w, "cpu", 2);
	fm_jsonw_array(w, "host_checks");
	fm_jsonw_object(w, NULL);
	fm_jsonw_str(w, "check", "governor");
	fm_jsonw_str(w, "severity", "mark");
	fm_jsonw_str(w, "source", "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor");
	fm_jsonw_str(w, "state", system == 0 ? "ok" : "unknown");
	fm_jsonw_str(w, "value", system == 0 ? "performance, 2000000 to 2000000 kHz" : "unknown");
	fm_jsonw_close(w);
	fm_jsonw_close(w);
	fake_memory(w, f, system, c);
	fm_jsonw_str(w, "order_seed", "0123456789abcdef");
	fm_jsonw_str(w, "profile", f->plan.profile);
	fm_jsonw_int(w, "tuned", 0);
	fm_jsonw_close(w);
}

static void fake_kat(struct fm_jsonw *w, int fd, const struct fm_candidate *c)
{
	char path[200];

	fm_jsonw_array(w, "kat");
	for (size_t i = 0; i < c->count; i++) {
		const struct fm_instance *in = &c->instances[i];
		struct fm_buf log = FM_BUF_INIT(65536);
		snprintf(path, sizeof path, "kat/%s__reference.log", in->name);
		fm_jsonw_object(w, NULL);
		fm_jsonw_int(w, "elapsed_ns", 5);
		fm_jsonw_int(w, "files", in->kat_count > 0 ? 4 : 0);
		fm_jsonw_str(w, "instance", in->name);
		fm_jsonw_str(w, "log", path);
		fm_jsonw_int(w, "passed", (long long)in->kat_count);
		if (strcmp(in->name, "Toy-512") == 0) {
			fm_jsonw_array(w, "properties");
			fm_jsonw_str(w, NULL, "heap: <b>17 bytes</b> | stay");
			fm_jsonw_close(w);
		}
		fm_jsonw_str(w, "status", "PASS");
		fm_jsonw_int(w, "vectors", in->kat_count > 0 ? 0 : 7);
		fm_jsonw_str(w, "version", "reference");
		fm_jsonw_close(w);
		for (size_t k = 0; k < in->kat_count; k++)
			MUST(fm_buf_printf(&log, "manifest %s strict %s\n", in->kat_lines[k].sha256,
			        in->kat_lines[k].file));
		MUST(fm_buf_printf(&log, "RESULT %s %s PASS \n", c->id, in->name));
		fake_file(fd, path, &log);
	}
	fm_jsonw_close(w);
}

static void fake_evidence(const struct fake *f, int fd, int system, const struct fm_candidate *c)
{
	struct fm_buf out = FM_BUF_INIT(4u << 20);
	struct fm_jsonw w;

	fm_jsonw_start(&w, &out);
	fm_jsonw_object(&w, "agent");
	fm_jsonw_str(&w, "libsodium", "1.0.18 shared");
	fm_jsonw_str(&w, "sha256", fake_hex);
	fm_jsonw_str(&w, "source_sha256", fake_hex);
	fm_jsonw_str(&w, "version", "0.1.0");
	fm_jsonw_str(&w, "worker_sha256", fake_hex);
	fm_jsonw_close(&w);
	fm_jsonw_int(&w, "attempt", 1);
	fake_builds(&w, c);
	fm_jsonw_str(&w, "campaign", "toy");
	fm_jsonw_str(&w, "candidate", c->id);
	fake_cells(&w, f, system, c, false);
	fm_jsonw_object(&w, "clock");
	fm_jsonw_int(&w, "elapsed_ns", 60000000000);
	fm_jsonw_str(&w, "finished_at", "2026-01-02T04:01:00Z");
	fm_jsonw_str(&w, "started_at", "2026-01-02T04:00:00Z");
	fm_jsonw_close(&w);
	fm_jsonw_object(&w, "host");
	fm_jsonw_str(&w, "arch", f->plan.systems[system].arch);
	fm_jsonw_str(
	        &w, "cpu_model", system == 0 ? "Toy <b>CPU</b> | `x` \\e[31m" : "Emulated Core");
	fm_jsonw_str(&w, "emulator", system == 0 || f->real ? "" : "qemu-user");
	fm_jsonw_int(&w, "epoch", 1);
	fm_jsonw_str(&w, "kernel", "6.1.0");
	fm_jsonw_int(&w, "logical_cpus", 4);
	fm_jsonw_str(&w, "machine_tag", fake_hex);
	fm_jsonw_int(&w, "memory_kib", 8000000);
	fm_jsonw_str(&w, "microcode", "0x1");
	fm_jsonw_str(&w, "os", "Toy Linux 12");
	fm_jsonw_int(&w, "virtual", 0);
	fm_jsonw_close(&w);
	fm_jsonw_object(&w, "isolation");
	fm_jsonw_int(&w, "landlock", 3);
	fm_jsonw_str(&w, "mode", "one-user");
	fm_jsonw_int(&w, "no_new_privs", 1);
	fm_jsonw_int(&w, "seccomp", 1);
	fm_jsonw_close(&w);
	fm_jsonw_str(&w, "job_nonce", fake_hex);
	fake_kat(&w, fd, c);
	fm_jsonw_array(&w, "libraries");
	fm_jsonw_close(&w);
	fake_measure(&w, f, system, c);
	fm_jsonw_str(&w, "nonce", fake_hex);
	fm_jsonw_str(&w, "plan_sha256", f->plan_sha256);
	fm_jsonw_str(&w, "schema", "evidence/1");
	fm_jsonw_str(&w, "source_sha256", c->source_sha256);
	fm_jsonw_str(&w, "system", f->plan.systems[system].name);
	fm_jsonw_array(&w, "toolchain");
	fm_jsonw_object(&w, NULL);
	fm_jsonw_str(&w, "name", "cc");
	fm_jsonw_str(&w, "package", "gcc-12");
	fm_jsonw_str(&w, "path", "/usr/bin/gcc");
	fm_jsonw_str(&w, "sha256", fake_hex);
	fm_jsonw_str(&w, "version", "gcc (Toy 12) 12.2.0");
	fm_jsonw_close(&w);
	fm_jsonw_close(&w);
	MUST(fm_jsonw_end(&w));
	fake_file(fd, "evidence.json", &out);
}

static void fake_bundle(const struct fake *f, int system, const struct fm_candidate *c)
{
	char path[200];
	int fd;

	snprintf(path, sizeof path, "bundles/%s/%s", f->plan.systems[system].name, c->id);
	MUST(fm_fs_mkdirs(f->dirfd, path, 0755, &fd));
	fake_evidence(f, fd, system, c);
	for (size_t i = 0; i < c->count; i++) {
		snprintf(path, sizeof path, "build/%s__reference.log", c->instances[i].name);
		MUST(fm_fs_write_deep(fd, path, "ok\n", 3, 0644));
		for (size_t k = 0; k < 3; k++)
			if (!fake_fails(system, c->instances[i].name, fake_sizes[k]))
				fake_samples(f, fd, system, c->instances[i].name, fake_sizes[k]);
	}
	MUST(fm_fs_write_deep(fd, "build/SOURCES.sha256", c->sources.data, c->sources.len, 0644));
	MUST(fm_seal(fd, FM_SEAL_BUNDLE, f->host[system], NULL));
	close(fd);
}

static void fake_tree_json(const struct fake *f)
{
	struct fm_buf out = FM_BUF_INIT(4u << 20);
	struct fm_jsonw w;

	fm_jsonw_start(&w, &out);
	fm_jsonw_str(&w, "campaign", "toy");
	fm_jsonw_array(&w, "cells");
	for (size_t n = 0; n < f->plan.cell_count; n++) {
		struct fm_cell cell;
		MUST(fm_cell_parse(f->plan.cells[n], &cell));
		bool fails =
		        fake_fails(strcmp(cell.system, "arm_1") == 0, cell.instance, cell.bytes);
		fm_jsonw_object(&w, NULL);
		fm_jsonw_str(&w, "cell", f->plan.cells[n]);
		fm_jsonw_str(&w, "class", fails ? "measure" : "");
		fm_jsonw_str(&w, "reason", fails ? "failed" : "");
		fm_jsonw_str(&w, "status", fails ? "failed" : "accepted");
		fm_jsonw_str(&w, "text", fails ? "three processes in a row were invalid" : "");
		fm_jsonw_close(&w);
	}
	fm_jsonw_close(&w);
	fm_jsonw_array(&w, "jobs");
	for (int s = 1; s >= 0; s--)
		for (size_t c = 0; c < f->plan.candidates.count; c++) {
			fm_jsonw_object(&w, NULL);
			fm_jsonw_int(&w, "attempt", 1);
			fm_jsonw_str(&w, "candidate", f->plan.candidates.list[c].id);
			fm_jsonw_str(&w, "class", "");
			fm_jsonw_str(&w, "host_key", "local");
			fm_jsonw_str(&w, "issued_at", "2026-01-02T03:59:00Z");
			fm_jsonw_str(&w, "job_nonce", fake_hex);
			fm_jsonw_str(&w, "manifest_sha256", fake_hex);
			fm_jsonw_str(&w, "reason", "");
			fm_jsonw_str(&w, "received_at", "2026-01-02T04:02:00Z");
			fm_jsonw_str(&w, "status", "accepted");
			fm_jsonw_str(&w, "system", f->plan.systems[s].name);
			fm_jsonw_str(&w, "text", "");
			fm_jsonw_close(&w);
		}
	fm_jsonw_close(&w);
	fm_jsonw_str(&w, "plan_sha256", f->plan_sha256);
	fm_jsonw_str(&w, "previous_tree_sha256", "");
	fm_jsonw_int(&w, "publish", f->plan.publish);
	fm_jsonw_str(&w, "schema", "tree/1");
	fm_jsonw_str(&w, "sealed_at", "2026-01-02T04:03:00Z");
	fm_jsonw_int(&w, "sequence", 1);
	fm_jsonw_int(&w, "trust_version", 1);
	MUST(fm_jsonw_end(&w));
	fake_file(f->dirfd, "tree.json", &out);
}

/* Everything but trust/ and the tree's own seal, in the empty folder dirfd; how holds processes,
 * about and the other wishes. */
static void fake_tree_as(struct fake *f, int dirfd, const struct fake *how)
{
	unsigned char seed[32] = {0};

	*f = *how;
	f->dirfd = dirfd;
	MUST(fm_crypto_init());
	MUST(fm_identity_from_seed(seed, &f->controller));
	for (int s = 0; s < 2; s++) {
		seed[0] = (unsigned char)(s + 1);
		MUST(fm_identity_from_seed(seed, &f->host[s]));
	}
	fake_plan(f);
	for (int s = 0; s < 2; s++)
		for (size_t c = 0; c < f->plan.candidates.count; c++)
			fake_bundle(f, s, &f->plan.candidates.list[c]);
	fake_tree_json(f);
}

static inline void fake_tree(
        struct fake *f, int dirfd, int processes, bool smoke, const char *about)
{
	const struct fake how = {.processes = processes, .smoke = smoke, .about = about};

	fake_tree_as(f, dirfd, &how);
}

static void fake_free(struct fake *f)
{
	fm_plan_free(&f->plan);
	fm_identity_free(f->controller);
	fm_identity_free(f->host[0]);
	fm_identity_free(f->host[1]);
}

#endif
