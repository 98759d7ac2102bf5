/* buffer.h: a buffer handed to measured code: canary bytes and unreachable pages on both sides. */
#ifndef FM_WORKER_BUFFER_H
#define FM_WORKER_BUFFER_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>

#define FM_CANARY            0xa5 /* the byte, and how many stand on each side */
#define FM_CANARY_BYTES      64
#define FM_BUFFER_OFFSET_MAX 4032
#define FM_BUFFER_FLUSH \
	((size_t)-1) /* as offset: the canary behind the buffer ends at the guard page */

struct fm_buffer {
	unsigned char *data; /* len bytes, zeroed and touched */
	size_t len;
	unsigned char *map; /* the whole mapping, guard pages included */
	size_t map_len;
};

/* A private mapping: guard page, ..., 64 canary bytes, len bytes, 64 canary bytes, ..., guard page.
 * data stands at offset (a multiple of 64, at most FM_BUFFER_OFFSET_MAX) behind its page's start,
 * or FM_BUFFER_FLUSH. At most 8 buffers live at once. Give back with fm_buffer_close. */
FM_CHECK int fm_buffer_open(struct fm_buffer *b, size_t len, size_t offset);
void fm_buffer_close(struct fm_buffer *b); /* also of a zeroed one */

/* False when a canary byte changed. */
bool fm_buffer_whole(const struct fm_buffer *b);

/* True when the address lies in a guard page of a live buffer. For signal handlers. */
bool fm_buffer_guards(const void *address);

#endif
