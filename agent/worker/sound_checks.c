/* sound_checks.c: the checks beyond the known answers; each runs in a process of its own and tells
 * what it finds as a property, never as a status. */
#include "agent/worker/sound.h"

#include "agent/worker/result.h"
#include "protocol/digest.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAK_CALLS 64

/* Message lengths in bits: empty, single bits, around the blocks and paddings of common designs. */
static const unsigned lengths[] = {0, 1, 7, 8, 9, 15, 64, 127, 256, 440, 447, 448, 511, 512, 513,
        1023, 1024, 1025, 1088, 1153, 1344, 1600, 2047, 2048, 4096, 4099, 8192, 32768, 65528};
#define LENGTHS (sizeof lengths / sizeof lengths[0])

static size_t bytes_of(unsigned bits)
{
	return (bits + 7) / 8;
}

/* Message of this many bits, unused bits 0. */
static void fill(unsigned char *msg, unsigned bits)
{
	size_t len = bytes_of(bits);

	for (size_t i = 0; i < len; i++)
		msg[i] = (unsigned char)(131 * i + bits);
	if (bits % 8 != 0)
		msg[len - 1] &= (unsigned char)(0xff00u >> bits % 8);
}

static void say(struct fm_sound *s, const char *what, unsigned bits)
{
	snprintf(s->where, FM_SOUND_WHERE, "%s, message of %u bits", what, bits);
}

/* One call into s->digest; false when a property was told. */
static bool call(struct fm_sound *s, const unsigned char *msg, unsigned bits)
{
	int returned;

	memset(s->digest.data, 0x5a, s->digest.len);
	returned = s->hash((int)s->digest_bits, msg, bits, s->digest.data);
	if (!fm_buffer_whole(&s->digest))
		fm_sound_tell(s, "bytes beside the digest are written (%s)", s->where);
	else if (returned != 0)
		fm_sound_tell(s, "CryptHash returned %d (%s)", returned, s->where);
	return !s->told;
}

static unsigned char *room(size_t count, const struct fm_sound *s)
{
	unsigned char *p = fm_alloc_array(count, s->digest.len);

	if (p == NULL)
		fm_result_fail("memory");
	return p;
}

/* Digests of all lengths at an aligned place, one after another. */
static bool references(struct fm_sound *s, unsigned char *all)
{
	for (size_t i = 0; i < LENGTHS; i++) {
		say(s, "plain call", lengths[i]);
		fill(s->message.data, lengths[i]);
		if (!call(s, s->message.data, lengths[i]))
			return false;
		memcpy(all + i * s->digest.len, s->digest.data, s->digest.len);
	}
	return true;
}

static bool same(const struct fm_sound *s, const unsigned char *all, size_t i)
{
	return memcmp(all + i * s->digest.len, s->digest.data, s->digest.len) == 0;
}

static void unaligned(struct fm_sound *s)
{
	unsigned char *all = room(LENGTHS, s);
	char what[60];

	if (!references(s, all))
		return;
	for (unsigned offset = 1; offset < 8 && !s->told; offset++) {
		snprintf(what, sizeof what, "message at offset %u", offset);
		for (size_t i = 0; i + 1 < LENGTHS && !s->told; i++) {
			unsigned char *msg = s->message.data + offset;

			say(s, what, lengths[i]);
			fill(msg, lengths[i]);
			if (call(s, msg, lengths[i]) && !same(s, all, i))
				fm_sound_tell(s, "another digest (%s)", s->where);
		}
	}
	free(all);
}

/* The message begins and ends at an unreachable page and cannot be written. */
static void flush(struct fm_sound *s)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *all = room(LENGTHS, s);
	unsigned char *first = s->message.map + page, *end;

	end = s->message.map + s->message.map_len - page;
	if (!references(s, all))
		return;
	for (int front = 0; front < 2; front++) {
		for (size_t i = 0; i < LENGTHS && !s->told; i++) {
			unsigned char *msg = front ? first : end - bytes_of(lengths[i]);

			say(s,
			        front ? "an unreachable page before the message"
			              : "an unreachable page behind the message",
			        lengths[i]);
			fill(msg, lengths[i]);
			if (mprotect(first, (size_t)(end - first), PROT_READ) != 0)
				fm_result_fail("system");
			if (call(s, msg, lengths[i]) && !same(s, all, i))
				fm_sound_tell(s, "another digest (%s)", s->where);
			if (mprotect(first, (size_t)(end - first), PROT_READ | PROT_WRITE) != 0)
				fm_result_fail("system");
		}
	}
	free(all);
}

static void unused_bits(struct fm_sound *s)
{
	unsigned char *clear = room(1, s);

	for (size_t i = 0; i < LENGTHS && !s->told; i++) {
		unsigned bits = lengths[i];

		if (bits % 8 == 0)
			continue;
		say(s, "unused bits of the last byte set", bits);
		fill(s->message.data, bits);
		if (!call(s, s->message.data, bits))
			break;
		memcpy(clear, s->digest.data, s->digest.len);
		s->message.data[bytes_of(bits) - 1] |= (unsigned char)(0xffu >> bits % 8);
		if (call(s, s->message.data, bits) && !same(s, clear, 0))
			fm_sound_tell(s, "the digest depends on them (message of %u bits)", bits);
	}
	free(clear);
}

/* The same calls backwards, each twice, and in leaps. */
static void order(struct fm_sound *s)
{
	unsigned char *all = room(LENGTHS, s);

	if (!references(s, all))
		return;
	for (size_t n = 0; n < 3 * LENGTHS && !s->told; n++) {
		size_t i = n < 2 * LENGTHS ? LENGTHS - 1 - n / 2 : n * 11 % LENGTHS;

		say(s, "called again in another order", lengths[i]);
		fill(s->message.data, lengths[i]);
		if (call(s, s->message.data, lengths[i]) && !same(s, all, i))
			fm_sound_tell(s,
			        "the digest depends on the calls before (message of %u bits)",
			        lengths[i]);
	}
	free(all);
}

/* One digest over everything: the parent compares those of two processes. */
static void process(struct fm_sound *s)
{
	unsigned char *all = room(LENGTHS, s);
	char hex[65];

	if (!references(s, all))
		return;
	fm_sha256_hex(all, LENGTHS * s->digest.len, hex);
	fm_result_fact("digest", "%s", hex);
	free(all);
}

/* The digest at an unreachable page on either side, and at odd addresses. */
static void digest_place(struct fm_sound *s)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), len = s->digest.len;
	unsigned char *all = room(LENGTHS, s);
	unsigned char *first = s->digest.map + page,
	              *end = s->digest.map + s->digest.map_len - page;

	if (!references(s, all))
		return;
	for (size_t place = 0; place < 9; place++) {
		unsigned char *at = place == 0 ? end - len : first + place - 1;

		for (size_t i = 0; i < LENGTHS && !s->told; i += 3) {
			unsigned char around = 0;
			int returned;

			say(s,
			        place < 2 ? "digest at an unreachable page"
			                  : "digest at an odd address",
			        lengths[i]);
			fill(s->message.data, lengths[i]);
			memset(first, 0x5a, (size_t)(end - first));
			returned = s->hash((int)s->digest_bits, s->message.data, lengths[i], at);
			for (unsigned char *p = first; p < end; p++)
				if (p < at || p >= at + len)
					around |= *p ^ 0x5a;
			if (around != 0)
				fm_sound_tell(
				        s, "bytes beside the digest are written (%s)", s->where);
			else if (returned != 0)
				fm_sound_tell(s, "CryptHash returned %d (%s)", returned, s->where);
			else if (memcmp(all + i * len, at, len) != 0)
				fm_sound_tell(s, "another digest (%s)", s->where);
		}
	}
	free(all);
}

static size_t heap_in_use(void)
{
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	struct mallinfo info = mallinfo();

	return (size_t)(unsigned)info.uordblks + (size_t)(unsigned)info.hblkhd;
#endif
#else
	return 0;
#endif
}

static void heap(struct fm_sound *s)
{
	size_t before = 0, after;

	fill(s->message.data, 8192);
	for (unsigned i = 0; i < 8 + LEAK_CALLS && !s->told; i++) {
		say(s, "many calls", 8192);
		if (i == 8)
			before = heap_in_use();
		(void)call(s, s->message.data, 8192);
	}
	after = heap_in_use();
	if (!s->told && after >= before + LEAK_CALLS)
		fm_sound_tell(s, "%zu bytes stay allocated with every call",
		        (after - before) / LEAK_CALLS);
}

/* Asks for s->length digest bits, with exactly as many bytes before an unreachable page. */
static void length(struct fm_sound *s)
{
	bool sensible = s->length > 0 && s->length <= (int)FM_ORDER_DIGEST_BITS_MAX;
	size_t len = sensible ? bytes_of((unsigned)s->length) : s->digest.len;
	struct fm_buffer out;
	int returned;

	snprintf(s->where, FM_SOUND_WHERE, "%d digest bits asked for", s->length);
	if (fm_buffer_open(&out, len, FM_BUFFER_FLUSH) != FM_OK)
		fm_result_fail("memory");
	fill(s->message.data, 1024);
	returned = s->hash(s->length, s->message.data, 1024, out.data);
	if (!fm_buffer_whole(&out))
		fm_sound_tell(s, "bytes beside the digest are written (%s)", s->where);
	else if (!s->any && returned == 0)
		fm_sound_tell(s, "not refused (%s)", s->where);
	else if (s->any && returned != 0)
		fm_sound_tell(s, "refused with %d (%s)", returned, s->where);
	fm_buffer_close(&out);
}

size_t fm_sound_checks(unsigned digest_bits, bool any, struct fm_sound_check *out, size_t most)
{
	static const struct fm_sound_check always[] = {{"unaligned", unaligned, 0, false},
	        {"flush", flush, 0, false}, {"unused bits", unused_bits, 0, false},
	        {"order", order, 0, false}, {"process", process, 0, true},
	        {"digest", digest_place, 0, false}, {"heap", heap, 0, false}};
	const int bits = (int)digest_bits;
	const int wrong[] = {bits - 8, bits + 8, 2 * bits, bits + 1, 1, 0, -8, INT_MAX};
	const int right[] = {8, 13, bits - 8, bits + 8, 2 * bits + 1};
	const int *list = any ? right : wrong;
	size_t count = any ? sizeof right / sizeof *right : sizeof wrong / sizeof *wrong, n = 0;

	for (size_t i = 0; i < sizeof always / sizeof always[0] && n < most; i++)
		out[n++] = always[i];
	for (size_t i = 0; i < count && n < most; i++)
		if (!any || list[i] > 0)
			out[n++] = (struct fm_sound_check){"length", length, list[i], false};
	return n;
}
