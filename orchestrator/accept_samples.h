/* accept_samples.h: the raw samples of a bundle against what its evidence says of them (evidence
 * guide V14). */
#ifndef FM_ACCEPT_SAMPLES_H
#define FM_ACCEPT_SAMPLES_H

#include "orchestrator/evidence.h"

/* The sample files and the process list of one measured cell: there, well formed, of equal length,
 * with the column of the counter's label and no other, and with the processes and calls the
 * evidence states. FM_ERR_SAMPLES with the file. */
FM_CHECK int fm_accept_samples(
        int dirfd, const struct fm_evidence *e, const struct fm_ev_measured *m);

/* Every name of the bundle's manifest is one that FORMATS.md section 12 gives, and every sample
 * file belongs to a planned cell. FM_ERR_SAMPLES. */
FM_CHECK int fm_accept_names(int dirfd, const struct fm_evidence *e);

#endif
