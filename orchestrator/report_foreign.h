/* report_foreign.h: a data set of another project in our own layout. */
#ifndef FM_REPORT_FOREIGN_H
#define FM_REPORT_FOREIGN_H

#include "orchestrator/data_names.h"
#include "orchestrator/sink.h"

/* <candidate>/perf_<system>.md with spread, flags and charts, <candidate>/compare.md,
 * performance/summary_ and method_<system>.md, compare.md from the tables if there are any,
 * index.md, and the HTML page beside each; every page says where the figures are from. */
FM_CHECK int fm_report_foreign(
        struct fm_dataset *d, const struct fm_names *names, struct fm_sink *sink);

#endif
