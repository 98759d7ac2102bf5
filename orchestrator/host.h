/* host.h: one system of a running campaign: its session, the dispatches it still owes, and the
 * stages one after the other. */
#ifndef FM_HOST_H
#define FM_HOST_H

#include "orchestrator/campaign.h"

struct fm_host_job {
	const struct fm_candidate *candidate; /* of the campaign's current plan: has its tree */
	struct fm_job job;                    /* the dispatch, once issued */
	bool issued, done;                    /* done: accepted, rejected or ended in this run */
	bool offered;                         /* its bundle line was seen in progress */
};

struct fm_host {
	struct fm_campaign *campaign;
	const struct fm_system *system;
	const struct fm_plan_system *planned;
	struct fm_session *session;
	struct fm_host_job *jobs; /* what this run wants of it */
	size_t count;
	int log, wake;
	uint64_t offset;  /* of the remote progress file */
	uint64_t history; /* lines before this offset were there when we came: not told again */
	bool running;     /* a job of this campaign runs there as far as we know */
	char told[96];    /* stage and candidate of the last line that people saw */
	bool reached;     /* a session stood at least once in this run */
	char end_state[16], end_class[24], end_reason[24],
	        end_text[256]; /* of the last `end` line */
	int rc;                /* outcome of the host: FM_OK or why it failed */
	char text[1000];       /* words of it */
};

/* Thread entry: everything of one host, with retries; outcome in rc and text, told by events and
 * the journal. */
void fm_host_run(void *host, int wake);

/* Facts against inventory, plan and the other hosts of this run. */
FM_CHECK int fm_host_identity(struct fm_host *h);

/* The host can be measured as what the inventory calls it: same architecture (FM_ERR_ARCH), every tool there (FM_ERR_MISSING,
 * with the command that installs it). */
FM_CHECK int fm_facts_fit(const struct fm_facts *f, const char *arch);

/* Missing source trees of the open jobs, one tar stream. */
FM_CHECK int fm_stage_push(struct fm_host *h);

/* Plan folder, dispatches issued in the journal, start. */
FM_CHECK int fm_stage_start(struct fm_host *h);

/* Whether a job of this campaign is known there: none, running, finished, dead. */
FM_CHECK int fm_stage_status(struct fm_host *h, char state[16]);

/* Follows progress to the end of the job (*state); collects its bundles: at the end, or as they are
 * told where times are not for publication. */
FM_CHECK int fm_stage_follow(struct fm_host *h, char state[16]);

/* Fetches, checks and accepts (or rejects) the bundle of one dispatch. FM_OK also when it was
 * rejected: the job is done then. */
FM_CHECK int fm_stage_collect(struct fm_host *h, struct fm_host_job *j);

/* An event with this host's name. */
void fm_host_event(const struct fm_host *h, const char *event, const char *stage,
        const char *candidate, const char *format, ...) FM_PRINTF(5, 6);

#endif
