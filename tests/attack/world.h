/* world.h: a small genuine campaign without a host: sources, keys, plan, bundles, sealed tree, made
 * with the program's own writers, so that tests can spoil it. */
#ifndef FM_TEST_WORLD_H
#define FM_TEST_WORLD_H

#include "protocol/error.h"
#include "protocol/path.h"
#include <stdbool.h>

struct world_size {
	unsigned systems, candidates, instances, sizes; /* sizes: 1 to 8 message lengths */
	const char *profile;                            /* smoke or guide */
};

/* What the host of a bundle reports. */
enum world_answer {
	WORLD_GOOD,
	WORLD_BUILD_FAILED, /* the last build fails: its cells are `failed` */
	WORLD_CELL_MISSING, /* the last cell is `missing` */
	WORLD_KAT_FAILED,   /* MISMATCH in the last unit: its cells are `failed`, class kat */
};

struct world;

/* Makes below the (new) folder: root/ (algos, kat, agent, protocol), home/ (the controller's,
 * also in $FLEETMARK_HOME), hosts/<system>/key, tree/plan and an open journal. Systems are x86_1,
 * arm_1, x86_2, ..., candidates tiny-1, tiny-2, ... Both FM_ERR codes and text as everywhere. */
FM_CHECK int world_open(const char *folder, const struct world_size *size, struct world **out);
void world_close(struct world *w);

const char *world_system(const struct world *w, unsigned i);
const char *world_candidate(const struct world *w, unsigned i);
int world_tree(const struct world *w); /* the open tree folder */

/* Issues a dispatch and ends it without a bundle. */
FM_CHECK int world_fail(struct world *w, unsigned system, unsigned candidate);

/* Issues a dispatch and leaves it open. */
FM_CHECK int world_leave(struct world *w, unsigned system, unsigned candidate);

/* Issues a dispatch, writes and seals the bundle as the host, accepts it. */
FM_CHECK int world_answer(
        struct world *w, unsigned system, unsigned candidate, enum world_answer answer);

/* The system did not answer at all. */
FM_CHECK int world_silent(struct world *w, unsigned system);

/* Seals what was merged before: FM_ERR_BUSY when its place in the chain is taken. */
FM_CHECK int world_seal_late(struct world *w, char sha256[65]);

/* Merges, writes data/ and pages (if pages), seals. sha256 gets the tree number. */
FM_CHECK int world_seal(struct world *w, bool pages, char sha256[65]);

/* The host's part, in world_host.c. */
struct world_job {
	const char *plan; /* path of the plan folder */
	const char *host; /* path of hosts/<system> */
	const char *arch, *system, *candidate, *nonce, *campaign, *plan_sha256;
	const char *sources; /* SOURCES.sha256 of the candidate */
	int attempt;
	enum world_answer answer;
};
FM_CHECK int world_bundle(const struct world_job *job, int out, char manifest[65]);

#endif
