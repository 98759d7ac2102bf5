/* cmd_watch.c: `fleetmark watch [NAME]`: shows a campaign that another process runs, as `run`
 * itself would; contacts nobody. */
#include "orchestrator/campaign.h"
#include "orchestrator/command.h"
#include "orchestrator/events.h"
#include "orchestrator/out.h"
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 250

struct watch {
	bool past;  /* what happened before we came: only for the table */
	bool begun; /* a run was seen */
	bool ended; /* and has ended */
	char how[300];
};

static void each(void *arg, const struct fm_event *e)
{
	struct watch *w = arg;
	struct fm_event shown = *e;

	if (strcmp(e->event, "campaign") == 0) {
		w->begun = true;
		w->ended = false;
	}
	if (strcmp(e->event, "finished") == 0 || strcmp(e->event, "interrupted") == 0) {
		w->ended = true;
		snprintf(w->how, sizeof w->how, "%s %s", e->event, e->text == NULL ? "" : e->text);
	}
	if (strcmp(e->event, "note") == 0 || strcmp(e->event, "result") == 0)
		return;
	shown.past = w->past;
	fm_out_event(&shown);
}

static int watch(struct fm_campaign *c)
{
	struct watch w = {.past = true};
	struct fm_events events;
	char who[300], again[600];
	int rc = fm_events_open(&events, c->incoming);

	while (rc == FM_OK) {
		/* asked before reading: what a controller wrote before it ended is then read, too
		 */
		bool held = fm_events_writer(c->incoming, who);

		rc = fm_events_read(&events, each, &w, NULL);
		if (rc == FM_OK && w.past && held)
			fm_say("watching %s: %s", c->name, who);
		w.past = false;
		if (rc != FM_OK || !held || w.ended)
			break;
		fm_out_tick();
		(void)poll(NULL, 0, LOOK_MS);
	}
	fm_out_progress_end();
	if (rc == FM_OK && w.ended)
		fm_say("%s: %s", c->name, w.how);
	if (rc == FM_OK && !w.ended)
		fm_say("no controller works on %s now; its jobs on the hosts may go on. To go on: "
		       "%s",
		        c->name, fm_campaign_again(c, again, sizeof again));
	fm_events_close(&events);
	return rc;
}

int fm_cmd_watch(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_campaign c;
	int rc = FM_OK;

	*status = 0;
	if (o->inventory != NULL && o->name == NULL)
		rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_campaign_look(&c, o, o->name == NULL ? &inv : NULL, &home, false);
	if (rc == FM_OK) {
		rc = watch(&c);
		fm_campaign_close(&c);
	}
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc;
}
