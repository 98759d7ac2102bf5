/* buf.c: the growing byte buffer, checked allocation, and the escaping of foreign text. */
#include "protocol/buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fm_buf_free(struct fm_buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->cap = 0;
}

/* Room for len more bytes and a NUL. */
static int buf_reserve(struct fm_buf *b, size_t len)
{
	size_t need, cap;
	char *data;

	if (b->len > b->max || len > b->max - b->len || b->max == SIZE_MAX)
		return fm_fail(
		        FM_ERR_SIZE, "more than the %zu bytes that are allowed here", b->max);
	need = b->len + len + 1;
	if (need <= b->cap)
		return FM_OK;
	cap = b->cap < 128 ? 128 : b->cap;
	while (cap < need)
		cap = cap > b->max / 2 ? b->max + 1 : cap * 2;
	if ((data = realloc(b->data, cap)) == NULL)
		return fm_fail(FM_ERR_MEMORY, "no memory for a buffer of %zu bytes", cap);
	b->data = data;
	b->cap = cap;
	b->data[b->len] = '\0';
	return FM_OK;
}

int fm_buf_put(struct fm_buf *b, const void *bytes, size_t len)
{
	int rc = buf_reserve(b, len);

	if (rc != FM_OK)
		return rc;
	if (len > 0)
		memcpy(b->data + b->len, bytes, len);
	b->len += len;
	b->data[b->len] = '\0';
	return FM_OK;
}

int fm_buf_puts(struct fm_buf *b, const char *text)
{
	return fm_buf_put(b, text, strlen(text));
}

int fm_buf_printf(struct fm_buf *b, const char *format, ...)
{
	va_list args;
	int length, rc;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		return fm_fail(FM_ERR_INTERNAL, "text that cannot be printed: format %s", format);
	if ((rc = buf_reserve(b, (size_t)length)) != FM_OK)
		return rc;
	va_start(args, format);
	vsnprintf(b->data + b->len, (size_t)length + 1, format, args);
	va_end(args);
	b->len += (size_t)length;
	return FM_OK;
}

char *fm_buf_room(struct fm_buf *b, size_t len)
{
	if (buf_reserve(b, len) != FM_OK)
		return NULL;
	memset(b->data + b->len, 0, len + 1);
	return b->data + b->len;
}

void fm_buf_consume(struct fm_buf *b, size_t n)
{
	if (n == 0 || b->data == NULL)
		return;
	if (n > b->len)
		n = b->len;
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

void *fm_alloc(size_t size)
{
	void *p = calloc(1, size > 0 ? size : 1);

	if (p == NULL)
		fm_fail(FM_ERR_MEMORY, "no memory for %zu bytes", size);
	return p;
}

void *fm_alloc_array(size_t count, size_t size)
{
	bool fits = size == 0 || count <= PTRDIFF_MAX / size;
	void *p = fits ? calloc(count > 0 ? count : 1, size > 0 ? size : 1) : NULL;

	if (p == NULL)
		fm_fail(FM_ERR_MEMORY, "no memory for %zu times %zu bytes", count, size);
	return p;
}

char *fm_strdup(const char *text)
{
	size_t len = strlen(text) + 1;
	char *copy = fm_alloc(len);

	if (copy != NULL)
		memcpy(copy, text, len);
	return copy;
}

char *fm_sprintf(const char *format, ...)
{
	va_list args;
	char *text = NULL;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0) {
		fm_fail(FM_ERR_MEMORY, "no memory for a text");
		return NULL;
	}
	return text;
}

/* The capacity is the power of two at or above the count, so it needs no field of its own. */
void *fm_grow(void *array_pointer, size_t *count, size_t size)
{
	unsigned char *array;
	size_t n = *count;

	memcpy(&array, array_pointer, sizeof array); /* whatever the type of the elements */
	if ((n & (n - 1)) == 0) {
		size_t cap = n == 0 ? 1 : n * 2;

		if (cap < n || size == 0 || cap > PTRDIFF_MAX / size ||
		        (array = realloc(array, cap * size)) == NULL) {
			fm_fail(FM_ERR_MEMORY, "no memory for %zu elements of %zu bytes", cap,
			        size);
			return NULL;
		}
		memcpy(array_pointer, &array, sizeof array);
	}
	memset(array + n * size, 0, size);
	*count = n + 1;
	return array + n * size;
}

int fm_parse_u64(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;
	const char *p = text;
	char shown[64];

	for (; *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (value > (UINT64_MAX - digit) / 10)
			break;
		value = value * 10 + digit;
	}
	if (p == text || *p != '\0' || (text[0] == '0' && text[1] != '\0') || value > max)
		return fm_fail(FM_ERR_FORM, "read '%s', allowed is a decimal number from 0 to %llu",
		        fm_escape(text, strlen(text), shown, sizeof shown),
		        (unsigned long long)max);
	*out = value;
	return FM_OK;
}

/* Bytes of the UTF-8 character at p (at most len), its code in *code; 0 if it is none in shortest
 * form. */
static size_t utf8_length(const unsigned char *p, size_t len, uint32_t *code)
{
	size_t need = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	static const unsigned char mask[] = {0, 0x7f, 0x1f, 0x0f, 0x07};

	if (need == 0 || need > len || p[0] > 0xf4)
		return 0;
	*code = p[0] & mask[need];
	for (size_t i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3f);
	}
	if ((need == 3 && *code < 0x800) || (need == 4 && (*code < 0x10000 || *code > 0x10ffff)) ||
	        (*code >= 0xd800 && *code <= 0xdfff))
		return 0;
	return need;
}

/* Characters that stay as they are: no control, no mark that reorders, hides or breaks text. */
static bool harmless(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == '\\' || c == 0x061c || c == 0xfeff)
		return false;
	if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	        (c >= 0x2060 && c <= 0x206f) || (c >= 0xe0000 && c <= 0xe0fff))
		return false;
	return true;
}

char *fm_escape(const char *text, size_t len, char *out, size_t size)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t used = 0, cut = 0;

	while (len > 0) {
		uint32_t code = 0;
		size_t take = utf8_length(p, len, &code), put;
		bool plain = take > 0 && harmless(code);

		if (take == 0)
			take = 1;
		put = plain ? take : 4 * take;
		if (used + put + 1 > size) {
			memcpy(out + cut, "...", 4);
			return out;
		}
		for (size_t i = 0; i < take; i++)
			if (plain)
				out[used + i] = (char)p[i];
			else
				snprintf(out + used + 4 * i, size - used - 4 * i, "\\x%02x", p[i]);
		used += put;
		if (used + 4 <= size)
			cut = used;
		p += take;
		len -= take;
	}
	out[used] = '\0';
	return out;
}

bool fm_streq(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}
