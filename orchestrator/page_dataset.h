/* page_dataset.h: summary and method page of one system of a published data set (layout published).
 */
#ifndef FM_PAGE_DATASET_H
#define FM_PAGE_DATASET_H

#include "orchestrator/dataset.h"
#include "orchestrator/page.h"

/* What a record leaves for the two pages. */
struct fm_summary_row {
	char candidate[FM_NAME_MAX + 1], label[FM_LABEL_MAX + 1], kat[32];
	bool baseline, complete;
	int64_t digest_bits, bytes, measurements;
	double mean_cycles;
};
struct fm_summary {
	struct fm_summary_row *rows; /* reference records at 32, 1024, 65536 bytes and all of the
	                                baseline, in path order */
	size_t count;
	/* how many complete records deviate from the wanted host state */
	size_t records, turbo, governor, smt, no_cycles, clock;
	int64_t trials, largest_calls, least_calls; /* as planned; 0 before the first record */
};
FM_CHECK int fm_summary_add(
        struct fm_summary *s, const struct fm_record *r, const struct fm_env *usual);
void fm_summary_free(struct fm_summary *s);

/* names[i] and ids[i]: algorithm of a candidate. */
struct fm_candidate_name {
	const char *id, *name;
};
FM_CHECK int fm_page_dataset_summary(struct fm_page *p, const struct fm_dataset_system *s,
        struct fm_summary *sum, const struct fm_candidate_name *names, size_t name_count);
FM_CHECK int fm_page_dataset_method(
        struct fm_page *p, const struct fm_dataset_system *s, const struct fm_summary *sum);

#endif
