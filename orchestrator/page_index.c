/* page_index.c: index.md and index.html of a tree: systems, counts of cells, candidates, how the
 * seal is checked. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <string.h>

static void write_systems(struct fm_page *p, const struct fm_report *r)
{
	static const char *const heads[] = {"system", "processor", "label of the count", "accepted",
	        "failed", "missing", "rejected", "pages"};

	fm_page(p, "## Systems\n\n");
	fm_page_table(p, heads, 8);
	for (size_t i = 0; i < r->system_count; i++) {
		const struct fm_report_system *s = &r->systems[i];
		fm_page_row(p);
		fm_page_cell(p, "%s%s", s->plan->name, s->emulated ? " (emulated)" : "");
		fm_page_cell_text(p, s->any ? s->cpu_model : "\xe2\x80\x93");
		fm_page_cell(p, "%s", s->any ? s->label : "\xe2\x80\x93");
		fm_page_cell(p, "%zu", s->accepted);
		fm_page_cell(p, "%zu", s->failed);
		fm_page_cell(p, "%zu", s->missing);
		fm_page_cell(p, "%zu", s->rejected);
		fm_page_cell(p, "[summary](summary_%s.md), [method](method_%s.md)", s->plan->name,
		        s->plan->name);
		fm_page_row_end(p);
	}
	fm_page(p, "\n");
}

static void write_candidates(struct fm_page *p, const struct fm_report *r)
{
	fm_page(p, "## Candidates\n\n[All side by side at 64 KiB](compare.md). Behind a system's "
	           "page: its "
	           "libraries and how many of the known-answer files agreed.\n\n| side by side "
	           "|");
	for (size_t i = 0; i < r->system_count; i++)
		fm_page(p, " %s |", r->systems[i].plan->name);
	fm_page(p, " algorithm |\n|---|---|");
	for (size_t i = 0; i < r->system_count; i++)
		fm_page(p, "---|");
	fm_page(p, "\n");
	for (size_t k = 0; k < r->plan.candidates.count; k++) {
		const struct fm_candidate *c = &r->plan.candidates.list[k];
		fm_page_row(p);
		fm_page_cell(p, "[%s](%s/compare.md)", c->id, c->id);
		for (size_t i = 0; i < r->system_count; i++) {
			fm_page(p, " [%s](%s/perf_%s.md): ", r->systems[i].plan->name, c->id,
			        r->systems[i].plan->name);
			fm_page_kat_candidate(p, r, c, (int)i);
			fm_page(p, " |");
		}
		fm_page_cell_text(p, c->name);
		fm_page_row_end(p);
	}
	fm_page(p, "\n");
}

int fm_page_index(struct fm_report *r)
{
	struct fm_page page;
	int rc;

	fm_page_start(&page);
	fm_page(&page, "# Campaign %s\n\n", r->plan.campaign);
	fm_page_warnings(&page, r, NULL);
	for (size_t i = 0; i < r->system_count; i++)
		if (r->systems[i].emulated)
			fm_page(&page, "> EMULATED: times not comparable (%s).\n\n",
			        r->systems[i].plan->name);
	fm_page(&page, "Profile `%s`, known answers `%s`; ordered %s, merged %s.\n\n",
	        r->plan.profile, r->plan.kat, r->plan.issued_at, r->tree.sealed_at);
	write_systems(&page, r);
	write_candidates(&page, r);
	fm_page(&page,
	        "## Data\n\n- [data/cells.csv](data/cells.csv) and "
	        "[data/cells.json](data/cells.json): every cell with its figures, units in the "
	        "names of the columns.\n- [data/processes.csv](data/processes.csv): every process "
	        "that was started, also the rejected ones.\n- `data/<system>/`: records in the "
	        "published schema, known answers, builds.\n\n");
	fm_page(&page,
	        "## Seal\n\n- Plan: SHA-256 of [plan/MANIFEST.sha256](plan/MANIFEST.sha256) "
	        "`%s`\n- Tree %lld of this controller: its "
	        "number is the SHA-256 of [MANIFEST.sha256](MANIFEST.sha256), which covers this "
	        "page too.\n- What became of every "
	        "planned cell: [tree.json](tree.json). Keys: "
	        "[trust/allowed_signers](trust/allowed_signers).\n\n"
	        "Everything here is computed from the raw samples in `bundles/`; `fleetmark verify "
	        ".` checks signatures, samples and "
	        "pages, and with stock tools:\n\n```\nsha256sum -c --quiet "
	        "MANIFEST.sha256\nssh-keygen -Y verify -f "
	        "trust/allowed_signers -I controller -n tree.v1@fleetmark -s MANIFEST.sha256.sig < "
	        "MANIFEST.sha256\n```\n\n",
	        r->tree.plan_sha256, (long long)r->tree.sequence);
	rc = fm_report_page(r, "index.md", &page);
	fm_page_free(&page);
	return rc;
}
