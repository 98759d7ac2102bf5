/* tree_read.c: reads tree.json of a tree folder, with all cells or with those of one candidate at a
 * time. */
#include "orchestrator/fields.h"
#include "orchestrator/jsonlong.h"
#include "orchestrator/tree.h"
#include "protocol/fs.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

#define CELLS_MAX 1000000

static int read_head(const struct fm_json_node *root, struct fm_tree *t)
{
	const struct fm_json_node *cells;
	int rc;

	if ((rc = fm_fields_schema(root, "tree/1")) != FM_OK ||
	        (rc = fm_fields_read(root, top_fields, t)) != FM_OK ||
	        (rc = fm_json_array(root, "cells", &cells)) != FM_OK)
		return rc;
	return fm_fields_array(root, "jobs", job_fields, sizeof *t->jobs, &t->jobs, &t->job_count);
}

/* One allocation holds the five texts; the first of them is where it begins. */
static int keep(struct fm_tree *t, const struct fm_tree_cell *c)
{
	const char *text[] = {c->cell, c->status, c->klass, c->reason, c->text};
	struct fm_tree_cell *slot = fm_grow(&t->cells, &t->cell_count, sizeof *slot);
	const char **out[] = {NULL, NULL, NULL, NULL, NULL};
	size_t size = 0;
	char *at;

	if (slot == NULL)
		return FM_ERR_MEMORY;
	for (int i = 0; i < 5; i++)
		size += strlen(text[i]) + 1;
	if ((at = fm_alloc(size)) == NULL)
		return FM_ERR_MEMORY;
	out[0] = &slot->cell;
	out[1] = &slot->status;
	out[2] = &slot->klass;
	out[3] = &slot->reason;
	out[4] = &slot->text;
	for (int i = 0; i < 5; i++) {
		size = strlen(text[i]) + 1;
		*out[i] = memcpy(at, text[i], size);
		at += size;
	}
	return FM_OK;
}

/* Bytes of "system/candidate/"; 0 if there are no two slashes, or too much before them. */
static size_t prefix_of(const char *cell)
{
	const char *slash = strchr(cell, '/');

	slash = slash == NULL ? NULL : strchr(slash + 1, '/');
	return slash == NULL || slash - cell > 2 * FM_NAME_MAX + 1 ? 0 : (size_t)(slash - cell) + 1;
}

static int note(struct fm_tree *t, const struct fm_tree_cell *c, uint64_t offset)
{
	struct fm_tree_part *p = t->part_count == 0 ? NULL : &t->parts[t->part_count - 1];
	size_t n = prefix_of(c->cell);

	if (n == 0)
		return fm_fail(FM_ERR_FORM, "tree.json: %.200s is no cell", c->cell);
	if (p == NULL || strncmp(p->prefix, c->cell, n) != 0 || p->prefix[n] != '\0') {
		if ((p = fm_grow(&t->parts, &t->part_count, sizeof *p)) == NULL)
			return FM_ERR_MEMORY;
		memcpy(p->prefix, c->cell, n);
		p->offset = offset;
		if (t->part_count > 1 && strcmp(p[-1].prefix, p->prefix) >= 0)
			return fm_fail(FM_ERR_FORM, "tree.json: %.200s is out of order", c->cell);
	}
	p->count++;
	return FM_OK;
}

struct taking {
	struct fm_tree *tree;
	bool whole;
	size_t count;
};

static int take(void *arg, const struct fm_json_node *element, uint64_t offset)
{
	struct taking *t = arg;
	struct fm_tree_cell cell;
	int rc = fm_fields_read(element, cell_fields, &cell);

	if (rc != FM_OK)
		return rc;
	if (t->count++ == CELLS_MAX)
		return fm_json_fail(element, "too many elements");
	return t->whole ? keep(t->tree, &cell) : note(t->tree, &cell, offset);
}

static int open_tree(int dirfd, bool whole, struct fm_tree *out)
{
	struct fm_json_long d = {.what = "tree.json", .key = "cells", .fd = -1};
	struct taking t = {out, whole, 0};
	struct fm_json *rest = NULL;
	int rc;

	memset(out, 0, sizeof *out);
	if ((rc = fm_fs_open(dirfd, "tree.json", TREE_MAX, &d.fd)) == FM_OK &&
	        (rc = fm_json_long_open(&d, TREE_MAX, &rest)) == FM_OK) {
		out->owner = rest;
		if ((rc = read_head(fm_json_root(rest), out)) == FM_OK)
			rc = fm_json_long_each(&d, take, &t);
	}
	if (d.fd >= 0 && (whole || rc != FM_OK)) {
		close(d.fd);
		d.fd = -1;
	}
	out->fd = d.fd;
	if (rc != FM_OK)
		fm_tree_free(out);
	return rc;
}

int fm_tree_open(int dirfd, struct fm_tree *out)
{
	return open_tree(dirfd, false, out);
}

int fm_tree_read(int dirfd, struct fm_tree *out)
{
	return open_tree(dirfd, true, out);
}

void fm_tree_free(struct fm_tree *t)
{
	for (size_t i = 0; i < t->cell_count; i++)
		free((char *)(uintptr_t)t->cells[i].cell);
	if (t->owner != NULL && t->fd >= 0)
		close(t->fd);
	free(t->jobs);
	free(t->cells);
	free(t->parts);
	fm_json_free(t->owner);
	memset(t, 0, sizeof *t);
}

struct giving {
	const char *prefix;
	fm_tree_each *each;
	void *arg;
};

static int give(void *arg, const struct fm_json_node *element, uint64_t offset)
{
	const struct giving *g = arg;
	struct fm_tree_cell cell;
	int rc = fm_fields_read(element, cell_fields, &cell);

	(void)offset;
	if (rc == FM_OK && strncmp(cell.cell, g->prefix, strlen(g->prefix)) != 0)
		rc = fm_json_fail(element, "the file changed while it was read");
	return rc == FM_OK ? g->each(g->arg, &cell) : rc;
}

int fm_tree_part_cells(
        const struct fm_tree *t, const struct fm_tree_part *part, fm_tree_each *each, void *arg)
{
	const struct fm_json_long d = {.what = "tree.json", .key = "cells", .fd = t->fd};
	struct giving g = {part->prefix, each, arg};

	return fm_json_long_some(&d, part->offset, part->count, give, &g);
}

int fm_tree_cells(const struct fm_tree *t, const char *system, const char *candidate,
        fm_tree_each *each, void *arg)
{
	char prefix[2 * FM_NAME_MAX + 3];

	snprintf(prefix, sizeof prefix, "%s/%s/", system, candidate);
	for (size_t i = 0; i < t->part_count; i++)
		if (strcmp(t->parts[i].prefix, prefix) == 0)
			return fm_tree_part_cells(t, &t->parts[i], each, arg);
	return FM_OK;
}
