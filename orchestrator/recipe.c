/* recipe.c: the candidates of a source tree: which are chosen, their recipe, sources and known
 * answers. */
#include "orchestrator/package.h"
#include "orchestrator/recipe_parts.h"
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANDIDATES_MAX 1024

void fm_words_free(struct fm_words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->word[i]);
	free(w->word);
	memset(w, 0, sizeof *w);
}

static void instance_free(struct fm_instance *i)
{
	free(i->header);
	fm_words_free(&i->defines);
	fm_words_free(&i->include);
	fm_words_free(&i->libs);
	fm_words_free(&i->arch);
	for (int v = 0; v < FM_VERSIONS; v++)
		fm_words_free(&i->version[v].sources);
	for (size_t k = 0; k < i->kat_count; k++)
		free(i->kat_lines[k].file);
	free(i->kat_lines);
}

void fm_candidate_free(struct fm_candidate *c)
{
	for (size_t i = 0; i < c->count; i++)
		instance_free(&c->instances[i]);
	free(c->instances);
	free(c->name);
	free(c->category);
	free(c->page);
	free(c->origin);
	free(c->archive_url);
	free(c->archive_root);
	free(c->folder);
	fm_buf_free(&c->tree_list);
	fm_buf_free(&c->sources);
	fm_buf_free(&c->vectors);
	memset(c, 0, sizeof *c);
}

void fm_recipe_free(struct fm_candidates *c)
{
	for (size_t i = 0; i < c->count; i++)
		fm_candidate_free(&c->list[i]);
	free(c->list);
	memset(c, 0, sizeof *c);
}

static int take(struct fm_candidates *out, struct fm_candidate *c)
{
	struct fm_candidate *slot = fm_grow(&out->list, &out->count, sizeof *slot);

	if (slot == NULL)
		return FM_ERR_MEMORY;
	*slot = *c;
	memset(c, 0, sizeof *c);
	return FM_OK;
}

/* one: this candidate is meant; else an official package is left out. */
static int load(const char *root, const char *id, bool one, struct fm_candidates *out)
{
	char *folder = fm_sprintf("%s/algos/%s", root, id);
	char *ini = folder == NULL ? NULL : fm_sprintf("%s/candidate.ini", folder);
	struct fm_candidate c = {.count = 0};
	int rc = ini == NULL ? FM_ERR_MEMORY : fm_recipe_ini(ini, id, &c);
	bool archive = rc == FM_OK && strcmp(c.origin, "archive") == 0;

	if (archive && !one)
		goto out;
	c.folder = folder;
	folder = NULL;
	if (rc == FM_OK && archive)
		rc = fm_package_tree(&c);
	if (rc == FM_OK)
		rc = fm_recipe_files(ini, &c);
	if (rc == FM_OK)
		rc = fm_recipe_kat(root, &c);
	if (rc == FM_OK)
		rc = take(out, &c);
out:
	fm_candidate_free(&c);
	free(folder);
	free(ini);
	return rc;
}

/* ---- which ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Folders of root/algos that hold a candidate.ini, sorted. */
static int list_ids(const char *root, struct fm_words *ids)
{
	char *path = fm_sprintf("%s/algos", root);
	DIR *dir = path == NULL ? NULL : opendir(path);
	struct dirent *entry;
	int rc = FM_OK;

	if (dir == NULL) {
		rc = path == NULL ? FM_ERR_MEMORY
		                  : fm_fail(FM_ERR_CONFIG,
		                            "%s: %s; --root must name the folder that holds "
		                            "algos/, kat/, agent/ and protocol/",
		                            path, strerror(errno));
		free(path);
		return rc;
	}
	while (rc == FM_OK && (entry = readdir(dir)) != NULL) {
		char *file = fm_name_ok(entry->d_name)
		                     ? fm_sprintf("%s/candidate.ini", entry->d_name)
		                     : NULL;
		char **slot;

		if (file != NULL && faccessat(dirfd(dir), file, F_OK, 0) == 0 &&
		        ((slot = fm_grow(&ids->word, &ids->count, sizeof *slot)) == NULL ||
		                (*slot = fm_strdup(entry->d_name)) == NULL))
			rc = FM_ERR_MEMORY;
		free(file);
	}
	closedir(dir);
	free(path);
	if (rc == FM_OK && ids->count > CANDIDATES_MAX)
		rc = fm_fail(
		        FM_ERR_CONFIG, "%s/algos: more than %d candidates", root, CANDIDATES_MAX);
	if (rc == FM_OK && ids->count > 0)
		qsort(ids->word, ids->count, sizeof *ids->word, by_text);
	return rc;
}

static int no_match(const char *glob, const struct fm_words *ids)
{
	struct fm_buf all = FM_BUF_INIT(600);
	char shown[100];
	int rc;

	for (size_t i = 0; i < ids->count; i++)
		if (fm_buf_printf(&all, "%s%s", i == 0 ? "" : ", ", ids->word[i]) != FM_OK)
			break;
	rc = fm_fail(FM_ERR_USAGE, "--candidate: '%s' matches no candidate; there are: %s",
	        fm_escape(glob, strlen(glob), shown, sizeof shown),
	        all.data == NULL ? "none" : all.data);
	fm_buf_free(&all);
	return rc;
}

/* An official package? A recipe that cannot be read is none: whoever loads it says what is wrong.
 */
static bool is_archive(const char *root, const char *id)
{
	char *ini = fm_sprintf("%s/algos/%s/candidate.ini", root, id);
	struct fm_candidate c = {.count = 0};
	bool archive = ini != NULL && fm_recipe_ini(ini, id, &c) == FM_OK &&
	               strcmp(c.origin, "archive") == 0;

	fm_candidate_free(&c);
	free(ini);
	return archive;
}

/* Marks what one glob means: what it names in full; else all of origin own that it matches; else
 * all that it matches. False if nothing. */
static bool choose_glob(
        const char *root, const char *glob, const struct fm_words *ids, char *chosen)
{
	bool own = false, any = false;

	for (size_t i = 0; i < ids->count; i++)
		if (strcmp(glob, ids->word[i]) == 0) {
			chosen[i] = true;
			return true;
		}
	for (int archives = 0; archives < 2 && !own; archives++)
		for (size_t i = 0; i < ids->count; i++)
			if (fnmatch(glob, ids->word[i], 0) == 0 &&
			        (archives || !is_archive(root, ids->word[i]))) {
				chosen[i] = any = true;
				own = !archives;
			}
	return any;
}

/* Marks in chosen (one byte per id) what pattern selects. */
static int choose(const char *root, const char *pattern, const struct fm_words *ids, char *chosen)
{
	char *copy = fm_strdup(pattern), *save = NULL;
	int rc = copy == NULL ? FM_ERR_MEMORY : FM_OK, words = 0;

	for (char *w = rc == FM_OK ? strtok_r(copy, ",", &save) : NULL; rc == FM_OK && w != NULL;
	        w = strtok_r(NULL, ",", &save)) {
		words++;
		if (!choose_glob(root, w, ids, chosen))
			rc = no_match(w, ids);
	}
	if (rc == FM_OK && words == 0)
		rc = no_match(pattern, ids);
	free(copy);
	return rc;
}

int fm_recipe_load(const char *root, const char *pattern, struct fm_candidates *out)
{
	struct fm_words ids = {NULL, 0};
	char *chosen = NULL;
	int rc;

	memset(out, 0, sizeof *out);
	rc = list_ids(root, &ids);
	if (rc == FM_OK && (chosen = fm_alloc(ids.count + 1)) == NULL)
		rc = FM_ERR_MEMORY;
	if (rc == FM_OK && pattern != NULL)
		rc = choose(root, pattern, &ids, chosen);
	for (size_t i = 0; rc == FM_OK && i < ids.count; i++)
		if (pattern == NULL || chosen[i])
			rc = load(root, ids.word[i], pattern != NULL, out);
	if (rc == FM_OK && out->count == 0)
		rc = fm_fail(FM_ERR_CONFIG, "%s/algos holds no candidate of origin = own", root);
	free(chosen);
	fm_words_free(&ids);
	if (rc != FM_OK)
		fm_recipe_free(out);
	return rc;
}

/* Reads algos/<id>/candidate.ini; *there tells whether the file exists. */
static int read_one(const char *root, const char *id, struct fm_candidate *c, bool *there)
{
	char *ini = fm_sprintf("%s/algos/%s/candidate.ini", root, id);
	int rc = ini == NULL ? FM_ERR_MEMORY : FM_OK;

	*there = rc == FM_OK && access(ini, F_OK) == 0;
	if (*there)
		rc = fm_recipe_ini(ini, id, c);
	free(ini);
	return rc;
}

int fm_recipe_archive(const char *root, const char *id, struct fm_candidate *c)
{
	char sibling[FM_NAME_MAX + 16];
	bool there = false, also = false;
	int rc;

	memset(c, 0, sizeof *c);
	if ((rc = fm_name_check("candidate", id)) != FM_OK)
		return rc;
	rc = read_one(root, id, c, &there);
	if (rc == FM_OK && there && strcmp(c->origin, "archive") == 0)
		return FM_OK;
	fm_candidate_free(c);
	snprintf(sibling, sizeof sibling, "%s-archive", id);
	if (rc == FM_OK && fm_name_ok(sibling))
		rc = read_one(root, sibling, c, &also);
	if (rc == FM_OK && also && strcmp(c->origin, "archive") == 0)
		return FM_OK;
	fm_candidate_free(c);
	if (rc != FM_OK)
		return rc;
	return fm_fail(FM_ERR_USAGE,
	        "'%s': %s; %s/algos/%s/candidate.ini would describe its package%s", id,
	        there ? "has origin = own, nothing to fetch" : "no such candidate", root, sibling,
	        there ? "" : ", and fleetmark adopt PACKAGE proposes one");
}
