/* elf.h: reads sizes and sections of a 64-bit ELF file that may lie. */
#ifndef FM_AGENT_ELF_H
#define FM_AGENT_ELF_H

#include "protocol/error.h"
#include <stddef.h>
#include <stdint.h>

/* Bytes by section flags (what the pages call static memory) and by PT_LOAD. */
struct fm_elf {
	uint64_t text, rodata, unwind, data, bss, tls, tls_init, load_memsz;
	unsigned machine, type; /* e_machine, e_type */
};

/* Every offset and size is checked against len; sums that overflow are refused. FM_ERR_FORM with
 * what is wrong. */
FM_CHECK int fm_elf_read(const void *bytes, size_t len, struct fm_elf *out);

/* The bytes of the first section of that name inside the file; *size 0 and FM_OK if there is none.
 */
FM_CHECK int fm_elf_section(
        const void *bytes, size_t len, const char *name, const char **at, size_t *size);

#endif
