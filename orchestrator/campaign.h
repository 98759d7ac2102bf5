/* campaign.h: results/<campaign> on the controller: found or made, its plan sealed, its lock held;
 * and what the hosts' threads share. */
#ifndef FM_CAMPAIGN_H
#define FM_CAMPAIGN_H

#include "orchestrator/command.h"
#include "orchestrator/home.h"
#include "orchestrator/inventory.h"
#include "orchestrator/journal.h"
#include "orchestrator/plan.h"
#include "orchestrator/session.h"
#include <pthread.h>

struct fm_machine { /* who has been seen in this run */
	char system[FM_NAME_MAX + 1], machine[65], boot[65], host_key[64];
};

struct fm_campaign {
	char name[FM_NAME_MAX + 1];
	char *path;   /* results/<name> */
	int dirfd;    /* of it */
	int incoming; /* of incoming/ */
	struct fm_home *home;
	const struct fm_options *options;
	const struct fm_inventory *inventory;
	struct fm_agent_source agent;
	struct fm_plan plan;    /* as sealed */
	struct fm_plan current; /* made from the sources of now: has the trees to push */
	char plan_sha256[65];
	struct fm_journal *journal;
	bool resumed;

	pthread_mutex_t mutex; /* for what follows */
	struct fm_machine *machines;
	size_t machine_count;
	uint64_t cells_done, cells_total; /* of this run */
	size_t accepted, rejected;        /* bundles of this run */
};

/* Name of the campaign: --campaign or operand, else <inventory's stem>-<profile>. out has 65 bytes.
 */
FM_CHECK int fm_campaign_base(
        const struct fm_options *o, const struct fm_inventory *inv, char *out);

/* Which folder `run` goes on with: base, base.2, ... : the last one there, or the next number if
 * that is finished. *exists tells whether it has a sealed plan already. */
FM_CHECK int fm_campaign_pick(
        const char *results, const char *base, char name[FM_NAME_MAX + 1], bool *exists);

/* A name of which no folder is there yet: base-2, base-3, ... */
void fm_campaign_fresh_name(const char *results, const char *base, char name[FM_NAME_MAX + 1]);

/* Opens (makes) the campaign for running: folder, lock, plan made and sealed or compared with the
 * sources of now, journal begun. Every system of a new plan must be enrolled: FM_ERR_UNENROLLED
 * names those that are not, with the command. home must have its key. */
FM_CHECK int fm_campaign_open(struct fm_campaign *c, const struct fm_options *o,
        struct fm_inventory *inv, struct fm_home *home);

/* Only looks (status, cancel, redo with lock = true): plan and journal of the last campaign of that
 * name. */
FM_CHECK int fm_campaign_look(struct fm_campaign *c, const struct fm_options *o,
        const struct fm_inventory *inv, struct fm_home *home, bool lock);
void fm_campaign_close(struct fm_campaign *c);

/* The command that goes on with this campaign ("fleetmark run -i FILE NAME", "fleetmark try"); returns out. */
char *fm_campaign_again(const struct fm_campaign *c, char *out, size_t size);

/* Raises the count of finished cells and tells it. */
void fm_campaign_progress(struct fm_campaign *c, int64_t cells);

/* Opens incoming/logs/<system>.log for appending; -1 if that fails (a campaign goes on without). */
int fm_campaign_log(const struct fm_campaign *c, const char *system);

/* True for candidates that -c selects (all without -c). */
bool fm_campaign_wants(const struct fm_campaign *c, const char *candidate);

#endif
