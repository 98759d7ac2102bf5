/* package_pick.c: which files of a package a recipe wants, and what its short forms stand for. */
#include "orchestrator/package.h"
#include "orchestrator/recipe_parts.h"
#include <stdlib.h>
#include <string.h>

#define NEAR       500 /* bytes of "what is there instead" */
#define WANTED_MAX 4000

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static bool ends_in(const char *path, const char *const *endings)
{
	size_t len = strlen(path);

	for (; *endings != NULL; endings++) {
		size_t tail = strlen(*endings);

		if (len > tail && strcmp(path + len - tail, *endings) == 0)
			return true;
	}
	return false;
}

bool fm_package_source(const char *path)
{
	static const char *const sources[] = {".c", ".cpp", ".cc", ".S", NULL};
	static const char *const drivers[] = {"KAT_", "main", "test", "bench", "speed", "drng."};
	const char *name = base(path);

	for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
		if (strncmp(name, drivers[i], strlen(drivers[i])) == 0)
			return false;
	return ends_in(name, sources);
}

static bool is_header(const char *path)
{
	static const char *const headers[] = {".h", ".hpp", ".hh", ".inc", NULL};

	return ends_in(path, headers);
}

/* Is path directly in this folder ("" or ".": the root)? */
static bool directly_in(const char *path, const char *folder, size_t len)
{
	if (len == 0 || (len == 1 && folder[0] == '.'))
		return strchr(path, '/') == NULL;
	return strncmp(path, folder, len) == 0 && path[len] == '/' &&
	       strchr(path + len + 1, '/') == NULL;
}

static int add(struct fm_words *w, const char *word, size_t len)
{
	char **slot;

	for (size_t i = 0; i < w->count; i++)
		if (strlen(w->word[i]) == len && memcmp(w->word[i], word, len) == 0)
			return FM_OK;
	if (w->count >= WANTED_MAX)
		return fm_fail(FM_ERR_CONFIG, "more than %d files are wanted", WANTED_MAX);
	if ((slot = fm_grow(&w->word, &w->count, sizeof *slot)) == NULL ||
	        (*slot = fm_sprintf("%.*s", (int)len, word)) == NULL)
		return FM_ERR_MEMORY;
	return FM_OK;
}

struct picking {
	const struct fm_words *files;
	const struct fm_instance *i;
	bool folders; /* include: what is looked for are folders */
};

static int not_there(const struct picking *p, const char *word, const char *why)
{
	char near[NEAR];

	fm_recipe_near(
	        p->files, strncmp(word, ".../", 4) == 0 ? word + 4 : word, near, sizeof near);
	return fm_fail(FM_ERR_CONFIG, "[instance %s]: %s '%s' %s; there is: %s", p->i->name,
	        p->folders ? "include folder" : "source", word, why, near);
}

/* `FOLDER/` */
static int pick_folder(const struct picking *p, const char *word, struct fm_words *out)
{
	size_t before = out->count, len = strlen(word) - 1;
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < p->files->count; i++) {
		const char *path = p->files->word[i];

		if (directly_in(path, word, len) && fm_package_source(path))
			rc = add(out, path, strlen(path));
	}
	return rc == FM_OK && out->count == before ? not_there(p, word, "holds no sources") : rc;
}

/* The length of the part of path that ends in tail, at a full name; 0 if none. */
static size_t matches(const char *path, const char *tail, bool folders)
{
	size_t len = strlen(tail);

	for (const char *at = path; at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		if (strncmp(at, tail, len) == 0 && at[len] == (folders ? '/' : '\0'))
			return (size_t)(at - path) + len;
	}
	return 0;
}

/* `.../NAME` */
static int pick_anywhere(const struct picking *p, const char *word, struct fm_words *out)
{
	struct fm_words found = {NULL, 0};
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < p->files->count; i++) {
		size_t len = matches(p->files->word[i], word + 4, p->folders);

		if (len > 0)
			rc = add(&found, p->files->word[i], len);
	}
	if (rc == FM_OK && found.count == 0)
		rc = not_there(p, word, "is not there");
	if (rc == FM_OK && found.count > 1)
		rc = fm_fail(FM_ERR_CONFIG,
		        "[instance %s]: '%s' can be %s or %s; write which in full", p->i->name,
		        word, found.word[0], found.word[1]);
	if (rc == FM_OK)
		rc = add(out, found.word[0], strlen(found.word[0]));
	fm_words_free(&found);
	return rc;
}

static int pick_plain(const struct picking *p, const char *word, struct fm_words *out)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < p->files->count; i++) {
		const char *path = p->files->word[i];

		if (p->folders ? strncmp(path, word, len) == 0 && path[len] == '/'
		               : strcmp(path, word) == 0)
			return add(out, word, len);
	}
	return not_there(p, word, "is not there");
}

static int pick_words(const struct picking *p, struct fm_words *words)
{
	struct fm_words out = {NULL, 0};
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < words->count; i++) {
		const char *word = words->word[i];

		if (strncmp(word, ".../", 4) == 0)
			rc = pick_anywhere(p, word, &out);
		else if (!p->folders && word[strlen(word) - 1] == '/')
			rc = pick_folder(p, word, &out);
		else
			rc = pick_plain(p, word, &out);
	}
	if (rc == FM_OK) {
		struct fm_words before = *words;

		*words = out;
		out = before;
	}
	fm_words_free(&out);
	return rc;
}

int fm_package_pick(const struct fm_words *files, struct fm_candidate *c)
{
	int rc = FM_OK;

	for (size_t n = 0; rc == FM_OK && n < c->count; n++) {
		struct fm_instance *i = &c->instances[n];
		struct picking p = {files, i, false};

		for (int v = 0; rc == FM_OK && v < FM_VERSIONS; v++)
			rc = pick_words(&p, &i->version[v].sources);
		p.folders = true;
		if (rc == FM_OK)
			rc = pick_words(&p, &i->include);
	}
	return rc;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_headers(
        const struct fm_words *files, const char *folder, size_t len, struct fm_words *out)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < files->count; i++) {
		const char *path = files->word[i];

		if (directly_in(path, folder, len) && is_header(path) && fm_path_ok(path))
			rc = add(out, path, strlen(path));
	}
	return rc;
}

int fm_package_wanted(
        const struct fm_words *files, const struct fm_candidate *c, struct fm_words *out)
{
	struct fm_words folders = {NULL, 0};
	int rc = FM_OK;

	memset(out, 0, sizeof *out);
	for (size_t n = 0; rc == FM_OK && n < c->count; n++) {
		const struct fm_instance *i = &c->instances[n];

		for (int v = 0; v < FM_VERSIONS; v++)
			for (size_t s = 0; rc == FM_OK && s < i->version[v].sources.count; s++) {
				const char *path = i->version[v].sources.word[s];
				const char *name = base(path);

				rc = add(out, path, strlen(path));
				if (rc == FM_OK)
					rc = add(&folders, path,
					        name == path ? 0 : (size_t)(name - path) - 1);
			}
		for (size_t s = 0; rc == FM_OK && s < i->include.count; s++)
			rc = add(&folders, i->include.word[s], strlen(i->include.word[s]));
	}
	for (size_t f = 0; rc == FM_OK && f < folders.count; f++)
		rc = add_headers(files, folders.word[f], strlen(folders.word[f]), out);
	for (size_t i = 0; rc == FM_OK && i < out->count; i++)
		if (!fm_path_ok(out->word[i]))
			rc = fm_fail(
			        FM_ERR_CONFIG, "'%.200s': longer than a path may be", out->word[i]);
	if (rc == FM_OK)
		qsort(out->word, out->count, sizeof *out->word, by_text);
	fm_words_free(&folders);
	if (rc != FM_OK)
		fm_words_free(out);
	return rc;
}
