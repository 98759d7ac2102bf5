/* plan.h: the plan of a campaign: made from inventory, candidates and options, sealed by the
 * controller, read back by everyone. */
#ifndef FM_PLAN_H
#define FM_PLAN_H

#include "orchestrator/command.h"
#include "orchestrator/inventory.h"
#include "orchestrator/recipe.h"
#include "protocol/identity.h"

#define FM_SIZES 8
extern const unsigned fm_sizes[FM_SIZES]; /* 32 128 512 1024 4096 8192 16384 65536 bytes */

struct fm_plan_system {
	char name[FM_NAME_MAX + 1], arch[16];
	struct fm_public key;
	int cpu;
	bool raw;    /* counter = raw */
	char *about; /* "" if none */
};
struct fm_plan {
	char campaign[FM_NAME_MAX + 1], nonce[65], issued_at[21], expires_at[21], profile[16],
	        kat[16];
	char agent_source_sha256[65], test_world[65];
	int publish;
	struct fm_flags flags;
	struct fm_plan_system *systems; /* inventory order */
	size_t system_count;
	struct fm_candidates candidates;
	char **cells; /* "system/candidate/instance/version/operation", sorted by bytes */
	size_t cell_count;
};
void fm_plan_free(struct fm_plan *p);

/* Everything but keys, nonce and stamps: what `plan` previews. FM_ERR_CONFIG when nothing is left
 * to measure (an instance that excludes an architecture has no cells there). */
FM_CHECK int fm_plan_make(const struct fm_options *o, const struct fm_inventory *inv,
        const char *campaign, struct fm_plan *out);

/* Writes plan.json, SOURCES.sha256, kat.sha256, vectors/, jobs/<system>.txt into the empty folder
 * dirfd and seals it. Keys of the systems, nonce and stamps must be set. */
FM_CHECK int fm_plan_write(const struct fm_plan *p, int dirfd, const struct fm_identity *id);

/* Reads plan.json of a folder whose seal somebody has checked; kat lines and vectors' digests come
 * from kat.sha256. */
FM_CHECK int fm_plan_read(int dirfd, struct fm_plan *out);

/* The same, but the cells are only checked: out->cells stays empty. */
FM_CHECK int fm_plan_read_head(int dirfd, struct fm_plan *out);

/* The same recipe, cells, flags, systems? FM_ERR_CONFIG naming the first difference (campaign
 * resumed with edited sources). */
FM_CHECK int fm_plan_same(const struct fm_plan *sealed, const struct fm_plan *now);

/* The plain source files that differ between the two plans: calls told with candidate, "changed",
 * "new" or "gone", and path for the first FM_PLAN_CHANGES of them; returns how many there are. */
#define FM_PLAN_CHANGES 20
typedef void fm_plan_change(void *arg, const char *candidate, const char *what, const char *path);
size_t fm_plan_changes(
        const struct fm_plan *sealed, const struct fm_plan *now, fm_plan_change *told, void *arg);

/* Parts of a cell name; pointers into out. */
struct fm_cell {
	char text[512];
	const char *system, *candidate, *instance, *version, *operation;
	unsigned bytes; /* of hash_<bytes> */
};
FM_CHECK int fm_cell_parse(const char *cell, struct fm_cell *out);

const struct fm_plan_system *fm_plan_system(const struct fm_plan *p, const char *name);
const struct fm_candidate *fm_plan_candidate(const struct fm_plan *p, const char *id);
const struct fm_instance *fm_candidate_instance(const struct fm_candidate *c, const char *name);

#endif
