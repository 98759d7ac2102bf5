/* dataset.h: a data set of the published harness: <system>/{records,kat,campaign.json,build.json},
 * read strictly. */
#ifndef FM_DATASET_H
#define FM_DATASET_H

#include "orchestrator/cells.h"

struct fm_dataset_system {
	char name[FM_NAME_MAX + 1];
	char started[40], ended[40]; /* stamps of campaign.json */
	struct fm_record shown;      /* whose environment the pages print (see fm_dataset_open) */
	bool any;                    /* a complete record exists */
	char **candidates;           /* ids, natural order, from records and build list */
	size_t candidate_count;
	void *builds; /* build.json, kept */
};
struct fm_dataset {
	int dirfd;
	struct fm_dataset_system *systems; /* in order of their campaigns' start, then name */
	size_t count;
	size_t findings; /* records refused and build entries missing, each told when it was met */
};

/* Opens the folder and reads campaign.json, build.json and, of every system, the first complete
 * record in path order whose cpu_number is 2 (else the first complete one): its environment stands
 * on every page of the system. Errors name file and field. */
FM_CHECK int fm_dataset_open(const char *path, struct fm_dataset *out);
void fm_dataset_close(struct fm_dataset *d);

/* Cells and build entries of one candidate. A record that does not hold is told as an error with
 * file and field, counted in d->findings and becomes a failed cell of class `record`, named by its
 * file, whose text is that error; an instance without a build entry is told and counted
 * too. FM_ERR_FORM: a file that is not named like a record; own: a record has the object
 * `fleetmark`. records (may be NULL) is called with each record. */
typedef int fm_dataset_each(void *arg, const struct fm_record *r, const char *text, size_t len);
FM_CHECK int fm_dataset_candidate(struct fm_dataset *d, const struct fm_dataset_system *s,
        const char *id, struct fm_cells *cells, struct fm_builds *builds, bool *own,
        fm_dataset_each *each, void *arg);

#endif
