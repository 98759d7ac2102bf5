/* page_kat.c: the word of the known answers as every page prints it: of one library, of one library
 * on all systems, of all libraries of a candidate on one system. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <stdio.h>
#include <string.h>

#define DASH "\xe2\x80\x93"

void fm_page_kat(const struct fm_build_fig *b, char *out, size_t size)
{
	if (b->kat == NULL || strcmp(b->kat, "PASS") != 0 ||
	        (b->kat_listed == 0 && b->vectors == 0)) /* of others the word alone is known */
		snprintf(out, size, "%s", b->kat == NULL ? "\xe2\x80\x93" : b->kat);
	else if (b->not_run == NULL && b->kat_checked == 0)
		snprintf(out, size, "PASS by %lld vectors", (long long)b->vectors);
	else
		snprintf(out, size, "PASS, %lld of %lld files", (long long)b->kat_checked,
		        (long long)b->kat_listed);
}

void fm_page_kat_systems(struct fm_page *p, const struct fm_report *r, const char *const *texts)
{
	bool same = true;

	for (size_t i = 1; i < r->system_count; i++)
		same = same && strcmp(texts[i], texts[0]) == 0;
	for (size_t i = 0; i < (same ? 1 : r->system_count); i++) {
		fm_page(p, "%s", i == 0 ? "" : "; ");
		if (!same)
			fm_page(p, "%s: ", r->systems[i].plan->name);
		fm_page(p, "%s", texts[i][0] == '\0' ? DASH : texts[i]);
	}
}

static bool is_of(const struct fm_brief *b, const struct fm_candidate *c, int system)
{
	return b->candidate == c && b->system == system;
}

void fm_page_kat_candidate(
        struct fm_page *p, const struct fm_report *r, const struct fm_candidate *c, int system)
{
	bool baseline = r->baseline_count > 0 && r->baselines[0].candidate == c;
	const struct fm_brief *list = baseline ? r->baselines : r->briefs;
	size_t count = baseline ? r->baseline_count : r->brief_count, first = 0, end, same;
	const char *gap = "";

	while (first < count && !is_of(&list[first], c, system))
		first++;
	for (end = first; end < count && is_of(&list[end], c, system); end++)
		;
	for (size_t i = first, k; i < end; i++) {
		for (k = first; list[k].kat != list[i].kat; k++)
			;
		if (k != i) /* said before */
			continue;
		for (same = 0; k < end; k++)
			same += list[k].kat == list[i].kat;
		fm_page(p, "%s%zu \xc3\x97 %s", gap, same,
		        list[i].kat[0] == '\0' ? "no library" : list[i].kat);
		gap = "; ";
	}
	if (*gap == '\0')
		fm_page(p, DASH);
}
