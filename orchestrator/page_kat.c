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

/* The first brief of a library of c on the system from i on; count if there is none. */
static size_t library_from(const struct fm_brief *list, size_t count, size_t i,
        const struct fm_candidate *c, int system)
{
	for (; i < count; i++) {
		bool begins = i == 0 || list[i].instance != list[i - 1].instance ||
		              list[i].version != list[i - 1].version ||
		              list[i].system != list[i - 1].system;

		if (begins && list[i].candidate == c && list[i].system == system)
			break;
	}
	return i;
}

static void each_text_once(struct fm_page *p, const struct fm_brief *list, size_t count,
        const struct fm_candidate *c, int system)
{
	const char *gap = "";

	for (size_t i = library_from(list, count, 0, c, system), k, same; i < count;
	        i = library_from(list, count, i + 1, c, system)) {
		for (k = library_from(list, count, 0, c, system);
		        strcmp(list[k].kat, list[i].kat) != 0;)
			k = library_from(list, count, k + 1, c, system);
		if (k != i) /* said before */
			continue;
		for (same = 0; k < count; k = library_from(list, count, k + 1, c, system))
			same += strcmp(list[k].kat, list[i].kat) == 0;
		fm_page(p, "%s%zu \xc3\x97 %s", gap, same,
		        list[i].kat[0] == '\0' ? "no library" : list[i].kat);
		gap = "; ";
	}
	if (*gap == '\0')
		fm_page(p, DASH);
}

void fm_page_kat_candidate(
        struct fm_page *p, const struct fm_report *r, const struct fm_candidate *c, int system)
{
	bool baseline = r->baseline_count > 0 && r->baselines[0].candidate == c;

	each_text_once(p, baseline ? r->baselines : r->briefs,
	        baseline ? r->baseline_count : r->brief_count, c, system);
}
