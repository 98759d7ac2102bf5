/* frame.c: packs and unpacks the frames of the one channel between controller and agent. */
#include "protocol/frame.h"
#include <string.h>

/* One partial frame and what a reader gets in one piece. */
#define IN_MAX (4 * (size_t)FM_FRAME_MAX)

static bool type_ok(int type, size_t len)
{
	switch (type) {
	case FM_FRAME_CALL:
	case FM_FRAME_REPLY:
	case FM_FRAME_DATA:
	case FM_FRAME_EVENT:
	case FM_FRAME_PING:
	case FM_FRAME_PONG:
		return len <= FM_FRAME_MAX;
	case FM_FRAME_END:
		return len == 0;
	default:
		return false;
	}
}

static void put_u32(unsigned char *p, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		p[i] = (unsigned char)(value >> (24 - 8 * i));
}

static uint32_t get_u32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int fm_frame_put(struct fm_buf *out, uint32_t *number, enum fm_frame_type type, const void *payload,
        size_t len)
{
	unsigned char header[FM_FRAME_HEADER] = {0};
	int rc;

	if (!type_ok((int)type, len) || *number == UINT32_MAX)
		return fm_fail(FM_ERR_INTERNAL, "frame of type %d with %zu bytes cannot be sent",
		        (int)type, len);
	header[0] = (unsigned char)type;
	put_u32(header + 4, (uint32_t)len);
	put_u32(header + 8, *number + 1);
	if ((rc = fm_buf_put(out, header, sizeof header)) != FM_OK)
		return rc;
	if ((rc = fm_buf_put(out, payload, len)) != FM_OK) {
		out->len -= sizeof header;
		out->data[out->len] = '\0';
		return rc;
	}
	++*number;
	return FM_OK;
}

void fm_frame_reader_init(struct fm_frame_reader *r)
{
	*r = (struct fm_frame_reader){.in = FM_BUF_INIT(IN_MAX)};
}

void fm_frame_reader_free(struct fm_frame_reader *r)
{
	fm_buf_free(&r->in);
	r->used = 0;
}

int fm_frame_feed(struct fm_frame_reader *r, const void *bytes, size_t len)
{
	int rc;

	fm_buf_consume(&r->in, r->used);
	r->used = 0;
	if ((rc = fm_buf_put(&r->in, bytes, len)) != FM_OK)
		fm_wrap(rc, "channel: bytes that wait");
	return rc;
}

int fm_frame_next(struct fm_frame_reader *r, struct fm_frame *out)
{
	const unsigned char *head;
	size_t have = r->in.len - r->used;
	uint32_t len, number;

	if (have < FM_FRAME_HEADER) /* also before the first byte, when there is no buffer yet */
		return 0;
	head = (const unsigned char *)r->in.data + r->used;
	len = get_u32(head + 4);
	number = get_u32(head + 8);
	if (head[1] != 0 || head[2] != 0 || head[3] != 0 || !type_ok(head[0], len))
		return fm_fail(FM_ERR_FRAME,
		        "channel: read a frame of type 0x%02x with %lu bytes, allowed are C R D E "
		        "V P Q "
		        "with at most %u",
		        head[0], (unsigned long)len, FM_FRAME_MAX);
	if (r->number == UINT32_MAX || number != r->number + 1)
		return fm_fail(FM_ERR_FRAME, "channel: read frame number %lu, expected %lu",
		        (unsigned long)number, (unsigned long)r->number + 1);
	if (have - FM_FRAME_HEADER < len)
		return 0;
	*out = (struct fm_frame){
	        (enum fm_frame_type)head[0], (const char *)head + FM_FRAME_HEADER, len};
	r->used += FM_FRAME_HEADER + len;
	r->number = number;
	return 1;
}
