/* run_finish.c: the end of a run: tree merged, pages written, sealed, verified once more, and said
 * in a screen. */
#include "orchestrator/hint.h"
#include "orchestrator/out.h"
#include "orchestrator/report.h"
#include "orchestrator/run.h"
#include "orchestrator/tree.h"
#include "protocol/fs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MERGES 5 /* tries, while other campaigns of the same home end */

struct tally {
	size_t accepted, failed, missing, rejected, total;
};

static void finding(void *arg, int code, const char *where, const char *text)
{
	size_t *n = arg;

	++*n;
	(void)fm_fail(code, "%s: %s", where, text);
	fm_out_error(code, NULL, "verify", NULL);
}

static void count_cell(struct tally *t, const char *status)
{
	t->total++;
	t->accepted += strcmp(status, "accepted") == 0;
	t->failed += strcmp(status, "failed") == 0;
	t->missing += strcmp(status, "missing") == 0;
	t->rejected += strcmp(status, "rejected") == 0;
}

/* Same system, candidate and reason as the cell before: told once. */
static bool same_fault(const struct fm_tree_cell *a, const struct fm_tree_cell *b)
{
	struct fm_cell x, y;

	return strcmp(a->status, b->status) == 0 && strcmp(a->klass, b->klass) == 0 &&
	       strcmp(a->text, b->text) == 0 && fm_cell_parse(a->cell, &x) == FM_OK &&
	       fm_cell_parse(b->cell, &y) == FM_OK && strcmp(x.system, y.system) == 0 &&
	       strcmp(x.candidate, y.candidate) == 0;
}

static void tell_fault(const struct fm_campaign *c, const struct fm_tree_cell *f, size_t n)
{
	struct fm_cell cell;
	char again[1000], redo[1000];

	if (fm_cell_parse(f->cell, &cell) != FM_OK)
		return;
	fm_result("  %s %s: %zu cell%s %s: %s/%s: %s", cell.system, cell.candidate, n,
	        n == 1 ? "" : "s", f->status, f->klass, f->reason, f->text);
	fm_campaign_again(c, again, sizeof again);
	if (c->inventory->path == NULL || c->inventory->path[0] == '\0' ||
	        strcmp(f->status, "missing") == 0)
		fm_result("    to try again: %s", again);
	else
		fm_result("    to try again: %s && %s",
		        fm_hint(c->options, redo, sizeof redo, "redo measure -l %s -c %s %s",
		                cell.system, cell.candidate, c->name),
		        again);
}

static void tell_faults(const struct fm_campaign *c, const struct fm_tree *t)
{
	for (size_t i = 0; i < t->cell_count; i++) {
		size_t n = 1;

		if (strcmp(t->cells[i].status, "accepted") == 0)
			continue;
		while (i + n < t->cell_count && same_fault(&t->cells[i], &t->cells[i + n]))
			n++;
		tell_fault(c, &t->cells[i], n);
		i += n - 1;
	}
}

static void summary(const struct fm_campaign *c, const struct fm_tree *t, struct tally *all)
{
	for (size_t s = 0; s < c->plan.system_count; s++) {
		struct tally one = {0};

		for (size_t i = 0; i < t->cell_count; i++) {
			struct fm_cell cell;

			if (fm_cell_parse(t->cells[i].cell, &cell) == FM_OK &&
			        strcmp(cell.system, c->plan.systems[s].name) == 0) {
				count_cell(&one, t->cells[i].status);
				count_cell(all, t->cells[i].status);
			}
		}
		fm_result("%s: %zu of %zu cells accepted%s", c->plan.systems[s].name, one.accepted,
		        one.total, one.rejected > 0 ? ", some REJECTED" : "");
	}
	tell_faults(c, t);
}

static int exit_status(const struct tally *all, size_t findings)
{
	if (findings > 0 || all->rejected > 0)
		return 4;
	if (all->accepted == all->total)
		return 0;
	return all->accepted > 0 ? 1 : 3;
}

static void tell_event(const struct tally *all, const char *sha256, int status)
{
	fm_out_event(&(struct fm_event){.event = "finished",
	        .done = all->accepted,
	        .total = all->total,
	        .text = sha256,
	        .quiet = true,
	        .klass = status == 4 ? "verify" : NULL});
}

static int any_accepted(const struct fm_campaign *c, bool *any)
{
	struct fm_job *jobs = NULL;
	size_t count = 0;
	int rc = fm_journal_jobs(c->journal, &jobs, &count);

	*any = false;
	for (size_t i = 0; i < count; i++)
		*any |= jobs[i].state == FM_JOB_ACCEPTED || jobs[i].state == FM_JOB_REJECTED;
	free(jobs);
	return rc;
}

/* Merge, pages, seal. Where another campaign of this home was sealed in between, once more: its
 * tree is the one before. */
static int make_tree(struct fm_campaign *c, char sha256[65])
{
	int rc = FM_ERR_BUSY;

	for (int i = 0; rc == FM_ERR_BUSY && i < MERGES; i++) {
		rc = fm_tree_merge(c->dirfd, &c->plan, c->journal, c->home);
		if (rc == FM_OK)
			rc = fm_report_tree(c->dirfd, c->options->base, false);
		if (rc == FM_OK)
			rc = fm_tree_seal(c->dirfd, c->journal, c->home, sha256);
	}
	return rc;
}

int fm_run_finish(struct fm_campaign *c, int *status)
{
	struct fm_tree tree = {0};
	struct tally all = {0};
	char sha256[65] = "", again[600];
	size_t findings = 0;
	bool any = false;
	int rc = any_accepted(c, &any);

	if (rc == FM_OK && !any) {
		fm_say("no bundle came; the campaign stays open. To go on: %s",
		        fm_campaign_again(c, again, sizeof again));
		*status = 3;
		return FM_REPORTED;
	}
	if (rc == FM_OK && !fm_journal_is_sealed(c->journal, sha256))
		rc = make_tree(c, sha256);
	if (rc != FM_OK)
		return fm_wrap(rc, "%s", c->path);
	rc = fm_tree_verify(
	        c->dirfd, fm_identity_public(c->home->id), -1, finding, &findings, NULL);
	if (rc != FM_OK && findings == 0)
		findings = 1;
	rc = fm_tree_read(c->dirfd, &tree);
	if (rc == FM_OK) {
		summary(c, &tree, &all);
		fm_result("tree number %s%s", sha256,
		        findings == 0 ? ", verified" : ", VERIFICATION FAILED");
		fm_say("pages: %s/index.html", c->path);
		*status = exit_status(&all, findings);
		tell_event(&all, sha256, *status);
	}
	fm_tree_free(&tree);
	return rc == FM_OK && *status != 0 ? FM_REPORTED : rc;
}
