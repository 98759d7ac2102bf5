/* plan_parts.h: the files of a plan folder one by one; for plan_*.c and their tests. */
#ifndef FM_PLAN_PARTS_H
#define FM_PLAN_PARTS_H

#include "orchestrator/plan.h"
#include "protocol/jobtext.h"

#define FM_PLAN_FILE_MAX (64u << 20)

/* The bytes of plan.json. out: FM_BUF_INIT(FM_PLAN_FILE_MAX). */
FM_CHECK int fm_plan_json(const struct fm_plan *p, struct fm_buf *out);

/* plan.json alone, without the lists beside it. */
FM_CHECK int fm_plan_parse(const char *what, const char *bytes, size_t len, struct fm_plan *out);

/* The job text of kind plan for one system (FORMATS.md section 5), its cells in the order of
 * plan.json. out: FM_BUF_INIT(FM_TEXT_MAX). */
FM_CHECK int fm_plan_job(
        const struct fm_plan *p, const struct fm_plan_system *s, struct fm_buf *out);

#endif
