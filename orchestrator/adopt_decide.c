/* adopt_decide.c: which instances a package holds and what they are made of; what it does not show
 * becomes a note. */
#include "orchestrator/adopt.h"
#include "orchestrator/recipe_parts.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 4000

int fm_adopt_word(struct fm_words *w, const char *word, size_t len)
{
	char **slot;

	for (size_t i = 0; i < w->count; i++)
		if (strlen(w->word[i]) == len && memcmp(w->word[i], word, len) == 0)
			return FM_OK;
	if (w->count >= WORDS_MAX)
		return fm_fail(FM_ERR_SOURCE, "more than %d files belong together", WORDS_MAX);
	if ((slot = fm_grow(&w->word, &w->count, sizeof *slot)) == NULL ||
	        (*slot = fm_sprintf("%.*s", (int)len, word)) == NULL)
		return FM_ERR_MEMORY;
	return FM_OK;
}

/* A note stands once, and after a MiB of them no more are taken. */
int fm_adopt_note(struct fm_adopt *a, const char *format, ...)
{
	char line[1200];
	va_list ap;
	int rc;

	va_start(ap, format);
	vsnprintf(line, sizeof line - 1, format, ap);
	va_end(ap);
	memcpy(line + strlen(line), "\n", 2);
	if (a->notes.data != NULL && strstr(a->notes.data, line) != NULL)
		return FM_OK;
	rc = fm_buf_puts(&a->notes, line);
	return rc == FM_ERR_SIZE ? FM_OK : rc;
}

static size_t folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path);
}

/* How likely a folder is the one the published pages measured: the higher, the more. */
static int score(const char *path)
{
	static const struct {
		const char *part;
		int points;
	} signs[] = {{"Reference", 8}, {"reference", 8}, {"Optimi", -4}, {"optimi", -4},
	        {"Additional", -4}, {"ARM", -1}, {"arm", -1}};
	int points = 0;

	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		points += strstr(path, signs[i].part) != NULL ? signs[i].points : 0;
	return points;
}

/* The instance's name: the macro, else the folder's. False if neither can be one. */
static bool name_of(const struct fm_adopt_file *header, char name[FM_NAME_MAX + 1])
{
	size_t len = folder_len(header->path), from = len;

	memcpy(name, header->name, sizeof header->name);
	if (name[0] != '\0')
		return true;
	while (from > 0 && header->path[from - 1] != '/')
		from--;
	if (len - from > FM_NAME_MAX)
		return false;
	snprintf(name, FM_NAME_MAX + 1, "%.*s", (int)(len - from), header->path + from);
	return fm_name_ok(name);
}

/* Two folders say they are one instance: the likelier one is taken, the other one noted. */
static int take_better(
        struct fm_adopt *a, struct fm_adopt_instance *i, const struct fm_adopt_file *header)
{
	int before = score(i->header->path), now = score(header->path);
	const struct fm_adopt_file *other = header;

	if (now > before) {
		other = i->header;
		i->header = header;
	}
	return fm_adopt_note(a, "%s is in the package more than once: %s is taken%s, not %s",
	        i->name, i->header->path,
	        now == before ? " (nothing tells them apart but their order)" : "", other->path);
}

static int add_instance(struct fm_adopt *a, const struct fm_adopt_file *header)
{
	struct fm_adopt_instance *slot;
	char name[FM_NAME_MAX + 1];

	if (!name_of(header, name))
		return fm_adopt_note(a,
		        "%s: has no ALGORITHM_INSTANCE that can be a name; left out", header->path);
	for (size_t n = 0; n < a->instances; n++)
		if (strcmp(a->instance[n].name, name) == 0)
			return take_better(a, &a->instance[n], header);
	if ((slot = fm_grow(&a->instance, &a->instances, sizeof *slot)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(slot->name, name, sizeof name);
	slot->header = header;
	return FM_OK;
}

/* Digest bits from header and known answers. */
static int decide_bits(struct fm_adopt *a, struct fm_adopt_instance *i)
{
	i->bits = i->header->bits;
	for (size_t n = 0; n < a->count; n++) {
		const struct fm_adopt_file *f = &a->file[n];

		if (f->kind != FM_ADOPT_KAT || f->bits == 0 || strcmp(f->name, i->name) != 0)
			continue;
		if (i->bits == 0)
			i->bits = f->bits;
		if (i->bits != f->bits)
			return fm_adopt_note(a,
			        "%s: its header says %d digest bits, %s says %d; the "
			        "header's stand in the proposal",
			        i->name, i->bits, f->path, f->bits);
	}
	if (i->bits == 0)
		return fm_adopt_note(a,
		        "%s: neither header nor KAT file tells the digest bits; fill in "
		        "digest_bits",
		        i->name);
	return FM_OK;
}

static int add_sources(struct fm_adopt *a, struct fm_adopt_instance *i)
{
	size_t len = folder_len(i->header->path);
	int rc = FM_OK;

	for (size_t n = 0; rc == FM_OK && n < a->count; n++) {
		const char *path = a->file[n].path;

		if (folder_len(path) == len && strncmp(path, i->header->path, len) == 0 &&
		        fm_package_source(path))
			rc = fm_adopt_word(&i->sources, path, strlen(path));
	}
	if (rc == FM_OK && i->sources.count == 0)
		rc = fm_adopt_note(
		        a, "%s: no sources beside %s; fill in sources", i->name, i->header->path);
	return rc;
}

/* KAT files that belong to no instance, are none, or contradict each other. */
static int check_kats(struct fm_adopt *a)
{
	int rc = FM_OK;

	for (size_t n = 0; rc == FM_OK && n < a->count; n++) {
		const struct fm_adopt_file *f = &a->file[n];
		bool owned = false;

		if (f->kind != FM_ADOPT_KAT)
			continue;
		for (size_t k = 0; k < a->instances; k++)
			owned |= strcmp(a->instance[k].name, f->name) == 0;
		if (f->problem != NULL)
			rc = fm_adopt_note(
			        a, "%s %s; it is not in kat.sha256", f->path, f->problem);
		else if (!owned)
			rc = fm_adopt_note(a,
			        "%s: no instance is called %s; it is not in kat.sha256", f->path,
			        f->name);
	}
	return rc;
}

static int by_name(const void *x, const void *y)
{
	return strcmp(((const struct fm_adopt_instance *)x)->name,
	        ((const struct fm_adopt_instance *)y)->name);
}

int fm_adopt_decide(struct fm_adopt *a)
{
	int rc = FM_OK;

	for (size_t n = 0; rc == FM_OK && n < a->count; n++)
		if (a->file[n].kind == FM_ADOPT_API)
			rc = add_instance(a, &a->file[n]);
	if (rc == FM_OK && a->instances == 0)
		rc = fm_adopt_note(a,
		        "no header CryptHash*.h: no hash of the ICCS interface was found, "
		        "so no candidate.ini is proposed");
	if (a->instances > 1)
		qsort(a->instance, a->instances, sizeof *a->instance, by_name);
	for (size_t n = 0; rc == FM_OK && n < a->instances; n++) {
		if ((rc = decide_bits(a, &a->instance[n])) == FM_OK &&
		        (rc = add_sources(a, &a->instance[n])) == FM_OK)
			rc = fm_adopt_follow(a, &a->instance[n]);
	}
	return rc == FM_OK ? check_kats(a) : rc;
}
