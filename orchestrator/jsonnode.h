/* jsonnode.h: how a document lies in memory; for jsonr.c and jsonget.c only. */
#ifndef FM_JSONNODE_H
#define FM_JSONNODE_H

#include "orchestrator/jsonr.h"

enum fm_json_kind {
	FM_JSON_OBJECT,
	FM_JSON_ARRAY,
	FM_JSON_STRING,
	FM_JSON_NUMBER,
	FM_JSON_BOOL,
	FM_JSON_NULL
};

struct fm_json_node {
	const struct fm_json *document;
	const struct fm_json_node *parent, *next, *child;
	const char *key;  /* NULL in an array */
	const char *text; /* of a string, else NULL */
	double number;
	size_t children;
	enum fm_json_kind kind;
};
struct fm_json {
	char *what;
	void *tree; /* the library's own, which holds all strings */
	struct fm_json_node *nodes;
	size_t used;
};

#endif
