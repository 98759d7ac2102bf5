/* fuzz_elf.c: however an ELF file lies, its sums do not overflow, and sections lie inside it. */
#include "agent/elf.h"
#include "tests/fuzz/fuzz.h"

#define CAP (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {".text", ".comment", ".note.gnu.build-id", ""};
	struct fm_elf elf;
	const char *at;
	size_t len;

	if (size > CAP)
		return 0;
	if (fm_elf_read(data, size, &elf) == FM_OK) {
		const uint64_t sums[] = {elf.text, elf.rodata, elf.unwind, elf.data, elf.bss,
		        elf.tls, elf.tls_init, elf.load_memsz};

		for (size_t i = 0; i < sizeof sums / sizeof sums[0]; i++)
			must(sums[i] <= (uint64_t)2 << 40);
		/* what is not zeroed memory lies in the file */
		must(elf.rodata + elf.unwind + elf.data + elf.tls_init <=
		        (uint64_t)size * (size / 64 + 1));
	}
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (fm_elf_section(data, size, names[i], &at, &len) == FM_OK && at != NULL)
			must((const uint8_t *)at >= data && len <= size &&
			        (size_t)((const uint8_t *)at - data) <= size - len);
	return 0;
}
