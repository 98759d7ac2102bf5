/* page_data.h: everything one candidate page is made from, and the makers of its layouts. */
#ifndef FM_PAGE_DATA_H
#define FM_PAGE_DATA_H

#include "orchestrator/number.h"

#include "orchestrator/cells.h"
#include "orchestrator/page.h"

struct fm_report;
struct fm_side;

/* One candidate on one system of a published data set. Pointers are borrowed. */
struct fm_page_published {
	const char *system, *id, *name, *address; /* address of the submission's page */
	const struct fm_env *env;                 /* the one environment of the system */
	const char *started, *ended;              /* stamps of campaign.json */
	const char *const *systems;               /* all of them, for the site's line */
	size_t system_count;
	const struct fm_cells *cells; /* sorted */
	const struct fm_builds *builds;
	bool site; /* layout site, else published */
	/* our own layout: section 4 with spread and flags from side, the report's mark; else NULL
	 */
	const struct fm_report *report;
	const struct fm_side *side;
	bool own; /* the records have the object `fleetmark`: no sentence names the harness */
};
FM_CHECK int fm_page_published(const struct fm_page_published *d, struct fm_page *p);

/* "AArch64" and "ARM", or "x86-64" and "x86"; FM_ERR_FORM for another architecture. */
FM_CHECK int fm_page_arch(const char *arch, const char **name, const char **guide);

/* The clock text of an environment: "fixed 2.71 GHz (governor performance, ...), boost off, SMT
 * none". */
void fm_page_clock(struct fm_page *p, const struct fm_env *env);

/* Row cells that both layouts share. */
struct fm_num fm_page_n(const struct fm_cell_fig *c);

#endif
