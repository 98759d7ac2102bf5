/* plan_job.c: the plan as one system's agent reads it: job text with the whole recipe and nothing
 * that people wrote. */
#include "orchestrator/plan_parts.h"
#include <string.h>

static int put_words(struct fm_buf *b, const char *key, const struct fm_words *words)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < words->count; i++)
		rc = fm_text_put(b, key, "%s", words->word[i]);
	return rc;
}

static int put_head(struct fm_buf *b, const struct fm_plan *p, const struct fm_plan_system *s)
{
	char key[FM_PUBLIC_LINE + 1];
	int rc;

	fm_public_line(&s->key, key);
	if ((rc = fm_text_put(b, "campaign", "%s", p->campaign)) != FM_OK ||
	        (rc = fm_text_put(b, "system", "%s", s->name)) != FM_OK ||
	        (rc = fm_text_put(b, "arch", "%s", s->arch)) != FM_OK ||
	        (rc = fm_text_put(b, "key", "%s", key)) != FM_OK ||
	        (rc = fm_text_put(b, "nonce", "%s", p->nonce)) != FM_OK ||
	        (rc = fm_text_put(b, "profile", "%s", p->profile)) != FM_OK ||
	        (rc = fm_text_put(b, "kat", "%s", p->kat)) != FM_OK ||
	        (rc = fm_text_put(b, "cpu", "%d", s->cpu)) != FM_OK ||
	        (s->raw && (rc = fm_text_put(b, "counter", "raw")) != FM_OK) ||
	        (rc = fm_text_put(b, "agent_source", "%s", p->agent_source_sha256)) != FM_OK ||
	        (rc = fm_text_put(b, "additions", "%s", p->flags.additions)) != FM_OK)
		return rc;
	return fm_text_put(b, "fallback", "%s", p->flags.fallback);
}

static int put_candidate(struct fm_buf *b, const struct fm_candidate *c)
{
	int rc;

	if ((rc = fm_text_put(b, "candidate", "%s", c->id)) != FM_OK ||
	        (rc = fm_text_put(b, "source", "%s", c->source_sha256)) != FM_OK ||
	        (rc = fm_text_put(b, "tree", "%s", c->tree_sha256)) != FM_OK)
		return rc;
	return c->vectors.len == 0 ? FM_OK
	                           : fm_text_put(b, "vectors_file", "vectors/%s.txt", c->id);
}

static int put_instance(struct fm_buf *b, const struct fm_instance *i)
{
	int rc;

	if ((rc = fm_text_put(b, "instance", "%s", i->name)) != FM_OK ||
	        (rc = fm_text_put(b, "digest_bits", "%d", i->digest_bits)) != FM_OK ||
	        (rc = fm_text_put(b, "digest", "%s", i->digest_any ? "any" : "fixed")) != FM_OK ||
	        (rc = fm_text_put(b, "header", "%s", i->header)) != FM_OK ||
	        (rc = fm_text_put(b, "kat_name", "%s", i->kat)) != FM_OK ||
	        (rc = put_words(b, "include", &i->include)) != FM_OK ||
	        (rc = put_words(b, "define", &i->defines)) != FM_OK ||
	        (rc = put_words(b, "lib", &i->libs)) != FM_OK)
		return rc;
	for (size_t k = 0; k < i->kat_count; k++)
		if ((rc = fm_text_put(b, "kat_line", "%s %s %s", i->kat_lines[k].sha256,
		             i->kat_lines[k].mode, i->kat_lines[k].file)) != FM_OK)
			return rc;
	if (i->vectors > 0)
		return fm_text_put(
		        b, "kat_line", "%s vectors:%zu vectors.txt", i->vectors_sha256, i->vectors);
	return FM_OK;
}

static int put_version(struct fm_buf *b, const struct fm_plan *p, const struct fm_plan_system *s,
        const struct fm_instance *i, int v)
{
	const struct fm_flags_line *flags = fm_flags_find(&p->flags, s->arch, v);
	int rc;

	if (flags == NULL)
		return fm_fail(FM_ERR_CONFIG, "no flags for %s %s", s->arch, fm_version_name[v]);
	if ((rc = fm_text_put(b, "version", "%s", fm_version_name[v])) != FM_OK ||
	        (rc = fm_text_put(b, "flags", "%s", flags->flags)) != FM_OK)
		return rc;
	if (flags->mark[0] != '\0' &&
	        (rc = fm_text_put(b, "flags_mark", "%s", flags->mark)) != FM_OK)
		return rc;
	return put_words(b, "source_file", &i->version[v].sources);
}

/* Writes what is new in this cell compared with the one before: candidate, instance, version;
 * always the operation. */
static int put_cell(struct fm_buf *b, const struct fm_plan *p, const struct fm_plan_system *s,
        const struct fm_cell *cell, const struct fm_cell *before)
{
	const struct fm_candidate *c = fm_plan_candidate(p, cell->candidate);
	const struct fm_instance *i = c == NULL ? NULL : fm_candidate_instance(c, cell->instance);
	bool new_candidate =
	        before->system == NULL || strcmp(before->candidate, cell->candidate) != 0;
	bool new_instance = new_candidate || strcmp(before->instance, cell->instance) != 0;
	bool new_version = new_instance || strcmp(before->version, cell->version) != 0;
	int v = 0, rc = FM_OK;

	while (v < FM_VERSIONS && strcmp(fm_version_name[v], cell->version) != 0)
		v++;
	if (i == NULL || v == FM_VERSIONS)
		return fm_fail(FM_ERR_INTERNAL, "a cell without a recipe: %s/%s", cell->candidate,
		        cell->instance);
	if (new_candidate)
		rc = put_candidate(b, c);
	if (rc == FM_OK && new_instance)
		rc = put_instance(b, i);
	if (rc == FM_OK && new_version)
		rc = put_version(b, p, s, i, v);
	return rc == FM_OK ? fm_text_put(b, "operation", "%s", cell->operation) : rc;
}

int fm_plan_job(const struct fm_plan *p, const struct fm_plan_system *s, struct fm_buf *out)
{
	struct fm_cell two[2], *cell = &two[0], *before = &two[1], *swap;
	size_t name = strlen(s->name);
	int rc;

	memset(two, 0, sizeof two);
	if ((rc = fm_text_begin(out, "plan")) != FM_OK || (rc = put_head(out, p, s)) != FM_OK)
		return rc;
	for (size_t i = 0; i < p->cell_count; i++) {
		if (strncmp(p->cells[i], s->name, name) != 0 || p->cells[i][name] != '/')
			continue;
		if ((rc = fm_cell_parse(p->cells[i], cell)) != FM_OK ||
		        (rc = put_cell(out, p, s, cell, before)) != FM_OK)
			return rc;
		swap = before;
		before = cell;
		cell = swap;
	}
	return fm_text_end(out);
}
