/* fields.h: reads JSON objects into structs from tables of key, type and place, so that a form is a
 * table and not code. */
#ifndef FM_FIELDS_H
#define FM_FIELDS_H

#include "orchestrator/jsonr.h"
#include <stddef.h>

enum fm_field_type {
	FM_STR,     /* const char *: any text */
	FM_NAME,    /* name rule of path.h */
	FM_WORD,    /* one of field.words */
	FM_HEX,     /* 64 hex digits */
	FM_HEX0,    /* the same, or "" */
	FM_SEED,    /* 16 hex digits */
	FM_STAMP,   /* YYYY-MM-DDTHH:MM:SSZ */
	FM_STAMP0,  /* the same, or "" */
	FM_INT,     /* int64_t */
	FM_OPT_HEX, /* may be absent: NULL */
	FM_OPT_INT, /* may be absent: -1 */
	FM_OPT_STR, /* any text; may be absent: NULL */
	FM_SUB,     /* object or array that other code reads */
};

/* A table ends with FM_FIELD_END: a field that is not there may be replaced by the string
 * `<key>_why`, and then reads as "" or -1. With FM_FIELD_END_EXACT nothing can be replaced. */
struct fm_field {
	const char *key;
	enum fm_field_type type;
	size_t offset;     /* of a const char * or an int64_t in the struct */
	const char *words; /* of FM_WORD: allowed words, separated by one space */
};
/* clang-format off */
#define FM_FIELD_SUB(key)  {key, FM_SUB, 0, NULL}
#define FM_FIELD_END       {NULL, FM_STR, 0, NULL}
#define FM_FIELD_END_EXACT {NULL, FM_SUB, 0, NULL}
/* clang-format on */

/* Reads every field of o; a key that is not in the table is FM_ERR_FORM. Strings belong to the
 * document. base may be NULL: only checked. */
FM_CHECK int fm_fields_read(
        const struct fm_json_node *o, const struct fm_field *fields, void *base);

/* The same for the object o[key]. */
FM_CHECK int fm_fields_object(
        const struct fm_json_node *o, const char *key, const struct fm_field *fields, void *base);

/* Reads the array o[key] of objects into fresh memory *out (elements of size bytes, NULL when
 * empty), which the caller frees, also after an error. */
FM_CHECK int fm_fields_array(const struct fm_json_node *o, const char *key,
        const struct fm_field *fields, size_t size, void *out, size_t *count);

/* The array o[key] of strings; *out is freed by the caller, also after an error. */
FM_CHECK int fm_fields_strings(
        const struct fm_json_node *o, const char *key, const char ***out, size_t *count);

/* The member `schema` is want, else FM_ERR_FORM. */
FM_CHECK int fm_fields_schema(const struct fm_json_node *o, const char *want);

#endif
