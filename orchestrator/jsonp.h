/* jsonp.h: prints JSON in the layout of the published records: indent 1, one element a line, keys
 * in the order given, ASCII, shortest doubles, null. (Signed files have the fixed form of jsonw.h
 * instead.) */
#ifndef FM_JSONP_H
#define FM_JSONP_H

#include "protocol/buf.h"

#define FM_JSONP_DEPTH 16

struct fm_jsonp {
	struct fm_buf *out;
	int error; /* the first one; later calls do nothing */
	int depth;
	struct {
		bool array, used;
	} level[FM_JSONP_DEPTH + 1];
};

void fm_jsonp_start(struct fm_jsonp *w, struct fm_buf *out); /* opens the one object */
FM_CHECK int fm_jsonp_end(struct fm_jsonp *w); /* closes it, adds LF, returns w->error */

/* key is NULL inside an array. */
void fm_jsonp_object(struct fm_jsonp *w, const char *key);
void fm_jsonp_array(struct fm_jsonp *w, const char *key);
void fm_jsonp_close(struct fm_jsonp *w);
void fm_jsonp_str(
        struct fm_jsonp *w, const char *key, const char *text); /* UTF-8; NULL prints null */
void fm_jsonp_int(struct fm_jsonp *w, const char *key, int64_t value);
void fm_jsonp_double(
        struct fm_jsonp *w, const char *key, double value); /* not finite prints null */
void fm_jsonp_bool(struct fm_jsonp *w, const char *key, bool value);
void fm_jsonp_null(struct fm_jsonp *w, const char *key);

#endif
