/* frame.h: what travels on the one channel between controller and agent (FORMATS.md section 7). */
#ifndef FM_FRAME_H
#define FM_FRAME_H

#include "protocol/buf.h"

#define FM_FRAME_HEADER 12         /* type, 3 zero bytes, length and number as 32-bit big-endian */
#define FM_FRAME_MAX    (1u << 20) /* bytes of a payload */

enum fm_frame_type {
	FM_FRAME_CALL = 'C',  /* controller -> agent: job text of kind call */
	FM_FRAME_REPLY = 'R', /* agent -> controller: job text of kind reply */
	FM_FRAME_DATA = 'D',  /* bytes that belong to the last call or reply */
	FM_FRAME_END = 'E',   /* no more data; empty */
	FM_FRAME_EVENT = 'V', /* agent -> controller: one progress line */
	FM_FRAME_PING = 'P',
	FM_FRAME_PONG = 'Q',
};

struct fm_frame {
	enum fm_frame_type type;
	const char *payload; /* inside the decoder, valid until the next fm_frame_feed */
	size_t len;
};

/* Appends one encoded frame; *number is the sender's counter (starts at 0, is raised here). */
FM_CHECK int fm_frame_put(struct fm_buf *out, uint32_t *number, enum fm_frame_type type,
        const void *payload, size_t len);

/* Decoder fed with arbitrary pieces. */
struct fm_frame_reader {
	struct fm_buf in;
	size_t used; /* bytes of in that earlier frames took */
	uint32_t number;
};
void fm_frame_reader_init(struct fm_frame_reader *r);
void fm_frame_reader_free(struct fm_frame_reader *r);
/* Takes more bytes; at most 4 MiB may wait (FM_ERR_SIZE). Payloads handed out before are gone. */
FM_CHECK int fm_frame_feed(struct fm_frame_reader *r, const void *bytes, size_t len);

/* 1: *out is the next frame; 0: more bytes are needed; negative FM_ERR_FRAME: unknown type, bad
 * length or number: the session is over. */
FM_CHECK int fm_frame_next(struct fm_frame_reader *r, struct fm_frame *out);

#endif
