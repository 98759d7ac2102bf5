/* jsonscan.c: the words of a JSON text are checked here, before the library that reads it sees a
 * byte. */
#include "orchestrator/jsonscan.h"
#include <string.h>

/* What is looked at before cJSON is: its strict call takes leading zeros, `1.`, raw control bytes,
 * broken UTF-8, \u0000, a byte order mark and any depth. */
struct scan {
	const char *what;
	const unsigned char *p, *end;
	size_t line;
	int depth;
};

static int refuse(const struct scan *s, const char *why)
{
	return fm_fail(FM_ERR_FORM, "%s: line %zu: %s", s->what, s->line, why);
}

static int hex4(const unsigned char *p, const unsigned char *end, unsigned *value)
{
	*value = 0;
	for (int i = 0; i < 4; i++) {
		unsigned char c = p + i < end ? p[i] : 0;

		if (c >= '0' && c <= '9')
			c = (unsigned char)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			c = (unsigned char)((c | 32) - 'a' + 10);
		else
			return -1;
		*value = *value << 4 | c;
	}
	return 0;
}

static int scan_escape(struct scan *s)
{
	unsigned high, low;

	if (s->p == s->end || *s->p == '\0' || strchr("\"\\/bfnrtu", *s->p) == NULL)
		return refuse(s, "unknown escape in a string");
	if (*s->p++ != 'u')
		return FM_OK;
	if (hex4(s->p, s->end, &high) < 0 || high == 0 || (high >= 0xdc00 && high < 0xe000))
		return refuse(s, "bad \\u escape in a string");
	s->p += 4;
	if (high < 0xd800 || high >= 0xdc00)
		return FM_OK;
	if (s->end - s->p < 6 || s->p[0] != '\\' || s->p[1] != 'u' ||
	        hex4(s->p + 2, s->end, &low) < 0 || low < 0xdc00 || low >= 0xe000)
		return refuse(s, "half a surrogate pair in a string");
	s->p += 6;
	return FM_OK;
}

/* One character of more than one byte, in shortest form. */
static int scan_utf8(struct scan *s)
{
	unsigned char c = *s->p;
	size_t need = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;

	if (need == 0 || need > (size_t)(s->end - s->p))
		return refuse(s, "bytes that are not UTF-8");
	for (size_t i = 1; i < need; i++) {
		if (s->p[i] < low || s->p[i] > high)
			return refuse(s, "bytes that are not UTF-8");
		low = 0x80;
		high = 0xbf;
	}
	s->p += need;
	return FM_OK;
}

static int scan_string(struct scan *s)
{
	int rc = FM_OK;

	for (s->p++; rc == FM_OK;) {
		if (s->p == s->end || *s->p < 0x20)
			return refuse(s, "a string is not closed, or holds a control byte");
		if (*s->p == '"') {
			s->p++;
			return FM_OK;
		}
		if (*s->p == '\\') {
			s->p++;
			rc = scan_escape(s);
		} else if (*s->p >= 0x80) {
			rc = scan_utf8(s);
		} else {
			s->p++;
		}
	}
	return rc;
}

static size_t digits(struct scan *s)
{
	const unsigned char *start = s->p;

	while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
		s->p++;
	return (size_t)(s->p - start);
}

static int scan_number(struct scan *s)
{
	const unsigned char *first;
	size_t count;

	if (*s->p == '-')
		s->p++;
	first = s->p;
	count = digits(s);
	if (count == 0 || (count > 1 && *first == '0'))
		return refuse(s, "bad number");
	if (s->p < s->end && *s->p == '.') {
		s->p++;
		if (digits(s) == 0)
			return refuse(s, "bad number");
	}
	if (s->p < s->end && (*s->p | 32) == 'e') {
		s->p++;
		if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
			s->p++;
		if (digits(s) == 0)
			return refuse(s, "bad number");
	}
	if (s->p - first > 60) /* cJSON looks at 63 characters of a number and forgets the rest */
		return refuse(s, "a number of more than 60 characters");
	return FM_OK;
}

static int scan_word(struct scan *s)
{
	static const char *const words[] = {"true", "false", "null"};

	for (size_t i = 0; i < 3; i++) {
		size_t len = strlen(words[i]);

		if ((size_t)(s->end - s->p) >= len && memcmp(s->p, words[i], len) == 0) {
			s->p += len;
			return FM_OK;
		}
	}
	return refuse(s, "a byte that is no JSON");
}

int fm_json_scan(const char *what, const char *bytes, size_t len, int max_depth)
{
	struct scan s = {
	        what, (const unsigned char *)bytes, (const unsigned char *)bytes + len, 1, 0};
	int rc = FM_OK;

	while (rc == FM_OK && s.p < s.end) {
		unsigned char c = *s.p;

		if (c == '"') {
			rc = scan_string(&s);
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			rc = scan_number(&s);
		} else if (c != '\0' && strchr("[]{},: \t\r\n", c) != NULL) {
			s.line += c == '\n';
			s.depth += (c == '[' || c == '{') - (c == ']' || c == '}');
			if (s.depth > max_depth)
				rc = refuse(&s, "nested too deeply");
			s.p++;
		} else {
			rc = scan_word(&s);
		}
	}
	return rc;
}
