/* cmd_status.c: `fleetmark status [NAME]`: what a campaign has done, from its journal; contacts
 * nobody. */
#include "orchestrator/campaign.h"
#include "orchestrator/command.h"
#include "orchestrator/events.h"
#include "orchestrator/live.h"
#include "orchestrator/out.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_name[] = {[FM_JOB_ISSUED] = "dispatched",
        [FM_JOB_RECEIVED] = "received",
        [FM_JOB_ACCEPTED] = "accepted",
        [FM_JOB_REJECTED] = "rejected",
        [FM_JOB_ENDED] = "failed",
        [FM_JOB_SUPERSEDED] = "to be done again"};

struct row {
	const char *state, *klass, *reason, *text;
	int attempt;
};

/* The last dispatch of a system and candidate. */
static struct row last_of(
        const struct fm_job *jobs, size_t count, const char *system, const char *candidate)
{
	struct row r = {"not dispatched yet", "", "", "", 0};

	for (size_t i = 0; i < count; i++) {
		const struct fm_job *j = &jobs[i];

		if (strcmp(j->system, system) == 0 && strcmp(j->candidate, candidate) == 0)
			r = (struct row){
			        state_name[j->state], j->klass, j->reason, j->text, j->attempt};
	}
	return r;
}

static void show(
        const struct fm_options *o, const char *system, const char *candidate, const struct row *r)
{
	fm_out_event(&(struct fm_event){.event = "status",
	        .system = system,
	        .candidate = candidate,
	        .stage = r->state,
	        .klass = r->klass,
	        .reason = r->reason,
	        .text = r->text,
	        .quiet = true});
	if (o->json)
		return;
	fm_result("  %-10s %-24s %s%s%s%s%s", system, candidate, r->state,
	        r->klass[0] != '\0' ? "  " : "", r->klass, r->text[0] != '\0' ? ": " : "", r->text);
}

static int show_all(struct fm_campaign *c, const struct fm_options *o)
{
	struct fm_job *jobs = NULL;
	size_t count = 0, accepted = 0, all = 0;
	char sha256[65];
	int rc = fm_journal_jobs(c->journal, &jobs, &count);

	if (rc != FM_OK)
		return rc;
	fm_result("%s (%s), profile %s, planned %s", c->name, c->path, c->plan.profile,
	        c->plan.issued_at);
	for (size_t s = 0; s < c->plan.system_count; s++) {
		char klass[24], reason[24], text[256];

		for (size_t k = 0; k < c->plan.candidates.count; k++) {
			struct row r = last_of(jobs, count, c->plan.systems[s].name,
			        c->plan.candidates.list[k].id);

			show(o, c->plan.systems[s].name, c->plan.candidates.list[k].id, &r);
			accepted += strcmp(r.state, state_name[FM_JOB_ACCEPTED]) == 0;
			all++;
		}
		fm_journal_host_state(c->journal, c->plan.systems[s].name, klass, reason, text);
		if (klass[0] != '\0')
			fm_result("  %-10s last seen: %s/%s: %s", c->plan.systems[s].name, klass,
			        reason, text);
	}
	fm_result("%zu of %zu bundles accepted%s%s", accepted, all,
	        fm_journal_is_sealed(c->journal, sha256) ? ", sealed as tree " : ", not sealed yet",
	        fm_journal_is_sealed(c->journal, sha256) ? sha256 : "");
	free(jobs);
	return FM_OK;
}

static void fold(void *arg, const struct fm_event *e)
{
	uint64_t now = fm_out_now(), age = e->age_s * 1000000000ULL;

	fm_live_take(arg, e, now > age ? now - age : 1);
}

/* Who works on it, and what each host is doing: as `watch` shows it, once. */
static int show_now(const struct fm_campaign *c, const struct fm_options *o)
{
	struct fm_buf table = FM_BUF_INIT(1u << 20);
	struct fm_live live = {.count = 0};
	struct fm_events events = {.fd = -1};
	char who[300], *save = NULL;
	int rc = FM_OK;

	if (!fm_events_writer(c->incoming, who)) {
		fm_say("no controller works on it now");
		return FM_OK;
	}
	fm_say("a controller works on it: %s", who);
	if (o->json)
		return FM_OK;
	rc = fm_events_open(&events, c->incoming);
	if (rc == FM_OK)
		rc = fm_events_read(&events, fold, &live, NULL);
	if (rc == FM_OK && fm_live_draw(&live, 160, live.count + 3, fm_out_now(), &table) > 0)
		for (char *line = strtok_r(table.data, "\n", &save); line != NULL;
		        line = strtok_r(NULL, "\n", &save))
			fm_result("%s", line);
	fm_events_close(&events);
	fm_live_free(&live);
	fm_buf_free(&table);
	return rc == FM_ERR_REFUSED ? FM_OK : rc;
}

int fm_cmd_status(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_campaign c;
	int rc = FM_OK;

	*status = 0;
	if (o->inventory == NULL && o->name == NULL)
		return fm_fail(FM_ERR_USAGE, "status of which campaign? name it, or give -i FILE; "
		                             "fleetmark list shows what is there");
	if (o->inventory != NULL && o->name == NULL)
		rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_campaign_look(&c, o, o->name == NULL ? &inv : NULL, &home, false);
	if (rc == FM_OK) {
		rc = show_all(&c, o);
		if (rc == FM_OK)
			rc = show_now(&c, o);
		fm_campaign_close(&c);
	}
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc;
}
