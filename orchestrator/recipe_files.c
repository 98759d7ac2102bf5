/* recipe_files.c: is what a recipe names there, and if not, what is there instead. */
#include "orchestrator/package.h"
#include "orchestrator/recipe_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/treelist.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOURCES_BYTES (64u << 20)
#define NEAR          400

/* Appends ", name" or, when it does not fit any more, ", ...". False then. */
static bool put_near(char *out, size_t size, const char *name, size_t len, bool folder)
{
	size_t used = strlen(out);
	const char *comma = used > 0 ? ", " : "";

	if (used + len + 10 > size) {
		snprintf(out + used, size - used, "%s...", comma);
		return false;
	}
	snprintf(out + used, size - used, "%s%.*s%s", comma, (int)len, name, folder ? "/" : "");
	return true;
}

/* The names directly in the folder of len bytes. */
static void names_in(
        const struct fm_words *files, const char *folder, size_t len, char *out, size_t size)
{
	const char *before = "";
	size_t before_len = 0;

	for (size_t i = 0; i < files->count; i++) {
		const char *path = files->word[i], *name = path + (len > 0 ? len + 1 : 0);
		size_t name_len;

		if (len > 0 && (strncmp(path, folder, len) != 0 || path[len] != '/'))
			continue;
		name_len = strcspn(name, "/");
		if (name_len == before_len && memcmp(name, before, name_len) == 0)
			continue;
		before = name;
		before_len = name_len;
		if (!put_near(out, size, path, (size_t)(name - path) + name_len,
		            name[name_len] == '/'))
			return;
	}
}

void fm_recipe_near(const struct fm_words *files, const char *path, char *out, size_t size)
{
	size_t len = strlen(path);

	out[0] = '\0';
	while (len > 0 && out[0] == '\0') {
		while (len > 0 && path[len - 1] != '/')
			len--;
		len -= len > 0;
		names_in(files, path, len, out, size);
	}
	if (out[0] == '\0')
		snprintf(out, size, "nothing");
}

/* ---- the source tree ---- */

static int read_tree(struct fm_candidate *c)
{
	int fd = -1, rc = fm_fs_dir(AT_FDCWD, c->folder, &fd);

	c->tree_list = FM_BUF_INIT(FM_TREELIST_MAX);
	c->sources = FM_BUF_INIT(SOURCES_BYTES);
	if (rc == FM_OK)
		rc = fm_treelist_make(fd, &c->tree_list, &c->tree_bytes);
	if (rc == FM_OK)
		rc = fm_treelist_sources(c->tree_list.data, c->tree_list.len, &c->sources);
	if (fd >= 0)
		close(fd);
	if (rc != FM_OK)
		return rc == FM_ERR_MEMORY ? rc : fm_wrap(FM_ERR_CONFIG, "%s", c->folder);
	fm_sha256_hex(c->tree_list.data, c->tree_list.len, c->tree_sha256);
	fm_sha256_hex(c->sources.data, c->sources.len, c->source_sha256);
	return FM_OK;
}

/* The paths of SOURCES.sha256, in their order. */
static int list_files(const struct fm_candidate *c, struct fm_words *files)
{
	const char *line = c->sources.data, *lf;

	for (; line != NULL && (lf = strchr(line, '\n')) != NULL; line = lf + 1) {
		char **slot = fm_grow(&files->word, &files->count, sizeof *slot);

		if (slot == NULL ||
		        (*slot = fm_sprintf("%.*s", (int)(lf - line) - 66, line + 66)) == NULL)
			return FM_ERR_MEMORY;
	}
	return FM_OK;
}

/* Is path one of the files, or (anywhere) the end of one? folder: is it above one? */
static bool is_there(const struct fm_words *files, const char *path, bool folder, bool anywhere)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < files->count; i++) {
		const char *have = files->word[i];
		size_t full = strlen(have);

		if (folder ? strncmp(have, path, len) == 0 && have[len] == '/'
		           : strcmp(have, path) == 0)
			return true;
		if (anywhere && full > len && have[full - len - 1] == '/' &&
		        strcmp(have + full - len, path) == 0)
			return true;
	}
	return false;
}

static int missing(const struct fm_words *files, const struct fm_instance *i, const char *kind,
        const char *path)
{
	char near[NEAR];

	fm_recipe_near(files, path, near, sizeof near);
	return fm_fail(FM_ERR_CONFIG, "[instance %s]: %s '%s' is not there; there is: %s", i->name,
	        kind, path, near);
}

static int check_instance(const struct fm_words *files, const struct fm_instance *i)
{
	for (int v = 0; v < FM_VERSIONS; v++)
		for (size_t s = 0; s < i->version[v].sources.count; s++)
			if (!is_there(files, i->version[v].sources.word[s], false, false))
				return missing(files, i, "source", i->version[v].sources.word[s]);
	for (size_t s = 0; s < i->include.count; s++)
		if (!is_there(files, i->include.word[s], true, false))
			return missing(files, i, "include folder", i->include.word[s]);
	return is_there(files, i->header, false, true) ? FM_OK
	                                               : missing(files, i, "header", i->header);
}

int fm_recipe_files(const char *path, struct fm_candidate *c)
{
	struct fm_words files = {NULL, 0};
	int rc = read_tree(c);

	if (rc != FM_OK)
		return rc;
	rc = list_files(c, &files);
	if (rc == FM_OK && strcmp(c->origin, "archive") == 0)
		rc = fm_package_pick(&files, c);
	for (size_t n = 0; rc == FM_OK && n < c->count; n++)
		rc = check_instance(&files, &c->instances[n]);
	fm_words_free(&files);
	return rc == FM_OK || rc == FM_ERR_MEMORY ? rc : fm_wrap(rc, "%s", path);
}
