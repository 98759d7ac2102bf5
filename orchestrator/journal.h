/* journal.h: the campaign's append-only journal and the state folded from it (FORMATS.md section 6). */
#ifndef FM_JOURNAL_H
#define FM_JOURNAL_H

#include "protocol/lines.h"
#include "protocol/path.h"

enum fm_job_state { FM_JOB_ISSUED, FM_JOB_RECEIVED, FM_JOB_ACCEPTED, FM_JOB_REJECTED, FM_JOB_ENDED, FM_JOB_SUPERSEDED };

struct fm_job { /* one dispatch */
	char system[FM_NAME_MAX + 1], candidate[FM_NAME_MAX + 1];
	int attempt;
	char nonce[65], issued_at[21], received_at[21], manifest_sha256[65], host_key[64];
	enum fm_job_state state;
	char klass[24], reason[24], text[256];
};
struct fm_journal; /* thread-safe */

/* Opens results/<campaign>/incoming/journal (dirfd = the campaign's incoming folder), folds it, takes the campaign's lock (another
 * controller: FM_ERR_LOCKED naming pid, host, start time). read_only: no lock, no writing (status, verify of an unsealed tree). */
FM_CHECK int fm_journal_open(struct fm_journal **out, int dirfd, const char *campaign, bool read_only);
FM_CHECK int fm_journal_close(struct fm_journal *j);

/* Appends `opened` if this is the first line; FM_ERR_CONFIG if the journal belongs to another plan. */
FM_CHECK int fm_journal_begin(struct fm_journal *j, const char *plan_sha256);

/* Every write below is fsynced before it returns. Strings are copied. */
FM_CHECK int fm_journal_issue(struct fm_journal *j, const char *system, const char *candidate, struct fm_job *out); /* makes nonce, attempt + 1 */
FM_CHECK int fm_journal_received(struct fm_journal *j, const char *nonce, const char *host_key, const char *manifest_sha256);
/* FM_ERR_REPLAY: nonce unknown or not open. FM_ERR_CONFLICT: accepted before with another manifest. FM_OK and *again = true: the same again. */
FM_CHECK int fm_journal_accept(struct fm_journal *j, const char *nonce, const char *manifest_sha256, bool *again);
FM_CHECK int fm_journal_reject(struct fm_journal *j, const char *nonce, const char *klass, const char *reason, const char *text);
/* An accepted bundle whose key was revoked since: rejected with verify/revoked. FM_ERR_REPLAY if the nonce is not accepted. */
FM_CHECK int fm_journal_revoke(struct fm_journal *j, const char *nonce, const char *text);
FM_CHECK int fm_journal_end(struct fm_journal *j, const char *nonce, const char *klass, const char *reason, const char *text);
FM_CHECK int fm_journal_host(struct fm_journal *j, const char *system, const char *state, const char *klass, const char *reason, const char *text);
FM_CHECK int fm_journal_redo(struct fm_journal *j, const char *system, const char *candidate, const char *stage);
FM_CHECK int fm_journal_sealed(struct fm_journal *j, const char *tree_sha256, int64_t sequence);

/* Looking: copies, so no lock is held. found = false if there is none. */
FM_CHECK int fm_journal_open_job(struct fm_journal *j, const char *system, const char *candidate, struct fm_job *out, bool *found);
FM_CHECK int fm_journal_accepted_job(struct fm_journal *j, const char *system, const char *candidate, struct fm_job *out, bool *found);
/* All dispatches sorted by system, candidate, attempt; *jobs is freed with free. */
FM_CHECK int fm_journal_jobs(struct fm_journal *j, struct fm_job **jobs, size_t *count);
/* The last `host` line of a system: class, reason, text "" if it was up or never tried. */
void fm_journal_host_state(struct fm_journal *j, const char *system, char klass[24], char reason[24], char text[256]);
bool fm_journal_is_sealed(struct fm_journal *j, char tree_sha256[65]); /* and nothing changed since */
const char *fm_journal_plan(struct fm_journal *j); /* "" before fm_journal_begin */

#endif
