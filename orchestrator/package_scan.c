/* package_scan.c: what is inside a package, read with every suspicion before anything is written.
 */
#include "orchestrator/archive.h"
#include "orchestrator/package.h"
#include "orchestrator/recipe_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

void fm_package_list_free(struct fm_package_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->file[i].name);
	free(l->file);
	memset(l, 0, sizeof *l);
}

static int refuse(const char *what, const char *name, const char *why)
{
	return fm_fail(FM_ERR_SOURCE, "%s: entry '%.200s': %s", what, name, why);
}

static int add(const char *what, const struct fm_archive_entry *e, uint64_t most,
        struct fm_package_list *l)
{
	struct fm_package_file *slot;
	char *safe = NULL, why[120];
	int rc = fm_package_name(what, e->name, &safe);

	if (rc != FM_OK)
		return rc;
	if (l->count >= FM_PACKAGE_ENTRIES) {
		snprintf(why, sizeof why, "more than %d entries", FM_PACKAGE_ENTRIES);
		rc = refuse(what, safe, why);
	} else if (e->size > most || l->bytes > most - e->size) {
		snprintf(why, sizeof why,
		        "a compression bomb: up to here more than %llu bytes unpacked",
		        (unsigned long long)most);
		rc = refuse(what, safe, why);
	} else if (safe[0] == '\0') {
		rc = e->folder ? FM_OK : refuse(what, e->name, "has no name");
	} else if ((slot = fm_grow(&l->file, &l->count, sizeof *slot)) == NULL) {
		rc = FM_ERR_MEMORY;
	} else {
		*slot = (struct fm_package_file){safe, e->size, e->folder};
		l->bytes += e->size;
		safe = NULL;
	}
	free(safe);
	return rc;
}

static int by_fold(const void *a, const void *b)
{
	const struct fm_package_file *x = a, *y = b;
	int order = strcasecmp(x->name, y->name);

	return order != 0 ? order : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct fm_package_file *)a)->name,
	        ((const struct fm_package_file *)b)->name);
}

/* Nothing twice; a folder may be named twice in one spelling, and is then kept once. */
static int check_doubles(const char *what, struct fm_package_list *l)
{
	size_t kept = 0;

	if (l->count > 0)
		qsort(l->file, l->count, sizeof *l->file, by_fold);
	for (size_t i = 0; i < l->count; i++) {
		struct fm_package_file *f = &l->file[i],
		                       *before = kept > 0 ? &l->file[kept - 1] : NULL;

		if (before != NULL && strcasecmp(before->name, f->name) == 0) {
			bool same = strcmp(before->name, f->name) == 0;

			if (!same || !before->folder || !f->folder)
				return refuse(what, f->name,
				        same ? "stands twice in the package"
				             : "stands twice but for upper and lower case");
			free(f->name);
			f->name = NULL;
			continue;
		}
		l->file[kept++] = *f;
		if (kept - 1 != i)
			f->name = NULL;
	}
	l->count = kept;
	return FM_OK;
}

/* The first folder above name that is a file in the list, else NULL. */
static const struct fm_package_file *file_above(const struct fm_package_list *l, char *name)
{
	const struct fm_package_file *found = NULL;

	for (char *slash = strchr(name, '/'); slash != NULL && found == NULL;
	        slash = strchr(slash + 1, '/')) {
		struct fm_package_file key = {.name = name};

		*slash = '\0';
		found = bsearch(&key, l->file, l->count, sizeof key, by_name);
		*slash = '/';
		if (found != NULL && found->folder)
			found = NULL;
	}
	return found;
}

/* No file has something below it. */
static int check_parents(const char *what, const struct fm_package_list *l)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < l->count; i++) {
		char *copy = fm_strdup(l->file[i].name);

		if (copy == NULL)
			rc = FM_ERR_MEMORY;
		else if (file_above(l, copy) != NULL)
			rc = refuse(what, copy, "stands below a name that is a file");
		free(copy);
	}
	return rc;
}

static uint64_t most_inside(const struct stat *st)
{
	uint64_t own = (uint64_t)st->st_size, most = own > FM_PACKAGE_INSIDE / FM_PACKAGE_RATIO
	                                                     ? FM_PACKAGE_INSIDE
	                                                     : own * FM_PACKAGE_RATIO;

	return most < FM_PACKAGE_SMALL ? FM_PACKAGE_SMALL : most;
}

int fm_package_scan(int fd, const char *what, struct fm_package_list *out)
{
	struct fm_archive_reader *r = NULL;
	struct fm_archive_entry e = {NULL, 0, false};
	struct stat st;
	int rc;

	memset(out, 0, sizeof *out);
	if (fstat(fd, &st) != 0)
		return fm_fail_errno("%s", what);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > FM_PACKAGE_BYTES)
		return fm_fail(FM_ERR_SOURCE, "%s: is no plain file of at most %llu bytes", what,
		        (unsigned long long)FM_PACKAGE_BYTES);
	rc = fm_archive_open(&r, fd, what);
	while (rc == FM_OK && (rc = fm_archive_next(r, &e)) == FM_OK && e.name != NULL)
		rc = add(what, &e, most_inside(&st), out);
	fm_archive_close(r);
	if (rc == FM_OK && out->count == 0)
		rc = fm_fail(FM_ERR_SOURCE, "%s: has no entries", what);
	if (rc == FM_OK)
		rc = check_doubles(what, out);
	if (rc == FM_OK) {
		qsort(out->file, out->count, sizeof *out->file, by_name);
		rc = check_parents(what, out);
	}
	if (rc != FM_OK)
		fm_package_list_free(out);
	return rc;
}

int fm_package_below(const struct fm_package_list *l, const char *root, struct fm_words *files)
{
	size_t len = root == NULL ? 0 : strlen(root);
	int rc = FM_OK;

	memset(files, 0, sizeof *files);
	for (size_t i = 0; rc == FM_OK && i < l->count; i++) {
		const char *name = l->file[i].name;
		char **slot;

		if (l->file[i].folder)
			continue;
		if (len > 0 && (strncmp(name, root, len) != 0 || name[len] != '/'))
			continue;
		name += len > 0 ? len + 1 : 0;
		if ((slot = fm_grow(&files->word, &files->count, sizeof *slot)) == NULL ||
		        (*slot = fm_strdup(name)) == NULL)
			rc = FM_ERR_MEMORY;
	}
	if (rc == FM_OK && files->count == 0) {
		struct fm_words all;
		char near[400] = "";

		if (root != NULL && (rc = fm_package_below(l, NULL, &all)) == FM_OK) {
			fm_recipe_near(&all, root, near, sizeof near);
			fm_words_free(&all);
		}
		if (rc == FM_OK)
			rc = fm_fail(FM_ERR_CONFIG, "root '%s' is not there; there is: %s",
			        root == NULL ? "" : root, near);
	}
	if (rc != FM_OK)
		fm_words_free(files);
	return rc;
}
