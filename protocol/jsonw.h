/* jsonw.h: writes the fixed JSON form (FORMATS.md section 4). The caller gives keys in rising
 * order; the writer refuses anything else, so a document that this wrote is one that the reader
 * accepts. */
#ifndef FM_JSONW_H
#define FM_JSONW_H

#include "protocol/buf.h"

#define FM_JSON_INT_MAX 9007199254740991LL /* 2^53 - 1 */
#define FM_JSON_DEPTH   8

struct fm_jsonw {
	struct fm_buf *out;
	int error; /* first error, FM_OK while fine; later calls do nothing */
	int depth;
	struct {
		char last[64]; /* last key of an open object */
		bool array, used;
	} level[FM_JSON_DEPTH + 1];
};

void fm_jsonw_start(struct fm_jsonw *w, struct fm_buf *out); /* opens the one object */
FM_CHECK int fm_jsonw_end(struct fm_jsonw *w); /* closes it, adds the last LF, returns w->error */

/* key is NULL inside an array. Text must be printable ASCII (0x20..0x7e), else FM_ERR_FORM. */
void fm_jsonw_object(struct fm_jsonw *w, const char *key);
void fm_jsonw_array(struct fm_jsonw *w, const char *key);
void fm_jsonw_close(struct fm_jsonw *w); /* the innermost object or array */
void fm_jsonw_str(struct fm_jsonw *w, const char *key, const char *text);
void fm_jsonw_int(struct fm_jsonw *w, const char *key,
        long long value); /* |value| <= 2^53 - 1, else FM_ERR_FORM */
void fm_jsonw_u64(
        struct fm_jsonw *w, const char *key, uint64_t value); /* always as a decimal string */

/* Host text made fit for a value: every byte outside 0x20..0x7e becomes '?', cut at 200 bytes. */
void fm_jsonw_text(struct fm_jsonw *w, const char *key, const char *text);

#endif
