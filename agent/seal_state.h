/* seal_state.h: which candidates of a dispatch were sealed by an earlier run of the job. */
#ifndef FM_AGENT_SEAL_STATE_H
#define FM_AGENT_SEAL_STATE_H

#include "agent/work.h"

/* For fm_lines_open of progress with the job as arg: a `bundle` line of the same nonce marks its
 * candidate. */
int fm_seal_state_each(void *arg, const struct fm_line *line);

/* Takes the mark back where the bundle is not there with that digest any more. */
void fm_seal_state_settle(struct fm_job *j);

#endif
