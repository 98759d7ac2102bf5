/* evidence_measure.h: the block `measure` of evidence.json. */
#ifndef FM_AGENT_EVIDENCE_MEASURE_H
#define FM_AGENT_EVIDENCE_MEASURE_H

#include "agent/work.h"
#include "protocol/jsonw.h"

void fm_evidence_measure(
        struct fm_jsonw *w, const struct fm_job *j, const struct fm_candidate_work *c);

#endif
