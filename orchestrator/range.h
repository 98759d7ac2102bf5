/* range.h: finds the run of elements whose names begin with a prefix, in an array sorted by name.
 */
#ifndef FM_RANGE_H
#define FM_RANGE_H

#include <stddef.h>

struct fm_range {
	size_t first, end; /* end is one behind the last; equal: none */
};

/* list: count elements of size bytes, each with a `const char *` name at offset, sorted by bytes.
 */
struct fm_range fm_range_find(
        const void *list, size_t count, size_t size, size_t offset, const char *prefix);

#endif
