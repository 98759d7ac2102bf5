/* accept_parts.h: what the parts of the acceptance check share; for accept*.c only. */
#ifndef FM_ACCEPT_PARTS_H
#define FM_ACCEPT_PARTS_H

#include "orchestrator/accept.h"

struct fm_accept {
	int dirfd; /* the bundle's folder */
	const struct fm_expect *want;
	const struct fm_candidate *candidate;
	const struct fm_evidence *e;
	fm_accept_report *report;
	void *arg;
	int first; /* code of the first finding */
};

/* Notes a finding; the first one becomes the result, all are reported. */
void fm_accept_find(struct fm_accept *c, int code, const char *where, const char *format, ...)
        FM_PRINTF(4, 5);

/* V13, V15: cells as planned; builds, known answers, measured cells and memory blocks are those of
 * the cells, in their order; what was timed had passed, with the same library. */
void fm_accept_cells(struct fm_accept *c);

/* V15: the logs of the known answers. Only lack of memory is an error. */
FM_CHECK int fm_accept_logs(struct fm_accept *c);

/* V14: every file of the bundle's manifest is one that FORMATS.md section 12 gives and belongs to a
 * cell or build; the samples are well formed and as many as the evidence states. */
FM_CHECK int fm_accept_samples(struct fm_accept *c);

#endif
