/* tidy.c: takes away what earlier pushes left: broken-off ones, and trees that no plan has asked
 * for lately. */
#include "agent/work.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT 24 /* trees that stay besides those of this plan */

struct old_tree {
	char name[65];
	time_t changed;
};

static bool in_plan(const struct fm_job *j, const char *name)
{
	for (size_t i = 0; i < j->mandate.plan.candidate_count; i++)
		if (strcmp(j->mandate.plan.candidates[i].tree, name) == 0)
			return true;
	return false;
}

static int newest_first(const void *a, const void *b)
{
	const struct old_tree *x = a, *y = b;

	return x->changed == y->changed  ? strcmp(x->name, y->name)
	       : x->changed < y->changed ? 1
	                                 : -1;
}

/* Removes what begins with prefix; gathers the other folders that are named by a digest. */
static int sweep(int dir, const char *prefix, struct old_tree **trees, size_t *count)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FM_OK;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;
	struct stat st;

	if (d == NULL)
		return fm_fail_errno("tidying up");
	while (rc == FM_OK && (e = readdir(d)) != NULL) {
		struct old_tree *t;

		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0) {
			rc = fm_fs_remove(dir, e->d_name);
			continue;
		}
		if (trees == NULL || !fm_hex64_ok(e->d_name) ||
		        fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		t = fm_grow(trees, count, sizeof *t);
		if (t == NULL) {
			rc = FM_ERR_MEMORY;
			break;
		}
		snprintf(t->name, sizeof t->name, "%.64s", e->d_name);
		t->changed = st.st_ctime;
	}
	closedir(d);
	return rc;
}

int fm_job_tidy(struct fm_job *j)
{
	struct old_tree *trees = NULL;
	size_t count = 0, others = 0;
	int src = -1, jobs = -1, rc;

	if ((rc = fm_fs_mkdirs(j->agent->dir, "src", 0755, &src)) == FM_OK &&
	        (rc = fm_fs_dir(j->agent->dir, "jobs", &jobs)) == FM_OK &&
	        (rc = sweep(jobs, ".plan-", NULL, NULL)) == FM_OK)
		rc = sweep(src, ".in-", &trees, &count);
	if (rc == FM_OK && count > 0)
		qsort(trees, count, sizeof *trees, newest_first);
	for (size_t i = 0; rc == FM_OK && i < count; i++)
		if (!in_plan(j, trees[i].name) && ++others > KEPT)
			rc = fm_fs_remove(src, trees[i].name);
	free(trees);
	if (src >= 0)
		close(src);
	if (jobs >= 0)
		close(jobs);
	return rc;
}
