/* cmd_plan.c: `fleetmark plan`: previews a campaign and contacts nobody; equal input gives equal
 * bytes. */
#include "orchestrator/campaign.h"
#include "orchestrator/estimate.h"
#include "orchestrator/out.h"
#include "orchestrator/select_sets.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One line of the preview, and the sum. */
struct share {
	size_t candidates, instances, cells, earlier;
	uint64_t bytes, ns;
};

static const char *bytes_text(uint64_t bytes, char out[32])
{
	if (bytes < 10240)
		snprintf(out, 32, "%llu B", (unsigned long long)bytes);
	else if (bytes < (10u << 20))
		snprintf(out, 32, "%llu KiB", (unsigned long long)((bytes + 1023) >> 10));
	else
		snprintf(out, 32, "%llu MiB", (unsigned long long)((bytes + (1u << 20) - 1) >> 20));
	return out;
}

/* Bytes of the agent's source, which every host gets. */
static int agent_bytes(const char *root, uint64_t *bytes)
{
	struct fm_agent_source agent;
	int rc = fm_agent_source(root, &agent);

	*bytes = 0;
	if (rc != FM_OK)
		return rc;
	for (const char *p = agent.sources.data; rc == FM_OK && p != NULL && *p != '\0';
	        p += strcspn(p, "\n") + 1) {
		char *path = fm_sprintf("%s/%.*s", root, (int)strcspn(p, "\n") - 66, p + 66);
		struct stat st;

		if (path == NULL)
			rc = FM_ERR_MEMORY;
		else if (stat(path, &st) < 0)
			rc = fm_fail_errno("%s", path);
		else
			*bytes += (uint64_t)st.st_size;
		free(path);
	}
	fm_agent_source_free(&agent);
	return rc;
}

/* What one system gets: counts from its cells, bytes of the candidates they belong to. */
static int take_share(const struct fm_plan *p, const struct fm_plan_system *s, const char *results,
        uint64_t agent, struct share *out)
{
	size_t name = strlen(s->name);
	struct fm_estimate estimate;
	char last[2 * FM_NAME_MAX + 3] = "";
	const struct fm_candidate *c = NULL;
	int rc = fm_estimate_system(p, s, results, &estimate);

	if (rc != FM_OK)
		return rc;
	*out = (struct share){.cells = estimate.cells,
	        .earlier = estimate.earlier,
	        .ns = estimate.ns,
	        .bytes = agent};
	for (size_t i = 0; i < p->cell_count; i++) {
		struct fm_cell cell;
		char pair[2 * FM_NAME_MAX + 3];

		if (strncmp(p->cells[i], s->name, name) != 0 || p->cells[i][name] != '/')
			continue;
		if ((rc = fm_cell_parse(p->cells[i], &cell)) != FM_OK)
			return rc;
		if (c == NULL || strcmp(c->id, cell.candidate) != 0) {
			c = fm_plan_candidate(p, cell.candidate);
			out->candidates++;
			out->bytes += c == NULL ? 0 : c->tree_bytes + c->vectors.len;
		}
		snprintf(pair, sizeof pair, "%s/%s", cell.candidate, cell.instance);
		out->instances += strcmp(pair, last) != 0;
		memcpy(last, pair, sizeof last);
	}
	return FM_OK;
}

static void put_share(
        const struct fm_options *o, const char *name, const char *arch, const struct share *s)
{
	char bytes[32], time[32], text[300];

	bytes_text(s->bytes, bytes);
	fm_duration(s->ns, time);
	if (o->json) {
		snprintf(text, sizeof text,
		        "%s, %zu candidates, %zu instances, %llu bytes to push at most", arch,
		        s->candidates, s->instances, (unsigned long long)s->bytes);
		fm_out_event(&(struct fm_event){.event = "planned",
		        .system = name,
		        .text = text,
		        .total = s->cells,
		        .eta_s = s->ns / 1000000000ULL,
		        .has_eta = true});
		return;
	}
	fm_result("%-16s %-8s %10zu %10zu %7zu %10s  %s", name, arch, s->candidates, s->instances,
	        s->cells, bytes, time);
}

static void put_sum(const struct fm_options *o, const struct fm_plan *p, const struct share *sum)
{
	char bytes[32], time[32];

	bytes_text(sum->bytes, bytes);
	fm_duration(sum->ns, time);
	if (o->json) {
		fm_out_event(&(struct fm_event){.event = "plan",
		        .text = p->campaign,
		        .total = sum->cells,
		        .eta_s = sum->ns / 1000000000ULL,
		        .has_eta = true});
		return;
	}
	fm_result("%s", "");
	fm_result("systems %zu, cells %zu; %s to push at most (a host that holds a source already "
	          "is not sent it again)",
	        p->system_count, sum->cells, bytes);
	fm_result("about %s, hosts side by side; time of a call from earlier campaigns in %s for "
	          "%zu of %zu cells, else 20 "
	          "cycles a byte at 2.5 GHz",
	        time, o->results, sum->earlier, sum->cells);
	if (!p->publish)
		fm_result("profile %s: its tree and pages say \"not for publication\"", p->profile);
	fm_result("nothing was contacted, nothing was written");
}

/* The hosts run side by side, at most jobs at a time: the slowest one, or all work spread over the
 * threads. */
static uint64_t side_by_side(uint64_t slowest, uint64_t all, size_t systems, int jobs)
{
	uint64_t lanes = jobs > 0 && (size_t)jobs < systems ? (uint64_t)jobs : systems;

	return all / lanes > slowest ? all / lanes : slowest;
}

static int preview(const struct fm_options *o, const struct fm_plan *p)
{
	struct share sum = {.cells = 0};
	uint64_t agent, slowest = 0, all = 0;
	int rc = agent_bytes(o->root, &agent);

	if (rc == FM_OK && !o->json) {
		fm_result("campaign %s, profile %s, known answers %s, versions %s", p->campaign,
		        p->profile, p->kat, o->versions);
		for (size_t i = 0; i < p->candidates.count; i++)
			fm_result("  %-14s %2zu instances  tree %.12s  %s",
			        p->candidates.list[i].id, p->candidates.list[i].count,
			        p->candidates.list[i].tree_sha256, p->candidates.list[i].name);
		fm_result("%s", "");
		fm_result("%-16s %-8s %10s %10s %7s %10s  %s", "system", "arch", "candidates",
		        "instances", "cells", "to push", "time");
	}
	for (size_t i = 0; rc == FM_OK && i < p->system_count; i++) {
		struct share one;

		if ((rc = take_share(p, &p->systems[i], o->results, agent, &one)) != FM_OK)
			break;
		put_share(o, p->systems[i].name, p->systems[i].arch, &one);
		sum.cells += one.cells;
		sum.earlier += one.earlier;
		sum.bytes += one.bytes;
		all += one.ns;
		slowest = one.ns > slowest ? one.ns : slowest;
	}
	if (rc != FM_OK)
		return rc;
	sum.ns = side_by_side(slowest, all, p->system_count, o->jobs);
	put_sum(o, p, &sum);
	return FM_OK;
}

static int choose_systems(const struct fm_options *o, struct fm_inventory *inv)
{
	struct fm_home home;
	int rc;

	if (o->limit == NULL || strchr(o->limit, '@') == NULL)
		return fm_inventory_select(inv, o->limit, NULL, NULL);
	if ((rc = fm_home_open(&home)) !=
	        FM_OK) /* @failed and @unreachable need an earlier campaign, so there is one */
		return rc;
	if ((rc = fm_home_key(&home)) == FM_OK)
		rc = fm_select_systems(o, inv, &home);
	fm_home_close(&home);
	return rc;
}

int fm_cmd_plan(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {.count = 0};
	struct fm_plan plan;
	char name[FM_NAME_MAX + 1];
	int rc;

	*status = 0;
	memset(&plan, 0, sizeof plan);
	if (o->inventory == NULL)
		return fm_fail(FM_ERR_USAGE, "no inventory: give -i FILE, set FLEETMARK_INVENTORY "
		                             "or write ./fleetmark.ini");
	if ((rc = fm_inventory_load(o->inventory, &inv)) == FM_OK &&
	        (rc = choose_systems(o, &inv)) == FM_OK &&
	        (rc = fm_campaign_base(o, &inv, name)) == FM_OK &&
	        (rc = fm_plan_make(o, &inv, name, &plan)) == FM_OK)
		rc = preview(o, &plan);
	fm_plan_free(&plan);
	fm_inventory_free(&inv);
	return rc;
}
