/* cmd_cancel.c: `fleetmark cancel [NAME]`: ends a campaign's work on every host; what was measured
 * stays there. */
#include "orchestrator/campaign.h"
#include "orchestrator/command.h"
#include "orchestrator/out.h"
#include "orchestrator/pool.h"
#include "orchestrator/select_sets.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CANCEL_WAIT_S 15

struct call {
	const struct fm_campaign *campaign;
	const struct fm_system *system;
	char state[16], error[1000];
	int rc;
};

static void cancel(void *arg, int wake)
{
	struct call *x = arg;
	struct fm_session *s = NULL;

	x->rc = fm_session_open(&s, x->system, x->campaign->home, &x->campaign->agent, wake, -1);
	if (x->rc == FM_OK)
		x->rc = fm_session_cancel(s, x->campaign->name, x->state, CANCEL_WAIT_S);
	if (x->rc != FM_OK)
		snprintf(x->error, sizeof x->error, "%s", fm_error_text());
	fm_session_close(s);
}

static bool planned(const struct fm_campaign *c, const char *system)
{
	return fm_plan_system(&c->plan, system) != NULL;
}

static int cancel_all(const struct fm_campaign *c, const struct fm_inventory *inv, int *status)
{
	struct call *calls = fm_alloc_array(inv->count + 1, sizeof *calls);
	void **items = fm_alloc_array(inv->count + 1, sizeof *items);
	size_t count = 0;
	int rc = calls == NULL || items == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; rc == FM_OK && i < inv->count; i++) {
		if (!inv->systems[i].selected || !planned(c, inv->systems[i].name))
			continue;
		calls[count] = (struct call){.campaign = c, .system = &inv->systems[i]};
		items[count] = &calls[count];
		count++;
	}
	if (rc == FM_OK)
		rc = fm_pool_run(cancel, items, count, c->options->jobs);
	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		if (calls[i].rc == FM_OK) {
			fm_result("%s: %s", calls[i].system->name, calls[i].state);
			continue;
		}
		(void)fm_fail(calls[i].rc, "%s", calls[i].error);
		fm_out_error(calls[i].rc, calls[i].system->name, "cancel",
		        "its job ends by itself with its lease");
		*status = 1;
	}
	free(calls);
	free(items);
	return rc;
}

int fm_cmd_cancel(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_campaign c;
	char again[600];
	int rc;

	*status = 0;
	if (o->inventory == NULL)
		return fm_fail(FM_ERR_USAGE, "no inventory: give -i FILE or write ./fleetmark.ini");
	rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_select_systems(o, &inv, &home);
	if (rc == FM_OK)
		rc = fm_campaign_look(&c, o, &inv, &home, false);
	if (rc == FM_OK) {
		rc = cancel_all(&c, &inv, status);
		if (rc == FM_OK)
			fm_say("to go on later: %s", fm_campaign_again(&c, again, sizeof again));
		fm_campaign_close(&c);
	}
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc == FM_OK && *status != 0 ? FM_REPORTED : rc;
}
