/* page_sound.c: what was found of each library beyond its known answers, for section 3 of a
 * candidate's page. */
#include "orchestrator/report_parts.h"
#include <string.h>

static const struct fm_ev_kat *find(const struct fm_side *s, const struct fm_build_fig *b)
{
	for (size_t i = 0; b != NULL && i < s->evidence.kat_count; i++) {
		const struct fm_ev_kat *k = &s->evidence.kat[i];

		if (strcmp(k->instance, b->instance) == 0 &&
		        strcmp(k->version, fm_version_name[b->version]) == 0)
			return k;
	}
	return NULL;
}

void fm_page_properties(
        struct fm_page *p, const struct fm_side *s, const char **labels, size_t count)
{
	static const char *const heads[] = {"instance", "properties"};
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const struct fm_ev_kat *k = find(s, fm_builds_find(&s->builds, labels[i]));

		any = any || (k != NULL && k->sound);
	}
	if (!any)
		return;
	fm_page(p, "### Beyond the known answers\n\nEach library that passed was also called with "
	           "unaligned messages and digests, with messages and digests at unreachable "
	           "pages, with unused bits set, again in another order, in two processes, and "
	           "with digest lengths it does not have. What was found is a property and "
	           "changes no status.\n\n");
	fm_page_table(p, heads, 2);
	for (size_t i = 0; i < count; i++) {
		const struct fm_ev_kat *k = find(s, fm_builds_find(&s->builds, labels[i]));

		if (k == NULL)
			continue;
		fm_page_row(p);
		fm_page_cell_code(p, labels[i]);
		if (!k->sound || k->property_count == 0)
			fm_page_cell(p, "%s", k->sound ? "none found" : "not checked");
		else
			fm_page(p, " ");
		for (size_t n = 0; n < k->property_count; n++) {
			fm_page(p, "%s", n > 0 ? "; " : "");
			fm_page_text(p, k->properties[n]);
		}
		if (k->property_count > 0)
			fm_page(p, " |");
		fm_page_row_end(p);
	}
	fm_page(p, "\n");
}
