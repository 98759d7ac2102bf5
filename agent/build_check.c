/* build_check.c: looks at what a build made: the flags its objects record, the library's sections,
 * architecture, digest. */
#include "agent/build.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define OBJECT_MAX (256u << 20)

/* The flag record of an object, without the strings that name files (older gcc lists those, too).
 */
static int flag_record(const char *path, struct fm_buf *out, bool *there)
{
	struct fm_buf file = FM_BUF_INIT(OBJECT_MAX);
	const char *at, *end;
	size_t size;
	int rc = fm_fs_read(AT_FDCWD, path, OBJECT_MAX, &file);

	*there = false;
	if (rc == FM_OK)
		rc = fm_elf_section(file.data, file.len, ".GCC.command.line", &at, &size);
	if (rc == FM_OK && size > 0) {
		*there = true;
		for (end = at + size; rc == FM_OK && at < end;) {
			size_t len = strnlen(at, (size_t)(end - at));

			if (len > 0 && (at[0] == '-' || strncmp(at, "GNU ", 4) == 0) &&
			        strncmp(at, "-D", 2) != 0 && strncmp(at, "-I", 2) != 0)
				rc = fm_buf_printf(out, "%.*s\n", (int)len, at);
			at += len + 1;
		}
	}
	fm_buf_free(&file);
	return rc;
}

/* True for a source that the compiler only assembles. */
static bool assembler(const char *source)
{
	const char *dot = strrchr(source, '.');

	return dot != NULL && (strcmp(dot, ".s") == 0 || strcmp(dot, ".S") == 0);
}

/* Every line of some stands in all. */
static bool lines_within(const char *some, const char *all)
{
	while (*some != '\0') {
		size_t len = strcspn(some, "\n") + 1;
		const char *at = all;
		bool found = false;

		while (!found && *at != '\0') {
			size_t other = strcspn(at, "\n") + 1;

			found = other == len && memcmp(at, some, len) == 0;
			at += other;
		}
		if (!found)
			return false;
		some += len;
	}
	return true;
}

int fm_build_readback(const struct fm_build_task *tasks, size_t count, const struct fm_unit *u,
        char text[FM_HOST_TEXT])
{
	struct fm_buf probe = FM_BUF_INIT(1u << 20), record = FM_BUF_INIT(1u << 20);
	const char *base = NULL;
	bool there = false, mixed = false;
	int rc = FM_OK;

	text[0] = '\0';
	for (size_t i = 0; base == NULL && i < count; i++)
		if (tasks[i].unit == u)
			base = tasks[i].base;
	for (size_t i = 0; rc == FM_OK && i < count; i++)
		if (tasks[i].kind == FM_BUILD_PROBE && fm_streq(tasks[i].base, base))
			rc = flag_record(tasks[i].target, &probe, &there);
	if (rc != FM_OK || !there)
		goto out; /* a compiler that records nothing has nothing to be compared with */
	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		const struct fm_build_task *t = &tasks[i];

		if (t->unit != u || t->kind != FM_BUILD_COMPILE)
			continue;
		if (assembler(t->source)) {
			mixed = true;
			continue;
		}
		record.len = 0;
		rc = flag_record(t->target, &record, &there);
		if (rc == FM_OK && (!there || !fm_streq(record.data, probe.data))) {
			snprintf(text, FM_HOST_TEXT,
			        "%.100s was not compiled with the planned flags", t->source);
			goto out;
		}
	}
	record.len = 0;
	if (rc == FM_OK)
		rc = flag_record(u->library, &record, &there);
	if (rc == FM_OK && there && record.data != NULL && !mixed &&
	        !lines_within(record.data, probe.data))
		snprintf(text, FM_HOST_TEXT, "the library holds code of other flags");
out:
	fm_buf_free(&probe);
	fm_buf_free(&record);
	return rc;
}

int fm_build_weigh(struct fm_unit *u, char text[FM_HOST_TEXT])
{
	struct fm_buf file = FM_BUF_INIT(OBJECT_MAX);
	int rc = fm_fs_read(AT_FDCWD, u->library, OBJECT_MAX, &file);

	text[0] = '\0';
	if (rc == FM_OK)
		rc = fm_elf_read(file.data, file.len, &u->sizes);
	if (rc == FM_OK)
		fm_sha256_hex(file.data, file.len, u->library_sha256);
	if (rc == FM_OK && (u->sizes.machine != FM_ELF_MACHINE || u->sizes.type != ET_DYN))
		snprintf(text, FM_HOST_TEXT, "the library is for ELF machine %u, not " FM_ARCH,
		        u->sizes.machine);
	if (rc == FM_ERR_FORM || rc == FM_ERR_SIZE) {
		snprintf(text, FM_HOST_TEXT, "library: %.150s", fm_error_text());
		rc = FM_OK;
	}
	fm_buf_free(&file);
	return rc;
}

int fm_build_reach(const struct fm_build_task *t, int64_t *bytes)
{
	struct fm_buf file = FM_BUF_INIT(OBJECT_MAX);
	struct fm_elf e;
	int rc = FM_OK;

	*bytes = -1;
	if (t->good && (rc = fm_fs_read(AT_FDCWD, t->target, OBJECT_MAX, &file)) == FM_OK &&
	        (rc = fm_elf_read(file.data, file.len, &e)) == FM_OK)
		*bytes = (int64_t)(e.text + e.rodata + e.data + e.tls_init);
	fm_buf_free(&file);
	return rc == FM_ERR_FORM || rc == FM_ERR_SIZE ? FM_OK : rc;
}

/* Is this word one of the flags of /proc/cpuinfo? */
static bool cpu_has(const char *word)
{
	static char text[1u << 14];
	size_t len = strlen(word);

	if (fm_facts_text("/proc/cpuinfo", text, sizeof text) <= 0)
		return true; /* cannot be told: the gate will */
	for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
		if (at > text && (at[-1] == ' ' || at[-1] == '\t') &&
		        (at[len] == ' ' || at[len] == '\n'))
			return true;
	return false;
}

const char *fm_build_lacks(const char *flags)
{
#if defined(__x86_64__)
	static const char *const need[][2] = {{"-mavx2", "avx2"}, {"-mavx512f", "avx512f"},
	        {"-mavx", "avx"}, {"-maes", "aes"}, {"-msha", "sha_ni"}, {"-mbmi2", "bmi2"}};

	for (size_t i = 0; i < sizeof need / sizeof need[0]; i++) {
		const char *at = strstr(flags, need[i][0]);
		size_t len = strlen(need[i][0]);

		if (at != NULL && (at[len] == ' ' || at[len] == '\0') && !cpu_has(need[i][1]))
			return need[i][1];
	}
#else
	unsigned long hwcap = getauxval(AT_HWCAP);

	(void)cpu_has;
	if (strstr(flags, "+sve2") != NULL && (getauxval(AT_HWCAP2) & (1ul << 1)) == 0)
		return "sve2";
	if (strstr(flags, "+sve") != NULL && (hwcap & (1ul << 22)) == 0)
		return "sve";
#endif
	return NULL;
}
