/* jsonr.h: reads the fixed JSON form (FORMATS.md section 4) and, apart from it, foreign JSON. The only file that sees cJSON. */
#ifndef FM_JSONR_H
#define FM_JSONR_H

#include "protocol/buf.h"

struct fm_json;      /* a document */
struct fm_json_node; /* a value inside it, valid as long as the document */

/* Accepts exactly what fm_jsonw writes: parse, print with our writer, compare all bytes. FM_ERR_FORM / FM_ERR_SIZE with what. */
FM_CHECK int fm_json_read(const char *what, const char *bytes, size_t len, size_t max, struct fm_json **out);

/* Any strict RFC 8259 object without doubled keys, for data published elsewhere (fractions, null, booleans allowed). */
FM_CHECK int fm_json_read_foreign(const char *what, const char *bytes, size_t len, size_t max, struct fm_json **out);
void fm_json_free(struct fm_json *d);
const struct fm_json_node *fm_json_root(const struct fm_json *d);

/* Typed getters of an object: FM_ERR_FORM "<what>: <key>: ..." when absent or of another type. */
FM_CHECK int fm_json_str(const struct fm_json_node *o, const char *key, const char **out);
FM_CHECK int fm_json_int(const struct fm_json_node *o, const char *key, int64_t *out);
FM_CHECK int fm_json_double(const struct fm_json_node *o, const char *key, double *out); /* foreign */
FM_CHECK int fm_json_bool(const struct fm_json_node *o, const char *key, bool *out); /* foreign: true or false */
FM_CHECK int fm_json_object(const struct fm_json_node *o, const char *key, const struct fm_json_node **out);
FM_CHECK int fm_json_array(const struct fm_json_node *o, const char *key, const struct fm_json_node **out);
bool fm_json_has(const struct fm_json_node *o, const char *key);
bool fm_json_is_null(const struct fm_json_node *o, const char *key); /* foreign; absent counts as null */

/* FM_ERR_FORM "<what>: <place of the node>: <why>", for checks of values that callers make. */
FM_CHECK int fm_json_fail(const struct fm_json_node *n, const char *why);
bool fm_json_is_object(const struct fm_json_node *n);

/* Only these keys (space separated) may stand in the object: FM_ERR_FORM naming the unknown one. */
FM_CHECK int fm_json_only(const struct fm_json_node *o, const char *keys);

/* Iteration of arrays (and objects: fm_json_key). */
const struct fm_json_node *fm_json_first(const struct fm_json_node *a);
const struct fm_json_node *fm_json_next(const struct fm_json_node *element);
size_t fm_json_count(const struct fm_json_node *a);
const char *fm_json_key(const struct fm_json_node *member);
const char *fm_json_text(const struct fm_json_node *element); /* NULL unless a string */
bool fm_json_number(const struct fm_json_node *element, double *out);

#endif
