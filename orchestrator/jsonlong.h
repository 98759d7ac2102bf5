/* jsonlong.h: reads a document of the fixed form whose root holds one long array: the rest as a
 * document, the elements one by one, so that memory does not grow with their number. */
#ifndef FM_JSONLONG_H
#define FM_JSONLONG_H

#include "orchestrator/jsonr.h"

struct fm_json_long {
	const char *what,
	        *key;      /* name of the document in messages; key of the array, in the root */
	int fd;            /* a plain file, or -1: */
	const char *bytes; /* len bytes in memory */
	size_t len;
	uint64_t first; /* offset of the first element, and its line; 0: there is none */
	size_t line;
};

/* Reads the document but for the elements, which must be objects or strings; *rest has the array
 * empty, and is refused as fm_json_read would. Sets first and line. */
FM_CHECK int fm_json_long_open(struct fm_json_long *d, size_t max, struct fm_json **rest);

/* An element, valid during the call, and the offset where it begins. */
typedef int fm_json_long_take(void *arg, const struct fm_json_node *element, uint64_t offset);

/* Calls take with every element, accepted exactly as fm_json_read would inside the document; ends
 * with the first code that is not FM_OK. */
FM_CHECK int fm_json_long_each(const struct fm_json_long *d, fm_json_long_take *take, void *arg);

/* The same with count elements, from one that began at offset. */
FM_CHECK int fm_json_long_some(const struct fm_json_long *d, uint64_t offset, size_t count,
        fm_json_long_take *take, void *arg);

#endif
