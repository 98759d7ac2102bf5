/* elf.c: a strict reader of little-endian ELF64 headers; the file is foreign and every number in it
 * may be a lie. */
#include "agent/elf.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define MAX_SIZE ((uint64_t)1 << 40)

struct view {
	const unsigned char *bytes;
	size_t len;
	Elf64_Ehdr head;
	Elf64_Shdr names; /* the section of section names */
};

/* Copies size bytes at offset, if they are there. */
static bool fetch(const struct view *v, uint64_t offset, void *out, size_t size)
{
	if (offset > v->len || size > v->len - offset)
		return false;
	memcpy(out, v->bytes + offset, size);
	return true;
}

static bool section(const struct view *v, unsigned index, Elf64_Shdr *out)
{
	return index < v->head.e_shnum && v->head.e_shoff <= v->len &&
	       fetch(v, v->head.e_shoff + (uint64_t)index * sizeof *out, out, sizeof *out);
}

/* The section's name, NULL if it is not terminated inside the table. */
static const char *name_of(const struct view *v, const Elf64_Shdr *s)
{
	const char *at;

	if (v->names.sh_size == 0 || s->sh_name >= v->names.sh_size)
		return NULL;
	at = (const char *)v->bytes + v->names.sh_offset + s->sh_name;
	return memchr(at, '\0', v->names.sh_size - s->sh_name) == NULL ? NULL : at;
}

static int open_view(const void *bytes, size_t len, struct view *v)
{
	memset(v, 0, sizeof *v);
	v->bytes = bytes;
	v->len = len;
	if (!fetch(v, 0, &v->head, sizeof v->head) || memcmp(v->head.e_ident, ELFMAG, SELFMAG) != 0)
		return fm_fail(FM_ERR_FORM, "no ELF file");
	if (v->head.e_ident[EI_CLASS] != ELFCLASS64 || v->head.e_ident[EI_DATA] != ELFDATA2LSB ||
	        v->head.e_ident[EI_VERSION] != EV_CURRENT)
		return fm_fail(FM_ERR_FORM, "no little-endian 64-bit ELF file");
	if ((v->head.e_shnum != 0 && v->head.e_shentsize != sizeof(Elf64_Shdr)) ||
	        (v->head.e_phnum != 0 && v->head.e_phentsize != sizeof(Elf64_Phdr)))
		return fm_fail(FM_ERR_FORM, "ELF: header entries of an unknown size");
	if (v->head.e_shnum != 0) {
		if (!section(v, v->head.e_shstrndx, &v->names) || v->names.sh_type != SHT_STRTAB ||
		        v->names.sh_offset > len || v->names.sh_size > len - v->names.sh_offset)
			return fm_fail(FM_ERR_FORM, "ELF: section names lie outside the file");
	}
	return FM_OK;
}

static int add(uint64_t *sum, uint64_t size)
{
	if (size > MAX_SIZE || *sum > MAX_SIZE)
		return fm_fail(FM_ERR_FORM, "ELF: a size of more than 2^40 bytes");
	*sum += size;
	return FM_OK;
}

static int add_section(const struct view *v, const Elf64_Shdr *s, struct fm_elf *out)
{
	const char *name = name_of(v, s);
	int rc;

	if ((s->sh_flags & SHF_ALLOC) == 0)
		return FM_OK;
	if (s->sh_type != SHT_NOBITS &&
	        (s->sh_offset > v->len || s->sh_size > v->len - s->sh_offset))
		return fm_fail(FM_ERR_FORM, "ELF: section %s lies outside the file",
		        name == NULL ? "?" : name);
	if ((s->sh_flags & SHF_TLS) != 0) {
		rc = add(&out->tls, s->sh_size);
		return rc != FM_OK || s->sh_type == SHT_NOBITS ? rc
		                                               : add(&out->tls_init, s->sh_size);
	}
	if ((s->sh_flags & SHF_EXECINSTR) != 0)
		return add(&out->text, s->sh_size);
	if (s->sh_type == SHT_NOBITS)
		return add(&out->bss, s->sh_size);
	if ((s->sh_flags & SHF_WRITE) != 0)
		return add(&out->data, s->sh_size);
	if (name != NULL && strncmp(name, ".eh_frame", 9) == 0)
		return add(&out->unwind, s->sh_size);
	return add(&out->rodata, s->sh_size);
}

int fm_elf_read(const void *bytes, size_t len, struct fm_elf *out)
{
	struct view v;
	int rc = open_view(bytes, len, &v);

	memset(out, 0, sizeof *out);
	if (rc != FM_OK)
		return rc;
	out->machine = v.head.e_machine;
	out->type = v.head.e_type;
	for (unsigned i = 0; rc == FM_OK && i < v.head.e_phnum; i++) {
		Elf64_Phdr p;

		if (v.head.e_phoff > len ||
		        !fetch(&v, v.head.e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
			return fm_fail(FM_ERR_FORM, "ELF: program headers lie outside the file");
		if (p.p_type == PT_LOAD)
			rc = add(&out->load_memsz, p.p_memsz);
	}
	for (unsigned i = 0; rc == FM_OK && i < v.head.e_shnum; i++) {
		Elf64_Shdr s;

		if (!section(&v, i, &s))
			return fm_fail(FM_ERR_FORM, "ELF: section headers lie outside the file");
		rc = add_section(&v, &s, out);
	}
	return rc;
}

int fm_elf_section(const void *bytes, size_t len, const char *name, const char **at, size_t *size)
{
	struct view v;
	int rc = open_view(bytes, len, &v);

	*at = NULL;
	*size = 0;
	for (unsigned i = 0; rc == FM_OK && i < v.head.e_shnum; i++) {
		const char *own;
		Elf64_Shdr s;

		if (!section(&v, i, &s))
			return fm_fail(FM_ERR_FORM, "ELF: section headers lie outside the file");
		own = name_of(&v, &s);
		if (own == NULL || strcmp(own, name) != 0 || s.sh_type == SHT_NOBITS)
			continue;
		if (s.sh_offset > len || s.sh_size > len - s.sh_offset)
			return fm_fail(FM_ERR_FORM, "ELF: section %s lies outside the file", name);
		*at = (const char *)bytes + s.sh_offset;
		*size = (size_t)s.sh_size;
		break;
	}
	return rc;
}
