/* report_tables.h: the comparison page of a published data set that comes with tables. */
#ifndef FM_REPORT_TABLES_H
#define FM_REPORT_TABLES_H

#include "orchestrator/sink.h"

/* Reads tables/<system>_<candidate>.csv of the data folder, or of the folder it lies in, and writes
 * compare.md and compare.html. FM_OK and no page where there are no tables. links: a line for its
 * head, or NULL. FM_ERR_FORM naming file and line. */
FM_CHECK int fm_report_tables(int datafd, const char *const *systems, size_t system_count,
        struct fm_sink *sink, const char *links);

#endif
