/* run.c: opens a campaign, gives every host that owes something its thread, and finishes with what
 * came. */
#include "orchestrator/run.h"
#include "orchestrator/enrol.h"
#include "orchestrator/estimate.h"
#include "orchestrator/events.h"
#include "orchestrator/hint.h"
#include "orchestrator/host.h"
#include "orchestrator/notify.h"
#include "orchestrator/out.h"
#include "orchestrator/pool.h"
#include "orchestrator/stage_keep.h"
#include "orchestrator/stage_revoke.h"
#include "orchestrator/transport.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A local system needs nobody's word: whoever runs this owns it. */
static int enrol_local(
        const struct fm_options *o, const struct fm_inventory *inv, struct fm_home *home)
{
	struct fm_agent_source agent;
	int rc = fm_agent_source(o->root, &agent);

	for (size_t i = 0; rc == FM_OK && i < inv->count; i++) {
		const struct fm_system *sys = &inv->systems[i];
		struct fm_session *s = NULL;
		bool changed;

		if (!sys->selected || sys->transport != FM_TRANSPORT_LOCAL)
			continue;
		rc = fm_session_open(&s, sys, home, &agent, -1, -1);
		if (rc == FM_OK)
			rc = fm_enrol(home, s, sys->name, true, &changed);
		fm_session_close(s);
		if (rc != FM_OK)
			rc = fm_wrap(rc, "%s", sys->name);
	}
	fm_agent_source_free(&agent);
	return rc;
}

static bool has_cells(const struct fm_plan *p, const char *system, const char *candidate, size_t *n)
{
	char prefix[2 * FM_NAME_MAX + 3];
	size_t len = (size_t)snprintf(prefix, sizeof prefix, "%s/%s/", system, candidate);

	*n = 0;
	for (size_t i = 0; i < p->cell_count; i++)
		*n += strncmp(p->cells[i], prefix, len) == 0;
	return *n > 0;
}

/* The newest dispatch was refused here: nobody asks for it again but the operator, with redo. */
static bool was_rejected(struct fm_campaign *c, const char *system, const char *candidate)
{
	struct fm_job *jobs = NULL;
	size_t count = 0;
	bool rejected = false;
	char hint[1000];

	if (fm_journal_jobs(c->journal, &jobs, &count) != FM_OK)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(jobs[i].system, system) == 0 &&
		        strcmp(jobs[i].candidate, candidate) == 0)
			rejected = jobs[i].state == FM_JOB_REJECTED;
	}
	free(jobs);
	if (rejected)
		fm_say("%s %s: its bundle was rejected; to have it done again: %s", system,
		        candidate,
		        fm_hint(c->options, hint, sizeof hint, "redo measure -l %s -c %s %s",
		                system, candidate, c->name));
	return rejected;
}

/* What a system still owes: planned candidates without an accepted bundle. */
static int fill_host(struct fm_campaign *c, struct fm_host *h)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < c->current.candidates.count; i++) {
		const struct fm_candidate *k = &c->current.candidates.list[i];
		struct fm_host_job *j;
		struct fm_job job;
		bool found = false;
		size_t cells;

		if (!has_cells(&c->plan, h->system->name, k->id, &cells) ||
		        !fm_campaign_wants(c, k->id))
			continue;
		rc = fm_journal_accepted_job(c->journal, h->system->name, k->id, &job, &found);
		if (rc != FM_OK || found || was_rejected(c, h->system->name, k->id))
			continue;
		j = fm_grow(&h->jobs, &h->count, sizeof *j);
		if (j == NULL)
			return FM_ERR_MEMORY;
		j->candidate = k;
		c->cells_total += cells;
		rc = fm_journal_open_job(c->journal, h->system->name, k->id, &j->job, &j->issued);
	}
	return rc;
}

static int make_hosts(struct fm_campaign *c, struct fm_host **hosts, void ***items, size_t *count)
{
	int rc = FM_OK;

	*count = 0;
	*hosts = fm_alloc_array(c->inventory->count + 1, sizeof **hosts);
	*items = fm_alloc_array(c->inventory->count + 1, sizeof **items);
	if (*hosts == NULL || *items == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; rc == FM_OK && i < c->inventory->count; i++) {
		const struct fm_system *sys = &c->inventory->systems[i];
		struct fm_host *h = &(*hosts)[*count];

		if (!sys->selected)
			continue;
		*h = (struct fm_host){.campaign = c,
		        .system = sys,
		        .log = -1,
		        .wake = -1,
		        .planned = fm_plan_system(&c->plan, sys->name)};
		if (h->planned == NULL) {
			fm_say("%s: not in the plan of %s; it takes part in the next campaign",
			        sys->name, c->name);
			continue;
		}
		rc = fill_host(c, h);
		if (h->count > 0)
			(*items)[(*count)++] = h;
	}
	return rc;
}

/* What all this may take: the longest host, or the share of one of the threads if that is more. 0:
 * no idea. */
static uint64_t estimate_s(const struct fm_campaign *c, void *const *items, size_t count)
{
	size_t threads = c->options->jobs > 0 && (size_t)c->options->jobs < count
	                         ? (size_t)c->options->jobs
	                         : count;
	uint64_t longest = 0, all = 0;

	for (size_t i = 0; i < count; i++) {
		const struct fm_host *h = items[i];
		uint64_t host = FM_ESTIMATE_HOST_NS;
		struct fm_estimate e;

		for (size_t k = 0; k < h->count; k++) {
			if (fm_estimate_job(&c->plan, h->system->name, h->jobs[k].candidate->id,
			            c->options->results, &e) != FM_OK)
				return 0;
			host += e.ns;
		}
		all += host;
		longest = host > longest ? host : longest;
	}
	return (all / threads > longest ? all / threads : longest) / FM_S;
}

/* What the table and `watch` begin with. */
static void tell_begin(struct fm_campaign *c, void *const *items, size_t count)
{
	uint64_t s = estimate_s(c, items, count);

	fm_out_event(&(struct fm_event){.event = "campaign",
	        .text = c->name,
	        .total = c->cells_total,
	        .eta_s = s,
	        .has_eta = s > 0,
	        .quiet = true});
	for (size_t i = 0; i < count; i++) {
		const struct fm_host *h = items[i];

		fm_out_event(&(struct fm_event){
		        .event = "queued", .system = h->system->name, .quiet = true});
	}
}

static int run_hosts(struct fm_campaign *c)
{
	struct fm_host *hosts = NULL;
	void **items = NULL;
	size_t count = 0;
	int rc = make_hosts(c, &hosts, &items, &count);

	if (rc == FM_OK && count > 0) {
		fm_say("%s %s: %llu cells on %zu system%s", c->resumed ? "resuming" : "campaign",
		        c->name, (unsigned long long)c->cells_total, count, count == 1 ? "" : "s");
		fm_events_begin(c->incoming);
		tell_begin(c, items, count);
		rc = fm_pool_run(fm_host_run, items, count, c->options->jobs);
		fm_out_progress_end();
	} else if (rc == FM_OK) {
		fm_say("%s: nothing left to measure", c->name);
	}
	for (size_t i = 0; hosts != NULL && i < c->inventory->count; i++)
		free(hosts[i].jobs);
	free(hosts);
	free(items);
	return rc;
}

static const char *ending(int status)
{
	switch (status) {
	case 0:
		return "every planned cell is accepted";
	case 1:
		return "some cells failed; the rest is in the tree";
	case 3:
		return "nothing could be measured";
	default:
		return "verification failed";
	}
}

int fm_run_campaign(const struct fm_options *o, struct fm_inventory *inv, struct fm_home *home,
        int *status, char **path)
{
	struct fm_campaign c;
	char again[600];
	int rc = enrol_local(o, inv, home);

	*path = NULL;
	if (rc == FM_OK)
		rc = fm_notify_check(o);
	if (rc != FM_OK)
		return rc;
	rc = fm_campaign_open(&c, o, inv, home);
	if (rc != FM_OK)
		return rc;
	if (c.resumed)
		fm_say("resuming campaign %s (%s)", c.name, c.path);
	rc = fm_keep_repair(&c);
	if (rc == FM_OK)
		rc = fm_stage_revoke(&c);
	if (rc == FM_OK)
		rc = run_hosts(&c);
	if (rc == FM_ERR_INTERRUPTED) {
		fm_say("interrupted; what is there is kept. To go on: %s",
		        fm_campaign_again(&c, again, sizeof again));
		fm_out_event(
		        &(struct fm_event){.event = "interrupted", .text = again, .quiet = true});
		*status = 130;
		rc = FM_REPORTED;
	} else if (rc == FM_OK) {
		rc = fm_run_finish(&c, status);
		*path = fm_strdup(c.path);
		if (rc == FM_OK || rc == FM_REPORTED)
			fm_notify(&c, "ended", NULL, NULL, ending(*status), *status);
		else
			fm_notify(
			        &c, "needs_someone", NULL, fm_error_class(rc), fm_error_text(), -1);
	}
	fm_events_end();
	fm_campaign_close(&c);
	return rc;
}
