/* treelist.h: the list that decides whether a pushed source tree is the planned one (FORMATS.md
 * section 8): one line per entry with type, mode, size, digest and path, sorted; its SHA-256 is the
 * name of src/<digest>/. */
#ifndef FM_TREELIST_H
#define FM_TREELIST_H

#include "protocol/buf.h"

#define FM_TREELIST_MAX     (64u << 20) /* bytes of a list */
#define FM_TREELIST_ENTRIES 200000

/* The list of the folder dirfd. Links are kept when they stay inside the tree, devices, FIFOs,
 * absolute or escaping links and names outside the path rule are FM_ERR_SOURCE with the name. bytes
 * (may be NULL) gets the sum of file sizes. */
FM_CHECK int fm_treelist_make(int dirfd, struct fm_buf *out, uint64_t *bytes);

/* Makes the list of dirfd and compares: FM_OK if equal to want, else FM_ERR_SOURCE naming the first
 * difference (missing, extra, type, mode, size, target, digest). */
FM_CHECK int fm_treelist_compare(int dirfd, const char *want, size_t len);

/* The plain-file part of a list as SOURCES.sha256 lines. */
FM_CHECK int fm_treelist_sources(const char *list, size_t len, struct fm_buf *out);

#endif
