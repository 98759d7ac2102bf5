/* recipe.c: the candidates of a source tree: which are chosen, their recipe, sources and known
 * answers. */
#include "orchestrator/recipe_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/treelist.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CANDIDATES_MAX 1024
#define SOURCES_BYTES  (64u << 20)

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

/* ---- the source tree ---- */

/* Is there a line of this type ("file", "dir") whose path is path, or ends in "/path" if anywhere?
 */
static bool in_tree(const struct fm_candidate *c, const char *type, const char *path, bool anywhere)
{
	size_t len = strlen(path), tag = strlen(type);
	const char *p = c->tree_list.data, *lf;

	for (; p != NULL && *p != '\0' && (lf = strchr(p, '\n')) != NULL; p = lf + 1) {
		size_t line = (size_t)(lf - p);
		char before;

		if (line <= len + tag || strncmp(p, type, tag) != 0 ||
		        memcmp(lf - len, path, len) != 0)
			continue;
		before = lf[-(ptrdiff_t)len - 1];
		if (before == ' ' || (anywhere && before == '/'))
			return true;
	}
	return false;
}

/* Everything the recipe names is in the candidate's folder. */
static int check_files(const char *path, const struct fm_candidate *c)
{
	for (size_t n = 0; n < c->count; n++) {
		const struct fm_instance *i = &c->instances[n];

		for (int v = 0; v < FM_VERSIONS; v++)
			for (size_t s = 0; s < i->version[v].sources.count; s++)
				if (!in_tree(c, "file", i->version[v].sources.word[s], false))
					return fm_fail(FM_ERR_CONFIG,
					        "%s: [instance %s]: source '%s' is not there", path,
					        i->name, i->version[v].sources.word[s]);
		for (size_t s = 0; s < i->include.count; s++)
			if (!in_tree(c, "dir", i->include.word[s], false))
				return fm_fail(FM_ERR_CONFIG,
				        "%s: [instance %s]: include folder '%s' is not there", path,
				        i->name, i->include.word[s]);
		if (!in_tree(c, "file", i->header, true))
			return fm_fail(FM_ERR_CONFIG, "%s: [instance %s]: header '%s' is not there",
			        path, i->name, i->header);
	}
	return FM_OK;
}

static int read_tree(const char *folder, struct fm_candidate *c)
{
	int fd = -1, rc = fm_fs_dir(AT_FDCWD, folder, &fd);

	c->tree_list = FM_BUF_INIT(FM_TREELIST_MAX);
	c->sources = FM_BUF_INIT(SOURCES_BYTES);
	if (rc == FM_OK)
		rc = fm_treelist_make(fd, &c->tree_list, &c->tree_bytes);
	if (rc == FM_OK)
		rc = fm_treelist_sources(c->tree_list.data, c->tree_list.len, &c->sources);
	if (fd >= 0)
		close(fd);
	if (rc != FM_OK)
		return rc == FM_ERR_MEMORY ? rc : fm_wrap(FM_ERR_CONFIG, "%s", folder);
	fm_sha256_hex(c->tree_list.data, c->tree_list.len, c->tree_sha256);
	fm_sha256_hex(c->sources.data, c->sources.len, c->source_sha256);
	return FM_OK;
}

static int load(const char *root, const char *id, bool named, struct fm_candidates *out)
{
	char *folder = fm_sprintf("%s/algos/%s", root, id);
	char *ini = folder == NULL ? NULL : fm_sprintf("%s/candidate.ini", folder);
	struct fm_candidate c = {.count = 0}, *slot;
	int rc = ini == NULL ? FM_ERR_MEMORY : fm_recipe_ini(ini, id, &c);

	if (rc == FM_OK && strcmp(c.origin, "own") != 0) {
		if (named)
			rc = fm_fail(FM_ERR_CONFIG,
			        "%s: origin = archive: official packages cannot be fetched by this "
			        "version; choose other "
			        "candidates with -c",
			        ini);
		goto out;
	}
	if (rc == FM_OK)
		rc = read_tree(folder, &c);
	if (rc == FM_OK)
		rc = check_files(ini, &c);
	if (rc == FM_OK)
		rc = fm_recipe_kat(root, &c);
	if (rc != FM_OK)
		goto out;
	if ((slot = fm_grow(&out->list, &out->count, sizeof *slot)) == NULL) {
		rc = FM_ERR_MEMORY;
		goto out;
	}
	*slot = c;
	memset(&c, 0, sizeof c);
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

/* Marks in chosen (one byte per id) what the globs of pattern match. */
static int choose(const char *pattern, const struct fm_words *ids, char *chosen)
{
	char *copy = fm_strdup(pattern), *save = NULL;
	int rc = copy == NULL ? FM_ERR_MEMORY : FM_OK, words = 0;

	for (char *w = rc == FM_OK ? strtok_r(copy, ",", &save) : NULL; rc == FM_OK && w != NULL;
	        w = strtok_r(NULL, ",", &save)) {
		bool any = false;

		words++;
		for (size_t i = 0; i < ids->count; i++)
			if (fnmatch(w, ids->word[i], 0) == 0)
				chosen[i] = any = true;
		if (!any)
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
		rc = choose(pattern, &ids, chosen);
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
