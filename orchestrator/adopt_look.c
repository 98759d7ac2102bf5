/* adopt_look.c: sorts the files of a package by what they are and reads those that say something.
 */
#include "orchestrator/adopt.h"
#include "orchestrator/archive.h"
#include "orchestrator/recipe_parts.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PIECE      (64u << 10)
#define SOURCE_MAX (4u << 20)   /* of one source that is read for its includes */
#define TEXTS_MAX  (256u << 20) /* of all of them */

const char *const fm_adopt_title[FM_ADOPT_KINDS] = {"other files", "sources", "headers",
        "API headers", "known-answer files", "licences and notices",
        "binaries (ignored, never run)", "build files and scripts (ignored, never run)",
        "packages inside the package (not looked into)"};

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static bool one_of(const char *word, const char *const *list, bool begins)
{
	for (; *list != NULL; list++)
		if (begins ? strncasecmp(word, *list, strlen(*list)) == 0
		           : strcasecmp(word, *list) == 0)
			return true;
	return false;
}

/* KAT_2_12_NAME.txt and its kin; name gets NAME. */
static bool kat_name(const char *file, char name[FM_NAME_MAX + 1])
{
	static const char *const tags[] = {"KAT_2_12_", "KAT_2_23_", "KAT_2_33_", "KAT_Loop_"};
	size_t len = strlen(file);

	for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
		size_t tag = strlen(tags[i]);

		if (strncmp(file, tags[i], tag) != 0 || len < tag + 5 ||
		        len > tag + 4 + FM_NAME_MAX || strcmp(file + len - 4, ".txt") != 0)
			continue;
		memcpy(name, file + tag, len - tag - 4);
		name[len - tag - 4] = '\0';
		return fm_name_ok(name);
	}
	return false;
}

static enum fm_adopt_kind kind_of(const char *path, char name[FM_NAME_MAX + 1])
{
	static const char *const binaries[] = {".o", ".a", ".so", ".dll", ".exe", ".lib", ".obj",
	        ".dylib", ".class", ".jar", ".pyc", ".bin", ".out", ".elf", ".ko", ".gch", NULL};
	static const char *const scripts[] = {".sh", ".bat", ".cmd", ".ps1", ".py", ".pl", ".mk",
	        ".cmake", ".sln", ".vcxproj", ".command", NULL};
	static const char *const builds[] = {"makefile", "cmakelists", "configure", "gnumakefile",
	        "meson.build", "justfile", NULL};
	static const char *const nested[] = {
	        ".zip", ".rar", ".7z", ".tar", ".gz", ".tgz", ".xz", ".bz2", ".zst", NULL};
	static const char *const licences[] = {
	        "license", "licence", "copying", "notice", "copyright", NULL};
	const char *file = base(path), *dot = strrchr(file, '.');
	const char *ending = dot == NULL ? "" : dot;

	if (kat_name(file, name))
		return FM_ADOPT_KAT;
	if (strcmp(ending, ".h") == 0)
		return strncmp(file, "CryptHash", 9) == 0 ? FM_ADOPT_API : FM_ADOPT_HEADER;
	if (strcmp(ending, ".hpp") == 0 || strcmp(ending, ".inc") == 0)
		return FM_ADOPT_HEADER;
	if (strcmp(ending, ".c") == 0 || strcmp(ending, ".cc") == 0 ||
	        strcmp(ending, ".cpp") == 0 || strcasecmp(ending, ".s") == 0)
		return FM_ADOPT_SOURCE;
	if (one_of(ending, binaries, false) || strstr(file, ".so.") != NULL)
		return FM_ADOPT_BINARY;
	if (one_of(ending, scripts, false) || one_of(file, builds, true))
		return FM_ADOPT_SCRIPT;
	if (one_of(ending, nested, false))
		return FM_ADOPT_NESTED;
	return one_of(file, licences, true) ? FM_ADOPT_LICENCE : FM_ADOPT_OTHER;
}

static int by_path(const void *key, const void *element)
{
	return strcmp(key, ((const struct fm_adopt_file *)element)->path);
}

const struct fm_adopt_file *fm_adopt_find(const struct fm_adopt *a, const char *path)
{
	return a->count == 0 ? NULL : bsearch(path, a->file, a->count, sizeof *a->file, by_path);
}

static int list_files(struct fm_adopt *a)
{
	if ((a->file = fm_alloc_array(a->all.count + 1, sizeof *a->file)) == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < a->all.count; i++) {
		struct fm_adopt_file *f = &a->file[a->count];

		if (a->all.file[i].folder)
			continue;
		f->path = a->all.file[i].name;
		f->size = a->all.file[i].size;
		f->kind = kind_of(f->path, f->name);
		a->count++;
	}
	return FM_OK;
}

/* ---- contents ---- */

static int read_text(struct fm_archive_reader *r, struct fm_adopt_file *f, uint64_t *texts)
{
	struct fm_buf text = FM_BUF_INIT(SOURCE_MAX + PIECE);
	size_t got = 1;
	int rc = FM_OK;

	if (f->size > SOURCE_MAX || (*texts += f->size) > TEXTS_MAX)
		return FM_OK; /* such a source is listed, not read */
	while (rc == FM_OK && got > 0) {
		char *room = fm_buf_room(&text, PIECE);

		rc = room == NULL ? fm_fail(FM_ERR_SOURCE, "%s: larger than it states", f->path)
		                  : fm_archive_piece(r, room, PIECE, &got);
		if (rc == FM_OK)
			text.len += got;
	}
	if (rc == FM_OK)
		rc = fm_buf_put(&text, "", 1);
	if (rc == FM_OK)
		rc = fm_adopt_read_source(text.data, f);
	fm_buf_free(&text);
	return rc;
}

static int read_kat(struct fm_archive_reader *r, struct fm_adopt_file *f)
{
	struct fm_adopt_kat k;
	char *piece = fm_alloc(PIECE);
	size_t got = 1;
	int rc = piece == NULL ? FM_ERR_MEMORY : FM_OK, ended;

	fm_adopt_kat_start(&k);
	while (rc == FM_OK && got > 0 && (rc = fm_archive_piece(r, piece, PIECE, &got)) == FM_OK)
		rc = fm_adopt_kat_add(&k, piece, got);
	ended = fm_adopt_kat_end(&k, f);
	if (rc == FM_ERR_SIZE) { /* a line without end is no KAT text */
		f->problem = "has a line of more than 1 MiB";
		rc = FM_OK;
	}
	free(piece);
	return rc != FM_OK ? rc : ended;
}

/* Programs without an ending show by their first bytes. */
static int look_for_magic(struct fm_archive_reader *r, struct fm_adopt_file *f)
{
	static const struct {
		const char *bytes;
		size_t len;
		enum fm_adopt_kind kind;
	} magic[] = {{"\177ELF", 4, FM_ADOPT_BINARY}, {"MZ", 2, FM_ADOPT_BINARY},
	        {"!<arch>\n", 8, FM_ADOPT_BINARY}, {"\xcf\xfa\xed\xfe", 4, FM_ADOPT_BINARY},
	        {"#!", 2, FM_ADOPT_SCRIPT}, {"PK\003\004", 4, FM_ADOPT_NESTED},
	        {"Rar!", 4, FM_ADOPT_NESTED}};
	char first[8];
	size_t got = 0;
	int rc = fm_archive_piece(r, first, sizeof first, &got);

	for (size_t i = 0; rc == FM_OK && i < sizeof magic / sizeof magic[0]; i++)
		if (got >= magic[i].len && memcmp(first, magic[i].bytes, magic[i].len) == 0)
			f->kind = magic[i].kind;
	return rc;
}

static int read_contents(int fd, const char *what, struct fm_adopt *a)
{
	struct fm_archive_reader *r = NULL;
	struct fm_archive_entry e;
	uint64_t texts = 0;
	int rc = fm_archive_open(&r, fd, what);

	while (rc == FM_OK && (rc = fm_archive_next(r, &e)) == FM_OK && e.name != NULL) {
		struct fm_adopt_file *f = NULL;
		char *safe = NULL;

		if (e.folder)
			continue;
		if ((rc = fm_package_name(what, e.name, &safe)) == FM_OK)
			f = (struct fm_adopt_file *)(uintptr_t)fm_adopt_find(a, safe);
		free(safe);
		if (f == NULL)
			continue;
		if (f->kind == FM_ADOPT_KAT)
			rc = read_kat(r, f);
		else if (f->kind == FM_ADOPT_SOURCE || f->kind == FM_ADOPT_HEADER ||
		         f->kind == FM_ADOPT_API)
			rc = read_text(r, f, &texts);
		else if (f->kind == FM_ADOPT_OTHER)
			rc = look_for_magic(r, f);
	}
	fm_archive_close(r);
	return rc;
}

int fm_adopt_look(int fd, const char *what, struct fm_adopt *a)
{
	int rc;

	a->notes = FM_BUF_INIT(1u << 20);
	rc = fm_package_scan(fd, what, &a->all);
	if (rc == FM_OK)
		rc = list_files(a);
	return rc == FM_OK ? read_contents(fd, what, a) : rc;
}

void fm_adopt_free(struct fm_adopt *a)
{
	for (size_t i = 0; i < a->count; i++)
		fm_words_free(&a->file[i].includes);
	for (size_t i = 0; i < a->instances; i++) {
		fm_words_free(&a->instance[i].sources);
		fm_words_free(&a->instance[i].include);
	}
	free(a->file);
	free(a->instance);
	fm_buf_free(&a->notes);
	fm_package_list_free(&a->all);
	memset(a, 0, sizeof *a);
}
