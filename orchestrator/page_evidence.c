/* page_evidence.c: sections 5 to 7 of a tree's candidate page: memory, and the way from every
 * number to its raw samples and seal. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"
#include "protocol/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\xe2\x80\x93"

static void bytes_cell(struct fm_page *p, int64_t bytes)
{
	fm_page_cell(p, "%s", bytes < 0 ? DASH : fm_n_int(bytes).s);
}

static const int64_t *figures(const struct fm_ev_memory *m, int64_t out[8])
{
	out[0] = m->rom_bytes;
	out[1] = m->rom_reachable_bytes;
	out[2] = m->static_ram_bytes;
	out[3] = m->stack_touched_bytes;
	out[4] = m->heap_peak_usable_bytes;
	out[5] = m->allocs_per_call;
	out[6] = m->leak_bytes_per_call;
	out[7] = m->isolated_ram_upper_bytes;
	return out;
}

/* Does the next cell say the same of the same library? */
static bool goes_on(const struct fm_side *s, size_t i)
{
	int64_t a[8], b[8];
	const struct fm_cell_fig *c = &s->cells.list[i];
	const struct fm_ev_memory *m = fm_side_memory(s, c), *next;

	if (i + 1 == s->cells.count || strcmp(c->label, c[1].label) != 0 ||
	        (next = fm_side_memory(s, &c[1])) == NULL)
		return false;
	return memcmp(figures(m, a), figures(next, b), sizeof a) == 0;
}

/* One row for the sizes first to last of a library. */
static void isolated_row(struct fm_page *p, const struct fm_side *s, size_t first, size_t last)
{
	const struct fm_cell_fig *c = &s->cells.list[first];
	int64_t v[8];

	figures(fm_side_memory(s, c), v);
	fm_page_row(p);
	fm_page_cell_code(p, c->label);
	if (first == last)
		fm_page_cell(p, "%s", c->key);
	else
		fm_page_cell(p, "%s to %s", c->key, s->cells.list[last].key);
	for (size_t i = 0; i < 8; i++)
		bytes_cell(p, v[i]);
	fm_page_row_end(p);
}

static void process_row(struct fm_page *p, const struct fm_side *s, const struct fm_cell_fig *c)
{
	const struct fm_build_fig *b = fm_builds_find(&s->builds, c->label);

	fm_page_row(p);
	fm_page_cell_code(p, c->label);
	fm_page_cell(p, "%s", c->key);
	fm_page_cell(p, "%s", b == NULL || b->elf_bytes < 0 ? DASH : fm_n_int(b->elf_bytes).s);
	fm_page_cell(p, "%s", fm_n_kib(c->baseline_rss).s);
	fm_page_cell(p, "%s", fm_n_kib(c->peak_rss).s);
	fm_page_cell(p, "%s", fm_n_kib(c->peak_rss - c->baseline_rss).s);
	fm_page_row_end(p);
}

/* What a row of figures cannot say: a leak, pages mapped past malloc, a part that is not there. */
static void isolated_notes(struct fm_page *p, const struct fm_side *s)
{
	const char *gap = "\n";

	for (size_t i = 0; i < s->cells.count; i++) {
		const struct fm_cell_fig *c = &s->cells.list[i];
		const struct fm_ev_memory *m = fm_side_memory(s, c);

		if (m == NULL ||
		        (m->leak_bytes_per_call <= 0 && m->unaccounted_mapping_bytes <= 0 &&
		                m->isolated_ram_upper_bytes_why == NULL))
			continue;
		fm_page(p, "%s- ", gap);
		fm_page_code(p, c->label);
		fm_page(p, ", %s:", c->key);
		gap = "";
		if (m->leak_bytes_per_call > 0)
			fm_page(p, " every call keeps %s bytes of the heap.",
			        fm_n_int(m->leak_bytes_per_call).s);
		if (m->unaccounted_mapping_bytes > 0)
			fm_page(p,
			        " %s bytes were mapped past malloc over all calls and stand in no "
			        "column.",
			        fm_n_int(m->unaccounted_mapping_bytes).s);
		if (m->isolated_ram_upper_bytes_why != NULL) {
			fm_page(p, " not all was weighed: ");
			fm_page_text(p, m->isolated_ram_upper_bytes_why);
			fm_page(p, ".");
		}
		fm_page(p, "\n");
	}
}

int fm_page_resources(struct fm_page *p, const struct fm_side *s)
{
	static const char *const isolated[] = {"instance", "operation", "ROM", "ROM reachable",
	        "static RAM", "stack touched", "heap peak", "allocations per call", "leak per call",
	        "RAM, upper bound"};
	static const char *const process[] = {"instance", "operation", "static: ELF image (bytes)",
	        "baseline RSS", "peak RSS", "peak - baseline"};
	bool any = false;

	fm_page(p, "## 5. Resource consumption\n\n");
	for (size_t i = 0; i < s->cells.count; i++)
		any = any || fm_side_memory(s, &s->cells.list[i]) != NULL;
	if (!any) {
		fm_page(p, "Nothing was weighed.\n\n");
		return FM_OK;
	}
	fm_page(p,
	        "### Isolated\n\nBytes of the library alone, message and digest not counted; %s is "
	        "a part that was not measured. ROM is code, constants and initial values; "
	        "reachable: "
	        "linked again with `CryptHash` alone exported. Stack is the deepest byte a warm "
	        "call "
	        "writes, heap the most that the blocks of the first call hold at once "
	        "(malloc_usable_size). Their peaks need not coincide, so the last column is an "
	        "upper "
	        "bound.\n\n",
	        DASH);
	fm_page_table(p, isolated, 10);
	for (size_t i = 0, first = 0; i < s->cells.count; i++) {
		if (fm_side_memory(s, &s->cells.list[i]) == NULL || goes_on(s, i)) {
			first = fm_side_memory(s, &s->cells.list[first]) == NULL ? i + 1 : first;
			continue;
		}
		isolated_row(p, s, first, i);
		first = i + 1;
	}
	isolated_notes(p, s);
	fm_page(p, "\n### Process\n\nThe whole process of one call (VmHWM), libc and worker "
	           "included: an upper bound, not the "
	           "memory of the algorithm. Both sizes of a row come from one process.\n\n");
	fm_page_table(p, process, 6);
	for (size_t i = 0; i < s->cells.count; i++)
		if (s->cells.list[i].state == FM_CELL_MEASURED && s->cells.list[i].peak_rss != 0)
			process_row(p, s, &s->cells.list[i]);
	fm_page(p, "\n");
	return FM_OK;
}

/* Links to the raw sample files of a cell. */
static void samples_cell(struct fm_page *p, const struct fm_side *s, const struct fm_cell_fig *c)
{
	const char *label = s->evidence.counter.label;
	const char *column[] = {
	        "process", "calls", "ns", strcmp(label, "ns") == 0 ? NULL : label, "events"};
	const char *version = fm_version_name[c->version], *gap = "";

	fm_page(p, " ");
	for (size_t i = 0; i < 5; i++) {
		if (column[i] == NULL)
			continue;
		fm_page(p, "%s[%s](../bundles/%s/%s/samples/%s__%s__%s.%s.txt)", gap, column[i],
		        s->system->plan->name, s->candidate->id, c->instance, version, c->key,
		        column[i]);
		gap = " ";
	}
	fm_page(p, " [processes](../bundles/%s/%s/env/%s__%s__%s.process.tsv) |",
	        s->system->plan->name, s->candidate->id, c->instance, version, c->key);
}

static void log_row(struct fm_page *p, const struct fm_side *s, const struct fm_build_fig *b)
{
	if (b->kat_log != NULL)
		fm_page(p,
		        "| `%s` | KAT log (sha256 `%.16s\xe2\x80\xa6`) | [`%s`](../data/%s/%s) | "
		        "|\n",
		        b->label, b->kat_log_sha256, b->kat_log, s->system->plan->name, b->kat_log);
	if (b->build_log_sha256 != NULL)
		fm_page(p,
		        "| `%s` | build log (sha256 `%.16s\xe2\x80\xa6`) | "
		        "[`%s`](../bundles/%s/%s/%s) | |\n",
		        b->label, b->build_log_sha256, b->build_log, s->system->plan->name,
		        s->candidate->id, b->build_log);
}

static void timing_row(struct fm_page *p, const struct fm_side *s, const struct fm_cell_fig *c)
{
	if (c->state != FM_CELL_MEASURED)
		return;
	fm_page(p,
	        "| `%s` | timing %s | "
	        "[`records/%s/%s__%s.json`](../data/%s/records/%s/%s__%s.json) |",
	        c->label, c->key, s->candidate->id, c->label, c->key, s->system->plan->name,
	        s->candidate->id, c->label, c->key);
	samples_cell(p, s, c);
	fm_page(p, "\n");
}

static void write_seal(struct fm_page *p, const struct fm_side *s)
{
	const char *system = s->system->plan->name, *id = s->candidate->id;
	char fingerprint[FM_FINGERPRINT];

	fm_public_fingerprint(&s->system->plan->key, fingerprint);
	fm_page(p,
	        "### Seal\n\n- Bundle: SHA-256 of its MANIFEST.sha256 `%s`, signed by `%s` (`%s`) "
	        "on the measured host.\n"
	        "- Tree: the number to quote is the SHA-256 of MANIFEST.sha256 in the tree's top "
	        "folder, signed by the "
	        "controller; it cannot stand on a page that it covers.\n"
	        "- Files: [MANIFEST.sha256](../bundles/%s/%s/MANIFEST.sha256), "
	        "[its signature](../bundles/%s/%s/MANIFEST.sha256.sig), "
	        "[keys](../trust/allowed_signers), [the tree's "
	        "manifest](../MANIFEST.sha256).\n\nChecked in the tree's "
	        "folder with stock tools, or by "
	        "`fleetmark verify`:\n\n",
	        s->manifest_sha256, system, fingerprint, system, id, system, id);
	fm_page(p,
	        "```\n"
	        "ssh-keygen -Y verify -f trust/allowed_signers -I %s -n bundle.v1@fleetmark \\\n"
	        "  -s bundles/%s/%s/MANIFEST.sha256.sig < bundles/%s/%s/MANIFEST.sha256\n"
	        "(cd bundles/%s/%s && sha256sum -c MANIFEST.sha256)\n"
	        "sha256sum MANIFEST.sha256\n"
	        "```\n\n",
	        system, system, id, system, id, system, id);
}

int fm_page_evidence(struct fm_page *p, const struct fm_report *r, const struct fm_side *s,
        const char **labels, size_t count)
{
	static const char *const heads[] = {"instance", "item", "file", "raw samples"};

	(void)r;
	fm_page(p, "## 6. Public-key operations\n\nNot applicable: a hash function.\n\n## 7. Raw "
	           "evidence index\n\n");
	if (!s->have) {
		fm_page(p, "There is none: no bundle was accepted.\n\n");
		return FM_OK;
	}
	fm_page(p,
	        "Records and pages are computed from the raw samples in `bundles/%s/%s/`; each "
	        "JSON file records its "
	        "environment and trials.\n\n",
	        s->system->plan->name, s->candidate->id);
	fm_page_table(p, heads, 4);
	for (size_t i = 0; i < count; i++) {
		const struct fm_build_fig *b = fm_builds_find(&s->builds, labels[i]);
		if (b != NULL)
			log_row(p, s, b);
		for (size_t k = 0; k < s->cells.count; k++)
			if (strcmp(s->cells.list[k].label, labels[i]) == 0)
				timing_row(p, s, &s->cells.list[k]);
	}
	fm_page(p, "\n");
	write_seal(p, s);
	return FM_OK;
}
