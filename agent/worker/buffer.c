/* buffer.c: a buffer handed to measured code: canary bytes and unreachable pages on both sides. */
#include "agent/worker/buffer.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LIVE_MAX 8

/* Guard pages of the live buffers: begin is 0 for a free place. */
static struct {
	uintptr_t begin, end, page;
} live[LIVE_MAX];

static int remember(const struct fm_buffer *b, size_t page)
{
	for (size_t i = 0; i < LIVE_MAX; i++) {
		if (live[i].begin != 0)
			continue;
		live[i].begin = (uintptr_t)b->map;
		live[i].end = (uintptr_t)b->map + b->map_len;
		live[i].page = page;
		return FM_OK;
	}
	return fm_fail(FM_ERR_INTERNAL, "more than %d buffers", LIVE_MAX);
}

int fm_buffer_open(struct fm_buffer *b, size_t len, size_t offset)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), inner, at;
	int rc = FM_ERR_INTERNAL;

	memset(b, 0, sizeof *b);
	if (len > SIZE_MAX / 2 ||
	        (offset != FM_BUFFER_FLUSH && (offset > FM_BUFFER_OFFSET_MAX || offset % 64 != 0)))
		return fm_fail(FM_ERR_INTERNAL, "buffer of %zu bytes at offset %zu", len, offset);
	/* one page before the data's own page holds the canary even for offset 0 */
	inner = page + (offset == FM_BUFFER_FLUSH ? 0 : offset) + len + FM_CANARY_BYTES;
	inner = (inner + page - 1) / page * page;
	b->map_len = inner + 2 * page;
	b->map = mmap(NULL, b->map_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->map == MAP_FAILED) {
		b->map = NULL;
		rc = fm_fail_errno("mapping %zu bytes", b->map_len);
		goto out;
	}
	if (mprotect(b->map + page, inner, PROT_READ | PROT_WRITE) != 0) {
		rc = fm_fail_errno("mprotect of %zu bytes", inner);
		goto out;
	}
	if ((rc = remember(b, page)) != FM_OK)
		goto out;
	at = offset == FM_BUFFER_FLUSH ? page + inner - FM_CANARY_BYTES - len : 2 * page + offset;
	b->data = b->map + at;
	b->len = len;
	memset(b->data, 0, len);
	memset(b->data - FM_CANARY_BYTES, FM_CANARY, FM_CANARY_BYTES);
	memset(b->data + len, FM_CANARY, FM_CANARY_BYTES);
	rc = FM_OK;
out:
	if (rc != FM_OK)
		fm_buffer_close(b);
	return rc;
}

void fm_buffer_close(struct fm_buffer *b)
{
	for (size_t i = 0; i < LIVE_MAX; i++)
		if (b->map != NULL && live[i].begin == (uintptr_t)b->map)
			live[i].begin = 0;
	if (b->map != NULL)
		munmap(b->map, b->map_len);
	memset(b, 0, sizeof *b);
}

bool fm_buffer_whole(const struct fm_buffer *b)
{
	unsigned char changed = 0;

	for (size_t i = 0; i < FM_CANARY_BYTES; i++)
		changed |= (unsigned char)((b->data[-1 - (ptrdiff_t)i] ^ FM_CANARY) |
		                           (b->data[b->len + i] ^ FM_CANARY));
	return changed == 0;
}

bool fm_buffer_guards(const void *address)
{
	uintptr_t a = (uintptr_t)address;

	for (size_t i = 0; i < LIVE_MAX; i++)
		if (live[i].begin != 0 &&
		        ((a >= live[i].begin && a < live[i].begin + live[i].page) ||
		                (a < live[i].end && a >= live[i].end - live[i].page)))
			return true;
	return false;
}
