/* dataset_parts.h: what the readers of a data set share; for dataset*.c only. */
#ifndef FM_DATASET_PARTS_H
#define FM_DATASET_PARTS_H

#include "orchestrator/dataset.h"

#define FM_DATASET_FILES 1000000 /* files of one folder of records */

/* Names that become file names and stand between back-ticks. */
bool fm_dataset_label_ok(const char *s);

/* A walk over the records of a system, or of one candidate. */
struct fm_dataset_walk {
	struct fm_dataset *d;
	struct fm_dataset_system *s; /* first pass: looks for the environment */
	const char *id;              /* second pass */
	struct fm_cells *cells;
	bool *own;
	fm_dataset_each *each;
	void *arg;
	int rc;
	char prefix[2 * FM_NAME_MAX + 32];
};

/* Reads w->prefix/path and compares it with the file's name and the folder. On an error nothing is
 * held; else both are freed by the caller. */
FM_CHECK int fm_dataset_record(const struct fm_dataset_walk *w, const char *path,
        struct fm_record *r, struct fm_buf *text);

#endif
