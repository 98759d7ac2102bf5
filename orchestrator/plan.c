/* plan.c: makes the plan of a campaign: which cells, with which recipe, on which systems. */
#include "orchestrator/plan.h"
#include "orchestrator/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEMS_MAX   256
#define INSTANCES_MAX 4096
#define CELLS_MAX     1000000

const unsigned fm_sizes[FM_SIZES] = {32, 128, 512, 1024, 4096, 8192, 16384, 65536};

void fm_plan_free(struct fm_plan *p)
{
	for (size_t i = 0; i < p->system_count; i++)
		free(p->systems[i].about);
	for (size_t i = 0; i < p->cell_count; i++)
		free(p->cells[i]);
	free(p->systems);
	free(p->cells);
	fm_flags_free(&p->flags);
	fm_recipe_free(&p->candidates);
	memset(p, 0, sizeof *p);
}

/* ---- options ---- */

static int take_profile(const struct fm_options *o, struct fm_plan *p)
{
	if (strcmp(o->profile, "smoke") != 0 && strcmp(o->profile, "guide") != 0 &&
	        strcmp(o->profile, "rigorous") != 0)
		return fm_fail(FM_ERR_USAGE,
		        "--profile: read '%.40s', allowed: smoke (seconds), guide (as the "
		        "published "
		        "pages), rigorous (until the interval is 0.5 %%)",
		        o->profile);
	if (strcmp(o->kat, "standard") != 0 && strcmp(o->kat, "loop") != 0 &&
	        strcmp(o->kat, "full") != 0)
		return fm_fail(FM_ERR_USAGE,
		        "--kat: read '%.40s', allowed: standard, loop (and KAT_Loop), full (and "
		        "the 1 GiB messages)",
		        o->kat);
	snprintf(p->profile, sizeof p->profile, "%s", o->profile);
	snprintf(p->kat, sizeof p->kat, "%s", o->kat);
	p->publish = strcmp(o->profile, "smoke") != 0;
	return FM_OK;
}

/* Keeps only the versions that --versions names. */
static int choose_versions(const char *list, struct fm_candidates *candidates)
{
	bool chosen[FM_VERSIONS] = {false};

	for (const char *p = list;; p++) {
		size_t len = strcspn(p, ",");
		int v = 0;

		while (v < FM_VERSIONS && !(strlen(fm_version_name[v]) == len &&
		                                  memcmp(fm_version_name[v], p, len) == 0))
			v++;
		if (v == FM_VERSIONS)
			return fm_fail(FM_ERR_USAGE,
			        "--versions: read '%.*s', allowed: reference, performance, "
			        "resource, joined by commas",
			        (int)(len < 40 ? len : 40), p);
		chosen[v] = true;
		p += len;
		if (*p == '\0')
			break;
	}
	for (size_t c = 0; c < candidates->count; c++)
		for (size_t i = 0; i < candidates->list[c].count; i++)
			for (int v = 0; v < FM_VERSIONS; v++)
				if (!chosen[v])
					candidates->list[c].instances[i].version[v].exists = false;
	return FM_OK;
}

/* Keeps the known-answer files that this campaign runs. */
static void choose_kat(const struct fm_plan *p, struct fm_instance *i)
{
	bool full = strcmp(p->kat, "full") == 0;
	bool loop = full || strcmp(p->kat, "loop") == 0 || strcmp(p->profile, "rigorous") == 0;
	size_t kept = 0;

	for (size_t k = 0; k < i->kat_count; k++) {
		const char *file = i->kat_lines[k].file;

		if (strncmp(file, "KAT_2_12_", 9) == 0 || strncmp(file, "KAT_2_23_", 9) == 0 ||
		        (full && strncmp(file, "KAT_2_33_", 9) == 0) ||
		        (loop && strncmp(file, "KAT_Loop_", 9) == 0))
			i->kat_lines[kept++] = i->kat_lines[k];
		else
			free(i->kat_lines[k].file);
	}
	i->kat_count = kept;
}

/* ---- cells ---- */

static int take_systems(const struct fm_inventory *inv, struct fm_plan *p)
{
	for (size_t i = 0; i < inv->count; i++) {
		const struct fm_system *s = &inv->systems[i];
		struct fm_plan_system *to;

		if (!s->selected)
			continue;
		if ((to = fm_grow(&p->systems, &p->system_count, sizeof *to)) == NULL ||
		        (to->about = fm_strdup(s->about == NULL ? "" : s->about)) == NULL)
			return FM_ERR_MEMORY;
		memcpy(to->name, s->name, sizeof to->name);
		memcpy(to->arch, s->arch, sizeof to->arch);
		to->cpu = s->cpu;
		to->raw = s->raw;
	}
	return p->system_count > SYSTEMS_MAX
	               ? fm_fail(FM_ERR_CONFIG, "more than %d systems", SYSTEMS_MAX)
	               : FM_OK;
}

static bool runs_on(const struct fm_instance *i, const char *arch)
{
	for (size_t n = 0; n < i->arch.count; n++)
		if (strcmp(i->arch.word[n], arch) == 0)
			return true;
	return i->arch.count == 0;
}

static int add_cells(struct fm_plan *p, const struct fm_plan_system *s,
        const struct fm_candidate *c, const struct fm_instance *i)
{
	for (int v = 0; v < FM_VERSIONS; v++) {
		if (!i->version[v].exists)
			continue;
		if (fm_flags_find(&p->flags, s->arch, v) == NULL)
			return fm_fail(FM_ERR_CONFIG, "algos/flags.ini has no section [%s %s]",
			        s->arch, fm_version_name[v]);
		for (size_t n = 0; n < FM_SIZES; n++) {
			char **slot;

			if (p->cell_count >= CELLS_MAX)
				return fm_fail(FM_ERR_CONFIG,
				        "more than %d cells; choose fewer with -l and -c",
				        CELLS_MAX);
			if ((slot = fm_grow(&p->cells, &p->cell_count, sizeof *slot)) == NULL ||
			        (*slot = fm_sprintf("%s/%s/%s/%s/hash_%u", s->name, c->id, i->name,
			                 fm_version_name[v], fm_sizes[n])) == NULL)
				return FM_ERR_MEMORY;
		}
	}
	return FM_OK;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int make_cells(struct fm_plan *p)
{
	size_t instances = 0;
	int rc = FM_OK;

	for (size_t s = 0; s < p->system_count; s++)
		for (size_t c = 0; c < p->candidates.count; c++)
			for (size_t i = 0; rc == FM_OK && i < p->candidates.list[c].count; i++)
				if (runs_on(&p->candidates.list[c].instances[i],
				            p->systems[s].arch))
					rc = add_cells(p, &p->systems[s], &p->candidates.list[c],
					        &p->candidates.list[c].instances[i]);
	for (size_t c = 0; c < p->candidates.count; c++)
		instances += p->candidates.list[c].count;
	if (rc == FM_OK && instances > INSTANCES_MAX)
		rc = fm_fail(FM_ERR_CONFIG, "more than %d instances; choose fewer with -c",
		        INSTANCES_MAX);
	if (rc == FM_OK && p->cell_count == 0)
		rc = fm_fail(FM_ERR_CONFIG, "nothing is left to measure: no chosen instance has "
		                            "the chosen version on an "
		                            "architecture of the chosen systems");
	if (rc == FM_OK)
		qsort(p->cells, p->cell_count, sizeof *p->cells, by_text);
	return rc;
}

int fm_plan_make(const struct fm_options *o, const struct fm_inventory *inv, const char *campaign,
        struct fm_plan *out)
{
	struct fm_agent_source agent;
	int rc;

	memset(out, 0, sizeof *out);
	memset(&agent, 0, sizeof agent);
	if ((rc = fm_name_check("campaign", campaign)) != FM_OK)
		return rc;
	memcpy(out->campaign, campaign, strlen(campaign) + 1);
	if ((rc = take_profile(o, out)) != FM_OK || (rc = take_systems(inv, out)) != FM_OK ||
	        (rc = fm_recipe_load(o->root, o->candidates, &out->candidates)) != FM_OK ||
	        (rc = choose_versions(o->versions, &out->candidates)) != FM_OK ||
	        (rc = fm_flags_load(o->root, &out->flags)) != FM_OK ||
	        (rc = fm_agent_source(o->root, &agent)) != FM_OK)
		goto out;
	memcpy(out->agent_source_sha256, agent.sha256, sizeof out->agent_source_sha256);
	for (size_t c = 0; c < out->candidates.count; c++)
		for (size_t i = 0; i < out->candidates.list[c].count; i++)
			choose_kat(out, &out->candidates.list[c].instances[i]);
	rc = make_cells(out);
out:
	fm_agent_source_free(&agent);
	if (rc != FM_OK)
		fm_plan_free(out);
	return rc;
}

/* ---- looking ---- */

int fm_cell_parse(const char *cell, struct fm_cell *out)
{
	const char *part[5] = {NULL};
	uint64_t bytes = 0;
	size_t parts = 0, len = strlen(cell);
	bool ok = false;
	char shown[120];

	memset(out, 0, sizeof *out);
	if (len < sizeof out->text) {
		memcpy(out->text, cell, len + 1);
		part[parts++] = out->text;
		for (char *p = out->text; *p != '\0'; p++)
			if (*p == '/') {
				*p = '\0';
				if (parts < 5)
					part[parts] = p + 1;
				parts++;
			}
	}
	if (parts == 5) {
		for (int v = 0; v < FM_VERSIONS; v++)
			ok |= strcmp(part[3], fm_version_name[v]) == 0;
		ok = ok && fm_name_ok(part[0]) && fm_name_ok(part[1]) && fm_name_ok(part[2]) &&
		     strncmp(part[4], "hash_", 5) == 0 &&
		     fm_parse_u64(part[4] + 5, 16777216, &bytes) == FM_OK && bytes > 0;
	}
	if (!ok)
		return fm_fail(FM_ERR_FORM,
		        "'%s' is no cell (system/candidate/instance/version/hash_<bytes>)",
		        fm_escape(cell, len, shown, sizeof shown));
	out->system = part[0];
	out->candidate = part[1];
	out->instance = part[2];
	out->version = part[3];
	out->operation = part[4];
	out->bytes = (unsigned)bytes;
	return FM_OK;
}

const struct fm_plan_system *fm_plan_system(const struct fm_plan *p, const char *name)
{
	for (size_t i = 0; i < p->system_count; i++)
		if (strcmp(p->systems[i].name, name) == 0)
			return &p->systems[i];
	return NULL;
}

const struct fm_candidate *fm_plan_candidate(const struct fm_plan *p, const char *id)
{
	size_t from = 0, to = p->candidates.count;

	while (from < to) { /* sorted by id */
		size_t middle = from + (to - from) / 2;
		int order = strcmp(id, p->candidates.list[middle].id);

		if (order == 0)
			return &p->candidates.list[middle];
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return NULL;
}

const struct fm_instance *fm_candidate_instance(const struct fm_candidate *c, const char *name)
{
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->instances[i].name, name) == 0)
			return &c->instances[i];
	return NULL;
}
