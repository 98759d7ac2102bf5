/* facts.h: what this machine is, read from /proc, /sys and the program itself. */
#ifndef FM_AGENT_FACTS_H
#define FM_AGENT_FACTS_H

#include "agent/agent.h"

struct fm_host_facts {
	char agent_sha256[65], worker_sha256[65], machine[65], boot[65];
	char libsodium[FM_HOST_TEXT], libsodium_link[8]; /* "shared" or "static" */
	char cpu_model[FM_HOST_TEXT], microcode[FM_HOST_TEXT], os[FM_HOST_TEXT],
	        kernel[FM_HOST_TEXT];
	char compiler[FM_HOST_TEXT], emulator[32]; /* emulator "none" if there is none */
	int64_t memory_kib, free_kib;
	int logical_cpus, virtual_machine, cpu_last;
	const char *missing[8];
	size_t missing_count;
};

/* Everything that can be read; what cannot is "unknown", 0 or -1. Runs gcc once for its version. */
FM_CHECK int fm_facts_read(const struct fm_agent *a, struct fm_host_facts *out);

/* The start of a file of /proc or /sys as text: at most size - 1 bytes, terminated. Returns its
 * length, -1 if it cannot be read. */
int fm_facts_text(const char *path, char *out, size_t size);

/* The same, first line only, cleaned. Returns false (out "unknown") if there is none. */
bool fm_facts_line(const char *path, char out[FM_HOST_TEXT]);

/* The value behind "key :" in /proc/cpuinfo or "key:" in similar files, first occurrence. */
bool fm_facts_key(const char *path, const char *key, char out[FM_HOST_TEXT]);

/* Digest of the boot-id. */
void fm_facts_boot(char hex[65]);

/* A machine emulated as a whole, where it can be told: TCG's CPUID signature, QEMU's own MIDR, its
 * machine "virt" without KVM. "qemu-tcg", else "none". */
void fm_facts_machine_emulator(char out[32]);

/* The last CPU this process may use; logical CPUs online. */
int fm_facts_cpu_last(void);
int fm_facts_cpus(void);

#endif
