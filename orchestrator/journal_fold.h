/* journal_fold.h: the state of a campaign as a fold over journal lines; for journal*.c and their tests. */
#ifndef FM_JOURNAL_FOLD_H
#define FM_JOURNAL_FOLD_H

#include "orchestrator/journal.h"
#include <pthread.h>
#include <stdint.h>

#define FM_FOLD_BUCKETS 4096

struct fm_fold {
	const char *campaign;
	char plan[65], tree[65];
	bool changed; /* since the last `sealed` */
	struct fm_fold_job {
		struct fm_job job;
		size_t next_nonce, next_pair; /* chains of the buckets below: index + 1, 0 ends */
	} *jobs;
	size_t count;
	size_t by_nonce[FM_FOLD_BUCKETS], by_pair[FM_FOLD_BUCKETS];
	struct fm_fold_host {
		char system[FM_NAME_MAX + 1], klass[24], reason[24], text[256];
	} *hosts;
	size_t host_count;
};

/* One mutex for the fold and the order of lines; plan never changes once set. */
struct fm_journal {
	pthread_mutex_t lock;
	struct fm_lines *lines; /* NULL: read only */
	int lockfd;
	char campaign[FM_NAME_MAX + 1];
	struct fm_fold fold;
};

/* Takes one line (arg is the fold): FM_ERR_FORM if it does not follow from the lines before it. */
FM_CHECK int fm_fold_line(void *arg, const struct fm_line *line);
void fm_fold_free(struct fm_fold *f);

struct fm_job *fm_fold_job(const struct fm_fold *f, const char *nonce); /* NULL if unknown */
int fm_fold_attempts(const struct fm_fold *f, const char *system, const char *candidate); /* the highest so far */

/* The accepted job of a pair, or the open one; NULL if there is none. */
const struct fm_job *fm_fold_find(const struct fm_fold *f, const char *system, const char *candidate, bool accepted);

#endif
