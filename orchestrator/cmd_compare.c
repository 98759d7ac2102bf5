/* cmd_compare.c: `fleetmark compare TREE [TREE]`: campaigns, systems or versions against each
 * other; the exit status is for scripts. */
#include "orchestrator/anchor.h"
#include "orchestrator/compare.h"
#include "orchestrator/out.h"
#include "orchestrator/tree.h"
#include "protocol/digest.h"

#include <string.h>

static void finding(void *arg, int code, const char *where, const char *text)
{
	(void)arg;
	(void)fm_fail(code, "%s: %s", where, text);
	fm_out_error(code, NULL, "verify", NULL);
}

/* With --key the seals are checked first; without, it is said that they were not. */
static int check_seals(const struct fm_options *o, const struct fm_compare *c)
{
	struct fm_verify_counts counts;
	struct fm_public anchor;
	bool tree = false;
	int rc = FM_OK;

	for (size_t k = 0; k < c->input_count; k++)
		tree = tree || c->input[k].tree;
	if (o->anchor == NULL) {
		if (tree)
			fm_say("compare: seals were not checked; --key FILE does it, and fleetmark "
			       "verify");
		return FM_OK;
	}
	if ((rc = fm_anchor_read(o, &anchor)) != FM_OK)
		return rc;
	for (size_t k = 0; k < c->input_count && rc == FM_OK; k++)
		if (c->input[k].tree && (rc = fm_tree_verify(c->input[k].dirfd, &anchor, -1,
		                                 finding, NULL, &counts)) != FM_OK)
			rc = fm_fail(FM_ERR_SIGNATURE, "%s does not verify, so it is not compared",
			        c->input[k].path);
	return rc;
}

/* 0: no difference shown; 1: a difference shown; 3: not one interval to decide by. */
static int status_of(const struct fm_compare *c)
{
	if (c->count[FM_VERDICT_LESS] + c->count[FM_VERDICT_MORE] > 0)
		return 1;
	return c->count[FM_VERDICT_SAME] > 0 ? 0 : 3;
}

/* Joining unlike labels is a usage error, said once, with both labels and systems; what could be
 * compared was printed. */
static int tell_unlike(const struct fm_compare *c)
{
	for (size_t i = 0; i < c->row_count; i++) {
		const struct fm_compare_row *r = &c->rows[i];
		const struct fm_compare_pair *p = &c->pairs[r->pair];
		if (r->not_joined)
			return fm_fail(FM_ERR_USAGE,
			        "%s (A: %s, B: %s), %zu of %zu rows; only the time of such rows "
			        "is compared",
			        r->why, p->name[0], p->name[1], c->unlike, c->row_count);
	}
	return FM_OK;
}

static bool is_version(const char *name)
{
	for (int v = 0; v < FM_VERSIONS; v++)
		if (strcmp(fm_version_name[v], name) == 0)
			return true;
	return false;
}

static int run(const struct fm_options *o, struct fm_compare *c, int *status)
{
	int rc = FM_OK;

	c->systems = o->limit;
	c->candidates = o->candidates;
	c->base_version = "reference";
	if (o->base != NULL && is_version(o->base)) {
		if (o->argc == 2)
			return fm_fail(FM_ERR_USAGE, "--base %s compares the versions in one tree",
			        o->base);
		c->versions = true;
		c->base_version = o->base;
	}
	for (int k = 0; k < o->argc && rc == FM_OK; k++) {
		c->input_count++; /* counted first: closed whatever happens */
		rc = fm_input_open(o->argv[k], NULL, &c->input[k]);
	}
	if (rc != FM_OK || (rc = check_seals(o, c)) != FM_OK ||
	        (rc = fm_compare_pairs(c, c->versions ? NULL : o->base)) != FM_OK ||
	        (rc = fm_compare_cells(c)) != FM_OK)
		return rc;
	if (c->row_count == 0)
		return fm_fail(
		        FM_ERR_USAGE, "nothing to compare: no chosen candidate has cells there");
	fm_compare_finish(c);
	fm_compare_print(c, o->json);
	*status = status_of(c);
	return tell_unlike(c);
}

int fm_cmd_compare(const struct fm_options *o, int *status)
{
	struct fm_compare c;
	int rc;

	memset(&c, 0, sizeof c);
	rc = run(o, &c, status);
	fm_compare_free(&c);
	return rc;
}
