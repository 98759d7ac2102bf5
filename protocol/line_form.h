/* line_form.h: the writer of one line with its arguments as va_list; shared by lines.c and
 * line_form.c only. */
#ifndef FM_LINE_FORM_H
#define FM_LINE_FORM_H

#include "protocol/buf.h"

/* As fm_line_format. */
FM_CHECK int fm_line_vformat(struct fm_buf *out, uint64_t seq, const char *kind, va_list args);

#endif
