/* tree_read.c: reads tree.json of a tree folder. */
#include "orchestrator/fields.h"
#include "orchestrator/tree.h"
#include "protocol/fs.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define TREE_MAX (64u << 20)

#define STATUS "accepted failed missing rejected"

/* clang-format off */
#define T(m, t)    {#m, t, offsetof(struct fm_tree, m), NULL}
#define J(k, m, t) {k, t, offsetof(struct fm_tree_job, m), NULL}
#define C(k, m, t) {k, t, offsetof(struct fm_tree_cell, m), NULL}
#define JW(k, m)   {k, FM_WORD, offsetof(struct fm_tree_job, m), STATUS}
#define CW(k, m)   {k, FM_WORD, offsetof(struct fm_tree_cell, m), STATUS}
/* clang-format on */

static const struct fm_field top_fields[] = {FM_FIELD_SUB("schema"), FM_FIELD_SUB("jobs"),
        FM_FIELD_SUB("cells"), T(campaign, FM_NAME), T(plan_sha256, FM_HEX), T(sealed_at, FM_STAMP),
        T(previous_tree_sha256, FM_HEX0), T(publish, FM_INT), T(sequence, FM_INT),
        T(trust_version, FM_INT), FM_FIELD_END_EXACT};

static const struct fm_field job_fields[] = {J("system", system, FM_NAME),
        J("candidate", candidate, FM_NAME), J("attempt", attempt, FM_INT),
        J("job_nonce", job_nonce, FM_HEX0), J("issued_at", issued_at, FM_STAMP0),
        J("received_at", received_at, FM_STAMP0), J("manifest_sha256", manifest_sha256, FM_HEX0),
        J("host_key", host_key, FM_STR), JW("status", status), J("class", klass, FM_STR),
        J("reason", reason, FM_STR), J("text", text, FM_STR), FM_FIELD_END_EXACT};

static const struct fm_field cell_fields[] = {C("cell", cell, FM_STR), CW("status", status),
        C("class", klass, FM_STR), C("reason", reason, FM_STR), C("text", text, FM_STR),
        FM_FIELD_END_EXACT};
static int read_document(const struct fm_json_node *root, struct fm_tree *t)
{
	int rc;

	if ((rc = fm_fields_schema(root, "tree/1")) != FM_OK ||
	        (rc = fm_fields_read(root, top_fields, t)) != FM_OK ||
	        (rc = fm_fields_array(root, "jobs", job_fields, sizeof *t->jobs, &t->jobs,
	                 &t->job_count)) != FM_OK)
		return rc;
	return fm_fields_array(
	        root, "cells", cell_fields, sizeof *t->cells, &t->cells, &t->cell_count);
}

int fm_tree_read(int dirfd, struct fm_tree *out)
{
	struct fm_buf text = FM_BUF_INIT(TREE_MAX);
	struct fm_json *doc = NULL;
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_fs_read(dirfd, "tree.json", TREE_MAX, &text)) != FM_OK ||
	        (rc = fm_json_read("tree.json", text.data, text.len, TREE_MAX, &doc)) != FM_OK)
		goto out;
	out->owner = doc;
	rc = read_document(fm_json_root(doc), out);
out:
	if (rc != FM_OK)
		fm_tree_free(out);
	fm_buf_free(&text);
	return rc;
}

void fm_tree_free(struct fm_tree *t)
{
	free(t->jobs);
	free(t->cells);
	fm_json_free(t->owner);
	memset(t, 0, sizeof *t);
}
