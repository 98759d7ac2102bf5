/* data_names.h: names and pages of the candidates of a data set. */
#ifndef FM_DATA_NAMES_H
#define FM_DATA_NAMES_H

#include "orchestrator/dataset.h"

struct fm_names { /* text of candidates.csv: ID;Algorithm;PageURL */
	struct fm_buf text;
	const char *root; /* folder with algos/; borrowed */
};
/* candidates.csv of the data set, or of the folder it lies in; none is no error. */
FM_CHECK int fm_names_read(const struct fm_dataset *d, const char *root, struct fm_names *out);
void fm_names_free(struct fm_names *n);

/* Name and page of a candidate, from there, else from candidate.ini below root. Both are freed by
 * the caller. */
FM_CHECK int fm_names_of(const struct fm_names *n, const char *id, char **name, char **page);

#endif
