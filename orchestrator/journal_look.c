/* journal_look.c: what others may know of the journal's state: copies, so that nobody holds its
 * lock. */
#include "orchestrator/journal_fold.h"
#include "protocol/buf.h"
#include <stdlib.h>
#include <string.h>

static int look(struct fm_journal *j, const char *system, const char *candidate, bool accepted,
        struct fm_job *out, bool *found)
{
	const struct fm_job *job;

	pthread_mutex_lock(&j->lock);
	job = fm_fold_find(&j->fold, system, candidate, accepted);
	if ((*found = job != NULL))
		*out = *job;
	pthread_mutex_unlock(&j->lock);
	return FM_OK;
}

int fm_journal_open_job(struct fm_journal *j, const char *system, const char *candidate,
        struct fm_job *out, bool *found)
{
	return look(j, system, candidate, false, out, found);
}

int fm_journal_accepted_job(struct fm_journal *j, const char *system, const char *candidate,
        struct fm_job *out, bool *found)
{
	return look(j, system, candidate, true, out, found);
}

static int by_name(const void *a, const void *b)
{
	const struct fm_job *x = a, *y = b;
	int order = strcmp(x->system, y->system);

	if (order == 0)
		order = strcmp(x->candidate, y->candidate);
	return order != 0 ? order : (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

int fm_journal_jobs(struct fm_journal *j, struct fm_job **jobs, size_t *count)
{
	int rc = FM_OK;

	*jobs = NULL;
	*count = 0;
	pthread_mutex_lock(&j->lock);
	if (j->fold.count > 0 && (*jobs = fm_alloc_array(j->fold.count, sizeof **jobs)) == NULL)
		rc = FM_ERR_MEMORY;
	for (size_t i = 0; rc == FM_OK && i < j->fold.count; i++)
		(*jobs)[i] = j->fold.jobs[i].job;
	if (rc == FM_OK && (*count = j->fold.count) > 0)
		qsort(*jobs, *count, sizeof **jobs, by_name);
	pthread_mutex_unlock(&j->lock);
	return rc;
}

void fm_journal_host_state(
        struct fm_journal *j, const char *system, char klass[24], char reason[24], char text[256])
{
	klass[0] = reason[0] = text[0] = '\0';
	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < j->fold.host_count; i++)
		if (strcmp(j->fold.hosts[i].system, system) == 0) {
			memcpy(klass, j->fold.hosts[i].klass, 24);
			memcpy(reason, j->fold.hosts[i].reason, 24);
			memcpy(text, j->fold.hosts[i].text, 256);
		}
	pthread_mutex_unlock(&j->lock);
}

bool fm_journal_is_sealed(struct fm_journal *j, char tree_sha256[65])
{
	bool sealed;

	pthread_mutex_lock(&j->lock);
	sealed = j->fold.tree[0] != '\0' && !j->fold.changed;
	memcpy(tree_sha256, j->fold.tree, 65);
	pthread_mutex_unlock(&j->lock);
	return sealed;
}

const char *fm_journal_plan(struct fm_journal *j)
{
	return j->fold.plan;
}
