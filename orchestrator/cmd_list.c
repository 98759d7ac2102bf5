/* cmd_list.c: `fleetmark list`: every campaign below results/, how far it is and who works on it;
 * contacts nobody. */
#include "orchestrator/command.h"
#include "orchestrator/events.h"
#include "orchestrator/journal.h"
#include "orchestrator/out.h"
#include "orchestrator/plan.h"
#include "protocol/buf.h"
#include "protocol/fs.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct names {
	char (*list)[FM_NAME_MAX + 1];
	size_t count;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int gather(const char *results, int *top, struct names *n)
{
	const struct dirent *e;
	DIR *dir;
	int rc = FM_OK;

	*top = open(results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*top < 0 && errno == ENOENT)
		return FM_OK;
	dir = *top < 0 ? NULL : fdopendir(dup(*top));
	if (dir == NULL)
		return fm_fail_errno("%s", results);
	while (rc == FM_OK && (e = readdir(dir)) != NULL) {
		char path[FM_NAME_MAX + 32];
		char(*slot)[FM_NAME_MAX + 1];

		if (!fm_name_ok(e->d_name))
			continue;
		snprintf(path, sizeof path, "%.64s/plan/plan.json", e->d_name);
		if (faccessat(*top, path, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		slot = fm_grow(&n->list, &n->count, sizeof *slot);
		if (slot == NULL)
			rc = FM_ERR_MEMORY;
		else
			snprintf(*slot, sizeof *slot, "%.64s", e->d_name);
	}
	closedir(dir);
	if (n->count > 0)
		qsort(n->list, n->count, sizeof *n->list, by_name);
	return rc;
}

static size_t accepted(struct fm_journal *j, const struct fm_plan *p)
{
	size_t n = 0;

	for (size_t s = 0; s < p->system_count; s++) {
		for (size_t k = 0; k < p->candidates.count; k++) {
			struct fm_job job;
			bool found = false;

			if (fm_journal_accepted_job(j, p->systems[s].name, p->candidates.list[k].id,
			            &job, &found) == FM_OK)
				n += found;
		}
	}
	return n;
}

static void show(const struct fm_options *o, const char *name, const struct fm_plan *p,
        struct fm_journal *j, int incoming)
{
	size_t done = accepted(j, p), all = p->system_count * p->candidates.count;
	char tree[65] = "", who[300], text[400];
	const char *state = "unfinished";

	if (fm_events_writer(incoming, who))
		state = "running";
	else if (fm_journal_is_sealed(j, tree))
		state = done == all ? "finished" : "sealed, incomplete";
	snprintf(text, sizeof text, "%s%s%.12s", who, tree[0] != '\0' ? "tree " : "", tree);
	fm_out_event(&(struct fm_event){.event = "campaign_listed",
	        .text = name,
	        .state = state,
	        .stage = p->profile,
	        .done = done,
	        .total = all,
	        .quiet = true});
	if (!o->json)
		fm_result("%-28s %-8s %s  %2zu systems  %4zu/%zu bundles  %s%s%s", name, p->profile,
		        p->issued_at, p->system_count, done, all, state,
		        text[0] != '\0' ? ", " : "", text);
}

static int one(const struct fm_options *o, int top, const char *name)
{
	struct fm_plan plan = {0};
	struct fm_journal *journal = NULL;
	int dir = -1, folder = -1, incoming = -1;
	int rc = fm_fs_dir(top, name, &dir);

	if (rc == FM_OK)
		rc = fm_fs_dir(dir, "plan", &folder);
	if (rc == FM_OK)
		rc = fm_plan_read(folder, &plan);
	if (rc == FM_OK)
		rc = fm_fs_dir(dir, "incoming", &incoming);
	if (rc == FM_OK)
		rc = fm_journal_open(&journal, incoming, plan.campaign, true);
	if (rc == FM_OK)
		show(o, name, &plan, journal, incoming);
	if (journal != NULL)
		(void)!fm_journal_close(journal);
	fm_plan_free(&plan);
	if (incoming >= 0)
		close(incoming);
	if (folder >= 0)
		close(folder);
	if (dir >= 0)
		close(dir);
	return rc;
}

int fm_cmd_list(const struct fm_options *o, int *status)
{
	struct names n = {0};
	int top = -1, rc = gather(o->results, &top, &n);

	*status = 0;
	for (size_t i = 0; rc == FM_OK && i < n.count; i++) {
		int one_rc = one(o, top, n.list[i]);

		if (one_rc == FM_OK)
			continue;
		fm_out_error(fm_wrap(one_rc, "%s/%s", o->results, n.list[i]), NULL, "list", NULL);
		*status = 1;
	}
	if (rc == FM_OK && n.count == 0)
		fm_say("no campaign in %s", o->results);
	if (top >= 0)
		close(top);
	free(n.list);
	return rc == FM_OK && *status != 0 ? FM_REPORTED : rc;
}
