/* adopt_write.c: the proposal: a recipe, the known answers, and what a person has to know and
 * decide. */
#include "orchestrator/adopt.h"
#include "protocol/fs.h"
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (8u << 20)
#define SHOWN    40 /* files of one kind in README.txt */

/* Bytes of the longest folder that has this path in it; *len is what it is so far, SIZE_MAX at
 * first. */
static void shorten(const char *path, const char *first, size_t *len)
{
	size_t n = 0;

	if (*len == SIZE_MAX)
		*len = strlen(first);
	while (n < *len && first[n] == path[n])
		n++;
	while (n > 0 && !(first[n] == '/' && path[n] == '/'))
		n--;
	*len = n;
}

/* The folder above everything that the instances need, as bytes of a->instance[0].header->path. */
static size_t root_of(const struct fm_adopt *a)
{
	const char *first = a->instance[0].header->path;
	size_t len = SIZE_MAX;

	for (size_t n = 0; n < a->instances; n++) {
		const struct fm_adopt_instance *i = &a->instance[n];

		shorten(i->header->path, first, &len);
		for (size_t s = 0; s < i->sources.count; s++)
			shorten(i->sources.word[s], first, &len);
		for (size_t s = 0; s < i->include.count; s++) /* the folder itself is below root */
			shorten(i->include.word[s], first, &len);
	}
	return len;
}

static int put_words(struct fm_buf *b, const char *key, const struct fm_words *w, size_t root)
{
	int rc = w->count > 0 ? fm_buf_printf(b, "%s =", key) : FM_OK;

	for (size_t n = 0; rc == FM_OK && n < w->count; n++)
		rc = fm_buf_printf(b, " %s", w->word[n] + root + (root > 0));
	return rc == FM_OK && w->count > 0 ? fm_buf_puts(b, "\n") : rc;
}

static int put_instance(struct fm_buf *b, const struct fm_adopt_instance *i, size_t root)
{
	const char *slash = strrchr(i->header->path, '/');
	int rc = fm_buf_printf(b, "\n[instance %s]\n", i->name);

	if (rc == FM_OK)
		rc = i->bits > 0 ? fm_buf_printf(b, "digest_bits = %d\n", i->bits)
		                 : fm_buf_puts(b, "; digest_bits = (not known)\n");
	if (rc == FM_OK)
		rc = fm_buf_printf(b, "digest = fixed\nheader = %s\n",
		        slash == NULL ? i->header->path : slash + 1);
	if (rc == FM_OK)
		rc = put_words(b, "sources", &i->sources, root);
	return rc == FM_OK ? put_words(b, "include", &i->include, root) : rc;
}

static int put_recipe(const struct fm_adopt *a, struct fm_buf *b)
{
	size_t root = root_of(a);
	int rc = fm_buf_printf(b,
	        "; Proposed by fleetmark adopt from the package alone; read README.txt beside it, "
	        "then check every line.\n\n"
	        "[candidate]\nid = %s\nname = %s\ncategory = hash\norigin = archive\n"
	        "; page = (where the submission is published)\n\n"
	        "[archive]\n; url = (https address of the package; without one: fleetmark fetch %s "
	        "--archive FILE)\nsha256 = %s\nbytes = %llu\n",
	        a->id, a->name, a->id, a->sha256, (unsigned long long)a->bytes);

	if (rc == FM_OK && root > 0)
		rc = fm_buf_printf(b, "root = %.*s\n", (int)root, a->instance[0].header->path);
	for (size_t n = 0; rc == FM_OK && n < a->instances; n++)
		rc = put_instance(b, &a->instance[n], root);
	return rc;
}

/* ---- known answers ---- */

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static int by_base(const void *x, const void *y)
{
	const struct fm_adopt_file *a = *(const struct fm_adopt_file *const *)x,
	                           *b = *(const struct fm_adopt_file *const *)y;
	int order = strcmp(base(a->path), base(b->path));

	return order != 0 ? order : strcmp(a->path, b->path);
}

/* One instance's usable KAT files by file name. Copies that agree count once; copies that differ
 * are left out and noted. */
static int put_kats(struct fm_adopt *a, const struct fm_adopt_instance *i, struct fm_buf *b)
{
	const struct fm_adopt_file **list = fm_alloc_array(a->count + 1, sizeof *list);
	size_t count = 0;
	int rc = list == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t n = 0; rc == FM_OK && n < a->count; n++)
		if (a->file[n].kind == FM_ADOPT_KAT && a->file[n].problem == NULL &&
		        strcmp(a->file[n].name, i->name) == 0)
			list[count++] = &a->file[n];
	if (count > 1)
		qsort(list, count, sizeof *list, by_base);
	for (size_t n = 0, next; rc == FM_OK && n < count; n = next) {
		bool same = true;

		for (next = n + 1;
		        next < count && strcmp(base(list[next]->path), base(list[n]->path)) == 0;
		        next++)
			same = same && strcmp(list[next]->sha256, list[n]->sha256) == 0;
		rc = same ? fm_buf_printf(b, "%s strict %s/%s\n", list[n]->sha256, i->name,
		                    base(list[n]->path))
		          : fm_adopt_note(a, "%s and another %s differ; neither is in kat.sha256",
		                    list[n]->path, base(list[n]->path));
	}
	free(list);
	return rc;
}

/* ---- README.txt ---- */

static int put_kind(const struct fm_adopt *a, enum fm_adopt_kind kind, struct fm_buf *b)
{
	size_t count = 0, shown = 0;
	int rc;

	for (size_t n = 0; n < a->count; n++)
		count += a->file[n].kind == kind;
	rc = fm_buf_printf(b, "\n%s: %zu\n", fm_adopt_title[kind], count);
	for (size_t n = 0; rc == FM_OK && kind != FM_ADOPT_OTHER && n < a->count; n++) {
		if (a->file[n].kind != kind)
			continue;
		if (shown++ == SHOWN) {
			rc = fm_buf_printf(b, "  ... and %zu more\n", count - SHOWN);
			break;
		}
		rc = fm_buf_printf(b, "  %s (%llu bytes)\n", a->file[n].path,
		        (unsigned long long)a->file[n].size);
	}
	return rc;
}

/* The notes as items of a list. */
static int put_notes(const struct fm_adopt *a, struct fm_buf *b)
{
	int rc = FM_OK;

	for (const char *line = a->notes.data; rc == FM_OK && line != NULL && *line != '\0';) {
		size_t len = strcspn(line, "\n");

		rc = fm_buf_printf(b, "- %.*s\n", (int)len, line);
		line += len + 1;
	}
	return rc;
}

static int put_readme(const struct fm_adopt *a, struct fm_buf *b)
{
	int rc = fm_buf_printf(b,
	        "What fleetmark adopt saw in %s (%llu bytes, SHA-256 %s).\n"
	        "Names are in safe spelling: +XX is the byte XX, so +20 is a space "
	        "(algos/README.md).\n\n"
	        "Not decided:\n",
	        a->name, (unsigned long long)a->bytes, a->sha256);

	if (rc == FM_OK)
		rc = put_notes(a, b);
	if (rc == FM_OK)
		rc = fm_buf_printf(b,
		        "- name, page and url of the submission: the package does not say them "
		        "reliably\n"
		        "- whether an instance takes any digest length (digest = any): fixed is "
		        "proposed\n"
		        "- the licence: read what is listed below; the proposal holds names and "
		        "digests "
		        "only\n\n"
		        "Then: copy algos/%s (and kat/%s) into the source tree, run\n"
		        "fleetmark fetch %s --archive FILE, then fleetmark run -c %s --profile "
		        "smoke.\n",
		        a->id, a->id, a->id, a->id);
	for (int kind = FM_ADOPT_API; rc == FM_OK && kind < FM_ADOPT_KINDS; kind++)
		rc = put_kind(a, (enum fm_adopt_kind)kind, b);
	if (rc == FM_OK)
		rc = put_kind(a, FM_ADOPT_SOURCE, b);
	if (rc == FM_OK)
		rc = put_kind(a, FM_ADOPT_HEADER, b);
	return rc == FM_OK ? put_kind(a, FM_ADOPT_OTHER, b) : rc;
}

static int write_text(int dirfd, const char *path, struct fm_buf *b)
{
	return path == NULL ? FM_ERR_MEMORY
	                    : fm_fs_write_deep(
	                              dirfd, path, b->data == NULL ? "" : b->data, b->len, 0644);
}

int fm_adopt_write(struct fm_adopt *a, int dirfd)
{
	struct fm_buf recipe = FM_BUF_INIT(TEXT_MAX), kat = FM_BUF_INIT(TEXT_MAX),
	              readme = FM_BUF_INIT(TEXT_MAX);
	char *ini = fm_sprintf("algos/%s/candidate.ini", a->id);
	char *answers = fm_sprintf("kat/%s/kat.sha256", a->id);
	int rc = a->instances > 0 ? put_recipe(a, &recipe) : FM_OK;

	for (size_t n = 0; rc == FM_OK && n < a->instances; n++)
		rc = put_kats(a, &a->instance[n], &kat);
	if (rc == FM_OK && a->instances > 0 && kat.len == 0)
		rc = fm_adopt_note(a, "no known answers: it would be measured but marked \"not "
		                      "validated\"");
	if (rc == FM_OK)
		rc = put_readme(a, &readme);
	if (rc == FM_OK && recipe.len > 0)
		rc = write_text(dirfd, ini, &recipe);
	if (rc == FM_OK && kat.len > 0)
		rc = write_text(dirfd, answers, &kat);
	if (rc == FM_OK)
		rc = write_text(dirfd, "README.txt", &readme);
	free(ini);
	free(answers);
	fm_buf_free(&recipe);
	fm_buf_free(&kat);
	fm_buf_free(&readme);
	return rc;
}
