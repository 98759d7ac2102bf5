/* cmd_redo.c: `fleetmark redo STAGE [NAME]`: has a stage of a campaign done again: on the hosts by
 * the next run, or here at once. */
#include "orchestrator/campaign.h"
#include "orchestrator/command.h"
#include "orchestrator/out.h"
#include "orchestrator/run.h"
#include "orchestrator/stage_keep.h"
#include "orchestrator/stage_revoke.h"
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_one_of(const char *word, const char *const *list)
{
	for (; *list != NULL; list++) {
		if (strcmp(word, *list) == 0)
			return true;
	}
	return false;
}

/* Comma separated globs; NULL: everything. */
static bool chosen(const char *patterns, const char *name)
{
	while (patterns != NULL && *patterns != '\0') {
		char one[256];
		size_t n = strcspn(patterns, ",");

		snprintf(one, sizeof one, "%.*s", (int)(n < 255 ? n : 255), patterns);
		if (fnmatch(one, name, 0) == 0)
			return true;
		patterns += n + (patterns[n] == ',');
		if (*patterns == '\0')
			return false;
	}
	return patterns == NULL;
}

/* Rejected ones have no open nonce and are not asked for again by themselves: they get a new one
 * now. */
static int again(struct fm_campaign *c, const char *stage, const char *system,
        const char *candidate, size_t *count)
{
	struct fm_job job, issued;
	bool accepted = false, open = false;
	int rc = fm_journal_accepted_job(c->journal, system, candidate, &job, &accepted);

	if (rc == FM_OK && !accepted)
		rc = fm_journal_open_job(c->journal, system, candidate, &job, &open);
	if (rc != FM_OK)
		return rc;
	if (accepted || open)
		rc = fm_journal_redo(c->journal, system, candidate, stage);
	else
		rc = fm_journal_issue(c->journal, system, candidate, &issued);
	if (rc == FM_OK && accepted)
		rc = fm_keep_set_aside(c, system, candidate);
	if (rc == FM_OK) {
		fm_result("%s %s: %s is done again by the next run", system, candidate, stage);
		++*count;
	}
	return rc;
}

static int redo_on_hosts(struct fm_campaign *c, const struct fm_options *o, const char *stage)
{
	char next[600];
	size_t count = 0;
	int rc = FM_OK;

	for (size_t s = 0; rc == FM_OK && s < c->plan.system_count; s++) {
		if (!chosen(o->limit, c->plan.systems[s].name))
			continue;
		for (size_t k = 0; rc == FM_OK && k < c->plan.candidates.count; k++) {
			if (chosen(o->candidates, c->plan.candidates.list[k].id))
				rc = again(c, stage, c->plan.systems[s].name,
				        c->plan.candidates.list[k].id, &count);
		}
	}
	if (rc == FM_OK && count == 0)
		rc = fm_fail(FM_ERR_USAGE, "-l and -c choose nothing of campaign %s", c->name);
	if (rc == FM_OK)
		fm_say("now: %s", fm_campaign_again(c, next, sizeof next));
	return rc;
}

int fm_cmd_redo(const struct fm_options *o, int *status)
{
	static const char *const on_hosts[] = {"push", "build", "kat", "measure", "collect", NULL};
	static const char *const here[] = {"verify", "merge", "report", NULL};
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_campaign c;
	const char *stage = o->argc > 0 ? o->argv[0] : "";
	int rc = FM_OK;

	*status = 0;
	if (!is_one_of(stage, on_hosts) && !is_one_of(stage, here))
		return fm_fail(FM_ERR_USAGE,
		        "redo: read '%.40s', allowed are push, build, kat, measure, collect, "
		        "verify, "
		        "merge, report",
		        stage);
	if (o->name == NULL && o->inventory == NULL)
		return fm_fail(
		        FM_ERR_USAGE, "redo %s of which campaign? name it, or give -i FILE", stage);
	if (o->inventory != NULL && (o->name == NULL || access(o->inventory, F_OK) == 0))
		rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_campaign_look(&c, o, &inv, &home, true);
	if (rc == FM_OK) {
		rc = is_one_of(stage, here) ? fm_stage_revoke(&c) : FM_OK;
		if (rc == FM_OK)
			rc = is_one_of(stage, here)
			             ? fm_run_finish(&c, status)
			             : redo_on_hosts(&c, o,
			                       strcmp(stage, "collect") == 0 ? "measure" : stage);
		fm_campaign_close(&c);
	}
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc;
}
