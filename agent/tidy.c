/* tidy.c: keeps the work folder within its quota when a job starts: the last jobs, the trees that
 * they name, the last agents. */
#include "agent/attach.h"
#include "agent/work.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEPT       3              /* jobs, and agents, besides our own */
#define PLAN_S     (90 * 86400ll) /* no bundle of an older plan is accepted any more */
#define LEFTOVER_S 86400ll        /* a folder that was being filled so long ago is forsaken */
#define PLAN_TEXT  (16u << 20)

struct old {
	char name[FM_NAME_MAX + 1];
	time_t changed;
};
struct olds {
	struct old *list;
	size_t count;
};
struct trees {
	char (*list)[65];
	size_t count;
};

static int newest_first(const void *a, const void *b)
{
	const struct old *x = a, *y = b;

	return x->changed == y->changed  ? strcmp(x->name, y->name)
	       : x->changed < y->changed ? 1
	                                 : -1;
}

/* Gathers the entries of a folder that are called as ok wants, newest first, without the one called
 * own. What begins with leftover and was not touched for idle seconds is removed. */
static int sweep(int dir, bool (*ok)(const char *), const char *own, const char *leftover,
        long long idle, struct olds *out)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = FM_OK;
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *e;
	struct stat st;

	if (d == NULL)
		return fm_fail_errno("tidying up");
	while (rc == FM_OK && (e = readdir(d)) != NULL) {
		struct old *o;

		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (strncmp(e->d_name, leftover, strlen(leftover)) == 0) {
			if (time(NULL) - st.st_ctime >= idle)
				rc = fm_fs_remove(dir, e->d_name);
			continue;
		}
		if (!ok(e->d_name) || (own != NULL && strcmp(e->d_name, own) == 0))
			continue;
		o = fm_grow(&out->list, &out->count, sizeof *o);
		if (o == NULL) {
			rc = FM_ERR_MEMORY;
			break;
		}
		snprintf(o->name, sizeof o->name, "%.64s", e->d_name);
		o->changed = st.st_ctime;
	}
	closedir(d);
	if (rc == FM_OK && out->count > 0)
		qsort(out->list, out->count, sizeof *out->list, newest_first);
	return rc;
}

/* ---- jobs ---- */

/* The trees that the plan text of a job names. A text that cannot be read names none: they are sent
 * again if asked for. */
static int add_trees(int jobdir, struct trees *t)
{
	struct fm_buf text = FM_BUF_INIT(PLAN_TEXT);
	struct fm_jobplan plan;
	const struct dirent *e;
	int fd = -1, rc = FM_OK;
	DIR *d = NULL;

	if (fm_fs_dir(jobdir, "plan/jobs", &fd) != FM_OK || (d = fdopendir(fd)) == NULL) {
		if (fd >= 0)
			close(fd);
		return FM_OK;
	}
	while (rc == FM_OK && (e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' || fm_fs_read(fd, e->d_name, PLAN_TEXT, &text) != FM_OK)
			continue;
		if (fm_jobplan_parse(text.data, text.len, &plan) == FM_OK) {
			for (size_t i = 0; rc == FM_OK && i < plan.candidate_count; i++) {
				char(*slot)[65] = fm_grow(&t->list, &t->count, sizeof *slot);

				if (slot == NULL)
					rc = FM_ERR_MEMORY;
				else
					memcpy(*slot, plan.candidates[i].tree, sizeof *slot);
			}
			fm_jobplan_free(&plan);
		}
		fm_buf_free(&text);
	}
	closedir(d);
	return rc;
}

/* Beyond the last ones a job goes when it has finished, or when nobody would accept its bundles any
 * more. */
static bool stays(int jobdir, const struct old *o, size_t place)
{
	return place < KEPT ||
	       (strcmp(fm_job_state(jobdir), "finished") != 0 && time(NULL) - o->changed < PLAN_S);
}

static int tidy_jobs(struct fm_job *j, struct trees *t)
{
	struct olds olds = {NULL, 0};
	int jobs = -1, rc = fm_fs_dir(j->agent->dir, "jobs", &jobs);

	if (rc == FM_OK)
		rc = sweep(jobs, fm_name_ok, j->mandate.plan.campaign, ".plan-", 0, &olds);
	if (rc == FM_OK)
		rc = add_trees(j->dir, t);
	for (size_t i = 0; rc == FM_OK && i < olds.count; i++) {
		int fd = -1;
		bool keep = fm_fs_dir(jobs, olds.list[i].name, &fd) != FM_OK ||
		            fm_job_running(fd) || stays(fd, &olds.list[i], i);

		if (keep && fd >= 0)
			rc = add_trees(fd, t);
		if (fd >= 0)
			close(fd);
		if (!keep)
			rc = fm_fs_remove(jobs, olds.list[i].name);
	}
	if (jobs >= 0)
		close(jobs);
	free(olds.list);
	return rc;
}

/* ---- trees and agents ---- */

static bool named(const struct trees *t, const char *hex)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->list[i], hex) == 0)
			return true;
	return false;
}

static int tidy_trees(struct fm_job *j, const struct trees *t)
{
	struct olds olds = {NULL, 0};
	int src = -1, rc = fm_fs_mkdirs(j->agent->dir, "src", 0755, &src);

	if (rc == FM_OK)
		rc = sweep(src, fm_hex64_ok, NULL, ".in-", 0, &olds);
	for (size_t i = 0; rc == FM_OK && i < olds.count; i++)
		if (!named(t, olds.list[i].name))
			rc = fm_fs_remove(src, olds.list[i].name);
	if (src >= 0)
		close(src);
	free(olds.list);
	return rc;
}

/* Another controller may be building its agent right now. */
static int tidy_agents(struct fm_job *j)
{
	struct olds olds = {NULL, 0};
	int agents = -1, rc = fm_fs_mkdirs(j->agent->dir, "agent", 0755, &agents);

	if (rc == FM_OK)
		rc = sweep(agents, fm_hex64_ok, j->agent->source, ".in-", LEFTOVER_S, &olds);
	for (size_t i = KEPT; rc == FM_OK && i < olds.count; i++)
		rc = fm_fs_remove(agents, olds.list[i].name);
	if (agents >= 0)
		close(agents);
	free(olds.list);
	return rc;
}

int fm_job_tidy(struct fm_job *j)
{
	struct trees trees = {NULL, 0};
	int rc = tidy_jobs(j, &trees);

	if (rc == FM_OK)
		rc = tidy_trees(j, &trees);
	if (rc == FM_OK)
		rc = tidy_agents(j);
	free(trees.list);
	return rc;
}
