/* wire.h: frames over one channel, with the liveness rule: a ping after 10 s of silence, lost after
 * a given time without a byte. */
#ifndef FM_WIRE_H
#define FM_WIRE_H

#include "orchestrator/transport.h"
#include "protocol/frame.h"

#define FM_WIRE_PING_S 10
#define FM_WIRE_LOST_S 35
#define FM_WIRE_PIECE  (256u << 10) /* payload of our data frames */

struct fm_wire {
	const struct fm_transport_ops *ops;
	struct fm_channel *c; /* owned */
	struct fm_frame_reader reader;
	uint32_t number;        /* of our last frame */
	uint64_t heard, pinged; /* fm_now_ns of the last byte from there, of our last ping */
	uint64_t until; /* fm_now_ns at which it is given up though bytes come; 0: never */
	uint64_t sent, received;
	int log;
	char said[300]; /* the end of what came on stderr: why an agent ended */
};

void fm_wire_start(
        struct fm_wire *w, const struct fm_transport_ops *ops, struct fm_channel *c, int log);
void fm_wire_stop(struct fm_wire *w); /* discards the channel */

FM_CHECK int fm_wire_send(
        struct fm_wire *w, enum fm_frame_type type, const void *bytes, size_t len);

/* len bytes as data frames, without the end. */
FM_CHECK int fm_wire_send_data(struct fm_wire *w, const void *bytes, size_t len);

/* The next frame that is neither ping nor pong. FM_ERR_TIMEOUT after silence_s without any byte
 * or at until, FM_ERR_DROPPED at the end of the line. */
FM_CHECK int fm_wire_next(struct fm_wire *w, struct fm_frame *frame, int silence_s);

#endif
