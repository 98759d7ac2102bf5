/* tree.h: tree.json, and the tree around it: written at the merge, read by verify, report and
 * compare. */
#ifndef FM_TREE_H
#define FM_TREE_H

#include "orchestrator/home.h"
#include "orchestrator/journal.h"
#include "orchestrator/plan.h"

struct fm_tree_job {
	const char *system, *candidate, *job_nonce, *issued_at, *received_at, *manifest_sha256,
	        *host_key, *status, *klass, *reason, *text;
	int64_t attempt;
};
struct fm_tree_cell {
	const char *cell, *status, *klass, *reason, *text;
};
/* The cells of one system and candidate, which stand together in tree.json. */
struct fm_tree_part {
	char prefix[2 * FM_NAME_MAX + 3]; /* "x86_1/hash-31/" */
	uint64_t offset;                  /* of the first */
	size_t count;
};
struct fm_tree {
	const char *campaign, *plan_sha256, *sealed_at, *previous_tree_sha256;
	int64_t publish, sequence, trust_version;
	struct fm_tree_job *jobs;
	size_t job_count;
	struct fm_tree_cell *cells; /* of fm_tree_read */
	size_t cell_count;
	struct fm_tree_part *parts; /* of fm_tree_open, sorted by prefix */
	size_t part_count;
	int fd; /* the file, of fm_tree_open, else -1 */
	void *owner;
};
FM_CHECK int fm_tree_read(int dirfd, struct fm_tree *out); /* tree.json of a tree folder */
void fm_tree_free(struct fm_tree *t);

/* The same without keeping the cells: all are checked, and fm_tree_cells reads those of one system
 * and candidate again, in their order; cell is valid during the call. */
FM_CHECK int fm_tree_open(int dirfd, struct fm_tree *out);
typedef int fm_tree_each(void *arg, const struct fm_tree_cell *cell);
FM_CHECK int fm_tree_cells(const struct fm_tree *t, const char *system, const char *candidate,
        fm_tree_each *each, void *arg);
FM_CHECK int fm_tree_part_cells(
        const struct fm_tree *t, const struct fm_tree_part *part, fm_tree_each *each, void *arg);

/* Merge: writes trust/ (copied from the home) and tree.json from plan, journal and accepted
 * bundles; nothing but stamps from sealed files and the one sealing time. dirfd =
 * results/<campaign>. */
FM_CHECK int fm_tree_merge(int dirfd, const struct fm_plan *plan, struct fm_journal *journal,
        const struct fm_home *home);

/* The last act: seals the tree, chains it (home's last tree), writes the journal line. sha256 gets
 * the tree number. FM_ERR_BUSY: another tree was sealed since the merge; merge again. */
FM_CHECK int fm_tree_seal(
        int dirfd, struct fm_journal *journal, struct fm_home *home, char sha256[65]);

/* Everything a stranger can check, offline (evidence guide V1 to V15). One call of report per
 * finding. counts may be NULL. */
struct fm_verify_counts {
	size_t bundles, cells_accepted, cells_failed, cells_missing, cells_rejected, files;
	uint64_t bytes;
	char sha256[65];
	int64_t publish;
	char campaign[65];
};
typedef void fm_verify_report(void *arg, int code, const char *where, const char *text);
FM_CHECK int fm_tree_verify(int dirfd, const struct fm_public *anchor, int newer_trust,
        fm_verify_report *report, void *arg, struct fm_verify_counts *counts);

#endif
