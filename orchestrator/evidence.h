/* evidence.h: evidence.json of one bundle as a struct (FORMATS.md section 4.2), read strictly. */
#ifndef FM_EVIDENCE_H
#define FM_EVIDENCE_H

#include "protocol/buf.h"
#include "protocol/path.h"

/* All strings point into memory owned by the struct; names repeat the fields of FORMATS.md. */
struct fm_ev_build {
	const char *instance, *version, *status, *reason, *flags, *flags_kind, *log,
	        *library_sha256;
	int64_t load_bytes, elapsed_ns;
};
struct fm_ev_kat {
	const char *instance, *version, *log, *status;
	int64_t passed, files, vectors, elapsed_ns;
	bool sound; /* soundness was looked at: properties is what was found, or nothing */
	const char **properties;
	size_t property_count;
};
struct fm_ev_cell {
	const char *instance, *version, *operation, *status, *klass, *reason, *text;
};
struct fm_ev_measured {
	const char *instance, *version, *operation, *stop, *library_sha256, *message_sha256,
	        *digest_sha256;
	int64_t bytes, planned, accepted, replaced, invalid, calls, t1_ns;
	const char **marks;
	size_t mark_count;
};
struct fm_ev_memory { /* -1: absent */
	const char *instance, *version;
	int64_t bytes, text_bytes, rodata_bytes, unwind_bytes, data_bytes, bss_bytes, tls_bytes,
	        rom_bytes, static_ram_bytes, pt_load_memsz_bytes, io_buffers_bytes,
	        rss_baseline_process_kib, rss_peak_process_kib, stack_touched_bytes,
	        heap_peak_requested_bytes, heap_peak_usable_bytes, allocs_per_call,
	        leak_bytes_per_call, rom_reachable_bytes, isolated_ram_upper_bytes,
	        unaccounted_mapping_bytes;
	const char *isolated_ram_upper_bytes_why; /* why a part was not weighed, NULL */
};
struct fm_ev_check {
	const char *check, *severity, *state, *value, *source;
};
struct fm_ev_clock {
	int64_t nominal_khz, measured_hz, iqr_ppm, drift_ppm, tick_hz;
};
struct fm_ev_tool {
	const char *name, *path, *version, *package, *sha256;
};

struct fm_evidence {
	const char *campaign, *system, *candidate, *nonce, *plan_sha256, *job_nonce, *source_sha256,
	        *test_world;
	int64_t attempt;
	struct {
		const char *version, *libsodium, *source_sha256, *sha256, *worker_sha256;
	} agent;
	struct {
		const char *arch, *cpu_model, *microcode, *os, *kernel, *emulator, *machine_tag;
		int64_t memory_kib, logical_cpus, virtual_machine, epoch;
	} host;
	struct {
		const char *mode;
		int64_t no_new_privs, landlock, seccomp;
	} isolation;
	struct {
		const char *profile, *order_seed, *core_type;
		int64_t cpu, tuned;
	} measure;
	struct {
		const char *label, *source, *scope, *pmu;
		int64_t hz, resolution, read_pair_milli, truth_permille;
		const char **rejected;
		size_t rejected_count;
	} counter;
	struct {
		const char *started_at, *finished_at;
		int64_t elapsed_ns;
	} clock;
	struct fm_ev_tool *toolchain;
	size_t toolchain_count;
	struct fm_ev_build *builds;
	size_t build_count;
	struct fm_ev_kat *kat;
	size_t kat_count;
	struct fm_ev_cell *cells;
	size_t cell_count;
	struct fm_ev_measured *measured;
	size_t measured_count;
	struct fm_ev_memory *memory;
	size_t memory_count;
	struct fm_ev_check *checks;
	size_t check_count;
	struct fm_ev_clock *clocks;
	size_t clock_count;
	void *owner; /* the document behind the strings */
};

/* Reads dirfd/evidence.json. FM_ERR_FORM naming the field. */
FM_CHECK int fm_evidence_read(int dirfd, struct fm_evidence *out);
void fm_evidence_free(struct fm_evidence *e);

/* Class [a-z-] and reason [a-z0-9_] are words of 1 to 23 bytes: what cells and dispatches say that
 * were not measured, here and in tree.json. */
bool fm_reason_ok(const char *klass, const char *reason);

#endif
