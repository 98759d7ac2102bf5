/* wire.c: sends and receives frames, pings a silent line, gives it up in time. */
#include "orchestrator/wire.h"
#include "orchestrator/hostlog.h"
#include <string.h>

#define SEND_WAIT (120 * FM_S) /* for one frame to be taken; the line may be slow */

void fm_wire_start(
        struct fm_wire *w, const struct fm_transport_ops *ops, struct fm_channel *c, int log)
{
	*w = (struct fm_wire){.ops = ops, .c = c, .log = log, .heard = fm_now_ns()};
	fm_frame_reader_init(&w->reader);
}

void fm_wire_stop(struct fm_wire *w)
{
	if (w->c != NULL)
		w->ops->discard(w->c);
	w->c = NULL;
	fm_frame_reader_free(&w->reader);
	fm_frame_reader_init(&w->reader);
	w->number = 0;
}

int fm_wire_send(struct fm_wire *w, enum fm_frame_type type, const void *bytes, size_t len)
{
	struct fm_buf out = FM_BUF_INIT(FM_FRAME_MAX + FM_FRAME_HEADER);
	int rc;

	if (w->c == NULL)
		return fm_fail(FM_ERR_DROPPED, "the line to the agent is closed");
	rc = fm_frame_put(&out, &w->number, type, bytes, len);
	if (rc == FM_OK)
		rc = w->ops->write(w->c, out.data, out.len, fm_now_ns() + SEND_WAIT);
	if (rc == FM_OK)
		w->sent += out.len;
	fm_buf_free(&out);
	return rc;
}

int fm_wire_send_data(struct fm_wire *w, const void *bytes, size_t len)
{
	const char *next = bytes;
	int rc = FM_OK;

	while (rc == FM_OK && len > 0) {
		size_t n = len < FM_WIRE_PIECE ? len : FM_WIRE_PIECE;

		rc = fm_wire_send(w, FM_FRAME_DATA, next, n);
		next += n;
		len -= n;
	}
	return rc;
}

/* Keeps the end of stderr, for the message when the agent is gone. */
static void remember(struct fm_wire *w, const char *bytes, size_t n)
{
	size_t have = strlen(w->said), room = sizeof w->said - 1;

	if (n > room) {
		bytes += n - room;
		n = room;
	}
	if (have + n > room) {
		memmove(w->said, w->said + (have + n - room), room - n);
		have = room - n;
	}
	memcpy(w->said + have, bytes, n);
	w->said[have + n] = '\0';
}

static int closed(const struct fm_wire *w)
{
	char shown[700];

	fm_escape(w->said, strlen(w->said), shown, sizeof shown);
	return fm_fail(FM_ERR_DROPPED, "the agent closed the line%s%s",
	        w->said[0] != '\0' ? ": " : "", shown);
}

/* One read; stderr goes to the log. FM_OK also when nothing came before the next ping is due. */
static int feed(struct fm_wire *w, uint64_t lost)
{
	char piece[32768];
	uint64_t quiet_since = w->heard > w->pinged ? w->heard : w->pinged;
	uint64_t ping = quiet_since + FM_WIRE_PING_S * FM_S;
	int is_stderr = 0;
	ssize_t n;

	if (w->until != 0 && w->until < lost)
		lost = w->until;
	n = w->ops->read(w->c, piece, sizeof piece, &is_stderr, ping < lost ? ping : lost);
	if (n == FM_ERR_TIMEOUT) {
		if (fm_now_ns() >= lost)
			return FM_ERR_TIMEOUT;
		w->pinged = fm_now_ns();
		return fm_wire_send(w, FM_FRAME_PING, NULL, 0);
	}
	if (n < 0)
		return (int)n;
	if (n == 0)
		return closed(w);
	w->heard = fm_now_ns();
	if (is_stderr) {
		fm_hostlog_raw(w->log, piece, (size_t)n);
		remember(w, piece, (size_t)n);
		return FM_OK;
	}
	w->received += (uint64_t)n;
	return fm_frame_feed(&w->reader, piece, (size_t)n);
}

int fm_wire_next(struct fm_wire *w, struct fm_frame *frame, int silence_s)
{
	uint64_t start = fm_now_ns();

	if (w->c == NULL)
		return fm_fail(FM_ERR_DROPPED, "the line to the agent is closed");
	for (;;) {
		uint64_t since = w->heard > start ? w->heard : start;
		int rc = w->until != 0 && fm_now_ns() >= w->until
		                 ? fm_fail(FM_ERR_TIMEOUT,
		                           "what was asked for does not come to an end")
		                 : fm_frame_next(&w->reader, frame);

		if (rc < 0)
			return rc;
		if (rc == 1 && frame->type == FM_FRAME_PING) {
			rc = fm_wire_send(w, FM_FRAME_PONG, frame->payload, frame->len);
			if (rc != FM_OK)
				return rc;
			continue;
		}
		if (rc == 1 && frame->type != FM_FRAME_PONG)
			return FM_OK;
		if (rc == 1)
			continue;
		rc = feed(w, since + (uint64_t)silence_s * FM_S);
		if (rc == FM_ERR_TIMEOUT && (w->until == 0 || fm_now_ns() < w->until))
			return fm_fail(
			        FM_ERR_TIMEOUT, "no byte from the agent for %d s", silence_s);
		if (rc == FM_ERR_TIMEOUT)
			continue;
		if (rc != FM_OK)
			return rc;
	}
}
