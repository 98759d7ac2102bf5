/* verify_parts.h: what the parts of `verify` share; for verify*.c only. */
#ifndef FM_VERIFY_PARTS_H
#define FM_VERIFY_PARTS_H

#include "orchestrator/tree.h"
#include "orchestrator/trust.h"
#include "protocol/manifest_file.h"

struct fm_verify {
	int dirfd;
	const struct fm_public *anchor;
	fm_verify_report *report;
	void *arg;
	struct fm_verify_counts *counts; /* never NULL */
	int first;                       /* code of the first finding */
	struct fm_manifest_file *list;   /* the tree's manifest */
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

/* The accepted dispatch whose folder "bundles/<system>/<candidate>/" path lies in, or NULL. */
const struct fm_tree_job *fm_verify_job_of(const struct fm_tree *t, const char *path);

/* Calls one(v, e, arg) for every line of the tree's manifest; an error of reading it is noted. */
typedef void fm_verify_line(struct fm_verify *v, const struct fm_manifest_entry *e, void *arg);
void fm_verify_lines(struct fm_verify *v, fm_verify_line *one, void *arg);

/* V4, V9 to V15 of every accepted dispatch, one after the other in the order of their folders. */
void fm_verify_bundles(struct fm_verify *v);

#endif
