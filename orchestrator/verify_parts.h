/* verify_parts.h: what the parts of `verify` share; for verify*.c only. */
#ifndef FM_VERIFY_PARTS_H
#define FM_VERIFY_PARTS_H

#include "orchestrator/tree.h"
#include "orchestrator/trust.h"
#include "protocol/manifest.h"

struct fm_verify {
	int dirfd;
	const struct fm_public *anchor;
	fm_verify_report *report;
	void *arg;
	struct fm_verify_counts *counts; /* never NULL */
	int first;                       /* code of the first finding */
	struct fm_manifest files;        /* the tree's manifest */
	struct fm_trust trust, newer;
	bool has_newer;
	struct fm_plan plan;
	char plan_sha256[65];
	struct fm_tree tree;
};

/* Notes a finding; the first one becomes the result, all are reported. */
void fm_verify_find(struct fm_verify *v, int code, const char *where, const char *format, ...)
        FM_PRINTF(4, 5);

/* The same with this thread's error text. What is wrong with foreign bytes is a matter of
 * verification, whatever the program called it below. */
void fm_verify_error(struct fm_verify *v, int code, const char *where);

/* V7, V8, V10: tree.json against the plan and the folders in bundles/. False if the bundles cannot
 * be looked at, because its lists are not in order. */
bool fm_verify_tree(struct fm_verify *v);

/* V4, V9 to V15 of one accepted dispatch. */
void fm_verify_bundle(struct fm_verify *v, const struct fm_tree_job *job);

#endif
