/* range.c: finds the run of elements whose names begin with a prefix. */
#include "orchestrator/range.h"
#include <string.h>

struct search {
	const char *list, *prefix;
	size_t count, size, offset, len;
};

/* The first element whose name compares above limit with the prefix: -1 finds the run's first, 0
 * what is behind its last. */
static size_t first_above(const struct search *s, int limit)
{
	size_t low = 0, high = s->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const char *name;
		int order;

		memcpy(&name, s->list + middle * s->size + s->offset, sizeof name);
		order = strncmp(name, s->prefix, s->len);
		if ((order > 0) - (order < 0) > limit)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct fm_range fm_range_find(
        const void *list, size_t count, size_t size, size_t offset, const char *prefix)
{
	struct search s = {list, prefix, count, size, offset, strlen(prefix)};

	return (struct fm_range){first_above(&s, -1), first_above(&s, 0)};
}
