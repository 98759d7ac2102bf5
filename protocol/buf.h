/* buf.h: a growing byte buffer with a hard maximum, and the few string helpers everybody needs. */
#ifndef FM_BUF_H
#define FM_BUF_H

#include "protocol/error.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* data is always NUL-terminated once something was put (the NUL is not counted in len). */
struct fm_buf {
	char *data;
	size_t len, cap, max;
};

/* An empty buffer that refuses to grow beyond max bytes (FM_ERR_SIZE). Free with fm_buf_free, which
 * leaves it empty. */
#define FM_BUF_INIT(limit) ((struct fm_buf){NULL, 0, 0, (limit)})
void fm_buf_free(struct fm_buf *b);

/* Append. On an error the buffer is as it was. */
FM_CHECK int fm_buf_put(struct fm_buf *b, const void *bytes, size_t len);
FM_CHECK int fm_buf_puts(struct fm_buf *b, const char *text);
FM_CHECK int fm_buf_printf(struct fm_buf *b, const char *format, ...) FM_PRINTF(2, 3);

/* Makes room for len more bytes and returns where they go, NULL on error; the caller adds to
 * b->len. */
char *fm_buf_room(struct fm_buf *b, size_t len);

/* Drops the first n bytes (n <= len). */
void fm_buf_consume(struct fm_buf *b, size_t n);

/* malloc and friends that fail with FM_ERR_MEMORY text and NULL; sizes are checked against
 * overflow. Free with free. */
void *fm_alloc(size_t size);                     /* zeroed */
void *fm_alloc_array(size_t count, size_t size); /* zeroed */
char *fm_strdup(const char *text);
char *fm_sprintf(const char *format, ...) FM_PRINTF(1, 2);

/* Grows *array (elements of size bytes, *count used) by one zeroed element and returns it, NULL
 * without memory. The capacity follows from the count: an array starts NULL with 0 and only this
 * grows it; the count may be lowered by one after a failure, nothing else. */
void *fm_grow(void *array_pointer, size_t *count, size_t size);

/* text as an unsigned decimal without sign, space or leading zero, at most max. */
FM_CHECK int fm_parse_u64(const char *text, uint64_t max, uint64_t *out);

/* Escapes foreign text for terminals, logs and messages: control bytes, ESC, C1, invalid UTF-8,
 * bidirectional marks and backslash as \xNN; cuts at limit bytes of output with "...". out is
 * always terminated; size >= 8. Returns out. */
char *fm_escape(const char *text, size_t len, char *out, size_t size);

bool fm_streq(const char *a, const char *b); /* NULL equals only NULL */

#endif
