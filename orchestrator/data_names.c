/* data_names.c: names and pages of the candidates of a data set: candidates.csv, else our recipes.
 */
#include "orchestrator/data_names.h"
#include "orchestrator/recipe.h"
#include "protocol/fs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAMES_MAX (1u << 20)

void fm_names_free(struct fm_names *n)
{
	fm_buf_free(&n->text);
}

/* candidates.csv of the data set, or of the folder it lies in; none is no error. */
int fm_names_read(const struct fm_dataset *d, const char *root, struct fm_names *n)
{
	static const char name[] = "candidates.csv";
	int above = openat(d->dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FM_OK;

	n->text = FM_BUF_INIT(NAMES_MAX);
	n->root = root;
	if (faccessat(d->dirfd, name, F_OK, 0) == 0)
		rc = fm_fs_read(d->dirfd, name, NAMES_MAX, &n->text);
	else if (above >= 0 && faccessat(above, name, F_OK, 0) == 0)
		rc = fm_fs_read(above, name, NAMES_MAX, &n->text);
	if (above >= 0)
		close(above);
	return rc;
}

/* The line of id, cut into its three fields; false if there is none. */
static bool find_line(const struct fm_names *n, const char *id, char **name, char **page)
{
	size_t length = strlen(id);
	const char *line = n->text.data, *end, *first, *second;

	for (; line != NULL && *line != '\0'; line = *end == '\0' ? end : end + 1) {
		end = strchrnul(line, '\n');
		if (strncmp(line, id, length) != 0 || line[length] != ';')
			continue;
		first = line + length + 1;
		second = memchr(first, ';', (size_t)(end - first));
		if (second == NULL)
			return false;
		*name = strndup(first, (size_t)(second - first));
		*page = strndup(second + 1, (size_t)(end - second) - 1);
		return true;
	}
	return false;
}

/* Name and page of a candidate: candidates.csv, else candidate.ini below root. Both are freed by
 * the caller. */
int fm_names_of(const struct fm_names *n, const char *id, char **name, char **page)
{
	struct fm_candidates found;
	int rc;

	*name = *page = NULL;
	if (find_line(n, id, name, page))
		return *name == NULL || *page == NULL ? FM_ERR_MEMORY : FM_OK;
	if ((rc = fm_recipe_load(n->root, id, &found)) != FM_OK)
		return fm_wrap(rc, "name of %s: not in candidates.csv beside the data", id);
	*name = fm_strdup(found.list[0].name);
	*page = fm_strdup(found.list[0].page == NULL ? "" : found.list[0].page);
	fm_recipe_free(&found);
	return *name == NULL || *page == NULL ? FM_ERR_MEMORY : FM_OK;
}
