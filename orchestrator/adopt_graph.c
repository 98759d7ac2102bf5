/* adopt_graph.c: follows the #includes of an instance's sources to whatever else of the package
 * they need. */
#include "orchestrator/adopt.h"
#include "orchestrator/recipe_parts.h"
#include <stdlib.h>
#include <string.h>

/* Bytes of the folder of path, without the slash. */
static size_t folder_len(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? 0 : (size_t)(slash - path);
}

/* folder + include with "." and ".." worked out; NULL if that leaves the package (or no memory). */
static char *resolve(const char *folder, size_t len, const char *include)
{
	struct fm_buf out = FM_BUF_INIT(1u << 16);
	bool good = fm_buf_put(&out, folder, len) == FM_OK;
	char *path = NULL;

	while (good && *include != '\0') {
		size_t part = strcspn(include, "/");

		if (part == 2 && memcmp(include, "..", 2) == 0) {
			good = out.len > 0;
			while (out.len > 0 && out.data[--out.len] != '/')
				;
		} else if (part > 0 && !(part == 1 && include[0] == '.')) {
			good = (out.len == 0 || fm_buf_puts(&out, "/") == FM_OK) &&
			       fm_buf_put(&out, include, part) == FM_OK;
		}
		include += part;
		include += *include == '/';
	}
	if (good)
		path = fm_sprintf("%.*s", (int)out.len, out.len > 0 ? out.data : "");
	fm_buf_free(&out);
	return path;
}

static size_t common(const char *a, const char *b)
{
	size_t n = 0;

	while (a[n] != '\0' && a[n] == b[n])
		n++;
	return n;
}

/* The file elsewhere in the package whose path ends in /include, the nearest to path. */
static const struct fm_adopt_file *elsewhere(
        struct fm_adopt *a, const char *path, const char *include, int *rc)
{
	const struct fm_adopt_file *best = NULL, *other = NULL;
	size_t tail = strlen(include);

	for (size_t n = 0; n < a->count; n++) {
		const struct fm_adopt_file *f = &a->file[n];
		size_t len = strlen(f->path);

		if (len <= tail || f->path[len - tail - 1] != '/' ||
		        strcmp(f->path + len - tail, include) != 0)
			continue;
		if (best == NULL || common(f->path, path) > common(best->path, path)) {
			best = f;
			other = NULL;
		} else if (common(f->path, path) == common(best->path, path)) {
			other = f;
		}
	}
	if (other != NULL && *rc == FM_OK)
		*rc = fm_adopt_note(a,
		        "%s includes \"%s\", which is in the package more than once, "
		        "equally near: %s and %s; the first is taken",
		        path, include, best->path, other->path);
	return best;
}

/* A header from another folder: the source of the same name beside it belongs to the instance. */
static int add_sibling(struct fm_adopt *a, struct fm_adopt_instance *i, const char *path)
{
	static const char *const endings[] = {".c", ".cc", ".cpp"};
	const char *dot = strrchr(path, '.');
	size_t own = folder_len(i->header->path);
	int rc = FM_OK;

	if (dot == NULL || (folder_len(path) == own && strncmp(path, i->header->path, own) == 0))
		return FM_OK;
	for (size_t n = 0; rc == FM_OK && n < sizeof endings / sizeof endings[0]; n++) {
		char *source = fm_sprintf("%.*s%s", (int)(dot - path), path, endings[n]);

		if (source == NULL)
			rc = FM_ERR_MEMORY;
		else if (fm_package_source(source) && fm_adopt_find(a, source) != NULL)
			rc = fm_adopt_word(&i->sources, source, strlen(source));
		free(source);
	}
	return rc;
}

/* One #include of the file path: what it means joins the files seen. */
static int follow_include(struct fm_adopt *a, struct fm_adopt_instance *i, const char *path,
        const char *include, struct fm_words *seen)
{
	char *direct = resolve(path, folder_len(path), include);
	const struct fm_adopt_file *f = direct == NULL ? NULL : fm_adopt_find(a, direct);
	int rc = FM_OK;

	if (f == NULL && strncmp(include, "../", 3) != 0) {
		f = elsewhere(a, path, include, &rc);
		if (rc == FM_OK && f != NULL)
			rc = fm_adopt_word(
			        &i->include, f->path, strlen(f->path) - strlen(include) - 1);
	}
	if (rc == FM_OK && f == NULL)
		rc = fm_adopt_note(
		        a, "%s includes \"%s\", which is not in the package", path, include);
	if (rc == FM_OK && f != NULL)
		rc = fm_adopt_word(seen, f->path, strlen(f->path));
	if (rc == FM_OK && f != NULL)
		rc = add_sibling(a, i, f->path);
	free(direct);
	return rc;
}

int fm_adopt_follow(struct fm_adopt *a, struct fm_adopt_instance *i)
{
	struct fm_words seen = {NULL, 0};
	size_t sources = 0;
	int rc = FM_OK;

	for (size_t n = 0; rc == FM_OK && (n < seen.count || sources < i->sources.count);) {
		const struct fm_adopt_file *f;

		if (sources < i->sources.count) {
			const char *word = i->sources.word[sources++];

			rc = fm_adopt_word(&seen, word, strlen(word));
			continue;
		}
		f = fm_adopt_find(a, seen.word[n++]);
		for (size_t k = 0; rc == FM_OK && f != NULL && k < f->includes.count; k++)
			rc = follow_include(a, i, f->path, f->includes.word[k], &seen);
	}
	fm_words_free(&seen);
	return rc;
}
