/* report.h: everything derived from a verified tree: data/, Markdown pages, HTML pages with charts;
 * same tree, same bytes. */
#ifndef FM_REPORT_H
#define FM_REPORT_H

#include "protocol/error.h"
#include <stdbool.h>

/* Reads plan/, tree.json, bundles/ of the tree folder dirfd (seals already checked) and writes
 * data/, <candidate>/, summary_*.md, compare.md, index.html ... into it. check: writes nothing,
 * compares, FM_ERR_DIGEST naming the first differing file. */
FM_CHECK int fm_report_tree(int dirfd, const char *base, bool check);

/* Does data/report.json name another program than this one, "fleetmark VERSION"? Then pages that
 * differ may only be written in another form. program gets it, "" if it names none. */
#define FM_REPORT_PROGRAM_MAX 80
bool fm_report_other_program(int dirfd, char program[FM_REPORT_PROGRAM_MAX]);

/* The same with the derived files in folder outfd; print: with check, a line "differs: PATH" on
 * stdout per file. */
FM_CHECK int fm_report_tree_to(int dirfd, int outfd, const char *base, bool check, bool print);

/* Pages from a data set of the published harness (report --data), layouts fleetmark, published and
 * site; into folder out. */
FM_CHECK int fm_report_data(
        const char *data, const char *root, const char *layout, const char *out, bool check);

#endif
