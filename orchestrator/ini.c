/* ini.c: reads INI files strictly; inih behind it, fed line by line because it cuts, joins and
 * skips silently what it does not like. */
#include "orchestrator/ini.h"
#include "protocol/buf.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INI_BYTES   (1u << 20)
#define LINE_BYTES  4096
#define INI_ENTRIES 20000
#define SECTION_MAX 100
#define KEY_MAX     40 /* inih cuts keys at 49 bytes */

struct fm_ini {
	char *path;
	struct fm_ini_entry *entries;
	char **owned; /* per entry: the text behind its strings */
	size_t count, owned_count;
	/* while reading */
	const char *next, *end;
	int line, rc;
	const char *section;
};

/* inih's settings are constants of its build, except where a distribution made them variables. The
 * reader below refuses a line that the library at hand would cut. */
extern int ini_max_line __attribute__((weak));
extern int ini_initial_alloc __attribute__((weak));
extern bool ini_use_stack __attribute__((weak));

static void widen(void)
{
	if (&ini_max_line != NULL && &ini_use_stack != NULL && &ini_initial_alloc != NULL) {
		ini_max_line = LINE_BYTES + 3;
		ini_initial_alloc = LINE_BYTES + 3;
		ini_use_stack = false;
	}
}

FM_PRINTF(3, 0)
static int fail_line(const struct fm_ini *ini, int line, const char *format, va_list args)
{
	char text[900];

	vsnprintf(text, sizeof text, format, args);
	return fm_fail(FM_ERR_CONFIG, "%s:%d: %s", ini->path, line, text);
}

/* The first error of this file, at the line being read. */
FM_PRINTF(2, 3) static void stop(struct fm_ini *ini, const char *format, ...)
{
	va_list args;

	if (ini->rc != FM_OK)
		return;
	va_start(args, format);
	ini->rc = fail_line(ini, ini->line, format, args);
	va_end(args);
}

static int own(struct fm_ini *ini, char *text)
{
	char **slot = text == NULL ? NULL : fm_grow(&ini->owned, &ini->owned_count, sizeof *slot);

	if (slot == NULL) {
		free(text);
		return FM_ERR_MEMORY;
	}
	*slot = text;
	return FM_OK;
}

static int add(struct fm_ini *ini, const char *key, const char *value)
{
	struct fm_ini_entry *e;

	if (ini->count >= INI_ENTRIES) {
		stop(ini, "more than %d entries", INI_ENTRIES);
		return ini->rc;
	}
	if ((e = fm_grow(&ini->entries, &ini->count, sizeof *e)) == NULL)
		return FM_ERR_MEMORY;
	*e = (struct fm_ini_entry){ini->section, key, value, ini->line};
	return FM_OK;
}

/* A key of the current section; sections travel through inih as "s", since it cuts their names at
 * 49 bytes. */
static int on_key(void *arg, const char *section, const char *name, const char *value)
{
	struct fm_ini *ini = arg;
	char *key = fm_strdup(name), *text = fm_strdup(value);

	(void)section;
	if (ini->rc == FM_OK) {
		for (size_t i = ini->count; i > 0 && ini->entries[i - 1].section == ini->section;
		        i--)
			if (ini->entries[i - 1].key != NULL &&
			        strcmp(ini->entries[i - 1].key, name) == 0)
				stop(ini, "key '%s' stands already in line %d of [%s]", name,
				        ini->entries[i - 1].line, ini->section);
		if (ini->rc == FM_OK)
			ini->rc = add(ini, key, text);
	}
	if (own(ini, key) != FM_OK || own(ini, text) != FM_OK)
		ini->rc = ini->rc != FM_OK ? ini->rc : FM_ERR_MEMORY;
	return ini->rc == FM_OK;
}

/* "[name]" with nothing but a comment behind it. */
static void take_section(struct fm_ini *ini, const char *text, size_t len)
{
	const char *close = memchr(text, ']', len);
	size_t name = close == NULL ? 0 : (size_t)(close - text) - 1, rest;
	char *copy;

	if (close == NULL) {
		stop(ini, "the ] that ends the section's name is missing");
		return;
	}
	if (name == 0 || name > SECTION_MAX) {
		stop(ini, "a section is [name] with 1 to %d bytes between the brackets",
		        SECTION_MAX);
		return;
	}
	rest = (size_t)(close - text) + 1;
	while (rest < len && (text[rest] == ' ' || text[rest] == '\t'))
		rest++;
	if (rest < len && text[rest] != ';' && text[rest] != '#') {
		stop(ini, "text behind the section's ']'");
		return;
	}
	copy = fm_sprintf("%.*s", (int)name, text + 1);
	if ((ini->rc = own(ini, copy)) != FM_OK)
		return;
	for (size_t i = 0; i < ini->count; i++)
		if (ini->entries[i].key == NULL && strcmp(ini->entries[i].section, copy) == 0)
			stop(ini, "section [%s] stands already in line %d", copy,
			        ini->entries[i].line);
	ini->section = copy;
	if (ini->rc == FM_OK)
		ini->rc = add(ini, NULL, NULL);
}

/* A key line as inih will understand it: only '=' divides, no value is cut, there is a section. */
static void check_key(struct fm_ini *ini, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len), *colon = memchr(text, ':', len);
	size_t key = equals == NULL ? 0 : (size_t)(equals - text);
	char shown[80];

	while (key > 0 && (text[key - 1] == ' ' || text[key - 1] == '\t'))
		key--;
	if (equals == NULL || key == 0 || (colon != NULL && colon < equals))
		stop(ini, "read '%s', allowed are [section], key = value, and comments with ; or #",
		        fm_escape(text, len, shown, sizeof shown));
	else if (key > KEY_MAX || memchr(text, ' ', key) != NULL ||
	         memchr(text, '\t', key) != NULL || memchr(text, ';', key) != NULL)
		stop(ini, "'%s' is no key", fm_escape(text, key, shown, sizeof shown));
	else if (ini->section == NULL)
		stop(ini, "key '%.*s' before the first [section]", (int)key, text);
}

static bool utf8_ok(const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len;) {
		unsigned char c = p[i];
		size_t need = c < 0x80   ? 1
		              : c < 0xc2 ? 0
		              : c < 0xe0 ? 2
		              : c < 0xf0 ? 3
		              : c < 0xf5 ? 4
		                         : 0;

		if ((c < 0x20 && c != '\t') || c == 0x7f || need == 0 || need > len - i)
			return false;
		if ((c == 0xc2 && p[i + 1] < 0xa0) || (c == 0xe0 && p[i + 1] < 0xa0) ||
		        (c == 0xed && p[i + 1] > 0x9f) || (c == 0xf0 && p[i + 1] < 0x90) ||
		        (c == 0xf4 && p[i + 1] > 0x8f))
			return false;
		for (size_t k = 1; k < need; k++)
			if ((p[i + k] & 0xc0) != 0x80)
				return false;
		i += need;
	}
	return true;
}

/* The next line for inih, checked and without indentation (which it would take for a continued
 * value). */
static char *next_line(char *to, int size, void *arg)
{
	struct fm_ini *ini = arg;
	const char *start = ini->next, *stop_at;
	size_t len;

	if (ini->rc != FM_OK || start == ini->end)
		return NULL;
	stop_at = memchr(start, '\n', (size_t)(ini->end - start));
	len = stop_at == NULL ? (size_t)(ini->end - start) : (size_t)(stop_at - start);
	ini->next = start + len + (stop_at != NULL);
	ini->line++;
	if (len > 0 && start[len - 1] == '\r')
		len--;
	while (len > 0 && (*start == ' ' || *start == '\t')) {
		start++;
		len--;
	}
	if (len > LINE_BYTES || (int)len + 2 > size)
		stop(ini, "a line of %zu bytes, at most %d are allowed", len,
		        size - 2 < LINE_BYTES ? size - 2 : LINE_BYTES);
	else if (!utf8_ok((const unsigned char *)start, len))
		stop(ini, "control bytes, or bytes that are not UTF-8");
	else if (len == 0 || *start == ';' || *start == '#')
		len = 0;
	else if (*start == '[')
		take_section(ini, start, len);
	else
		check_key(ini, start, len);
	if (ini->rc != FM_OK)
		return NULL;
	if (len > 0 && *start == '[') {
		memcpy(to, "[s]\n", 5);
		return to;
	}
	memcpy(to, start, len);
	memcpy(to + len, "\n", 2);
	return to;
}

int fm_ini_parse(const char *path, const char *bytes, size_t len, struct fm_ini **out)
{
	struct fm_ini *ini = fm_alloc(sizeof *ini);
	int bad, rc = FM_ERR_MEMORY;

	*out = NULL;
	if (ini == NULL || (ini->path = fm_strdup(path)) == NULL)
		goto out;
	if (len > INI_BYTES) {
		rc = fm_fail(FM_ERR_CONFIG, "%s: more than %u bytes", path, INI_BYTES);
		goto out;
	}
	widen();
	if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
		bytes += 3;
		len -= 3;
	}
	ini->next = bytes;
	ini->end = bytes + len;
	bad = ini_parse_stream(next_line, ini, on_key, ini);
	if (ini->rc == FM_OK && bad != 0)
		stop(ini, "cannot be read as key = value");
	if ((rc = ini->rc) != FM_OK)
		goto out;
	*out = ini;
	ini = NULL;
out:
	fm_ini_free(ini);
	return rc;
}

int fm_ini_load(const char *path, struct fm_ini **out)
{
	char *real = realpath(path, NULL); /* people may keep what they write behind a link */
	struct fm_buf text = FM_BUF_INIT(INI_BYTES);
	int rc;

	*out = NULL;
	rc = fm_fs_read(AT_FDCWD, real == NULL ? path : real, INI_BYTES, &text);
	if (rc == FM_OK)
		rc = fm_ini_parse(path, text.data == NULL ? "" : text.data, text.len, out);
	else if (rc != FM_ERR_MEMORY)
		rc = fm_fail(FM_ERR_CONFIG, "%s", fm_error_text());
	fm_buf_free(&text);
	free(real);
	return rc;
}

void fm_ini_free(struct fm_ini *ini)
{
	if (ini == NULL)
		return;
	for (size_t i = 0; i < ini->owned_count; i++)
		free(ini->owned[i]);
	free(ini->owned);
	free(ini->entries);
	free(ini->path);
	free(ini);
}

const char *fm_ini_path(const struct fm_ini *ini)
{
	return ini->path;
}

size_t fm_ini_count(const struct fm_ini *ini)
{
	return ini->count;
}

const struct fm_ini_entry *fm_ini_at(const struct fm_ini *ini, size_t index)
{
	return &ini->entries[index];
}

int fm_ini_fail(const struct fm_ini *ini, const struct fm_ini_entry *e, const char *format, ...)
{
	va_list args;
	int rc;

	va_start(args, format);
	rc = fail_line(ini, e->line, format, args);
	va_end(args);
	return rc;
}

int fm_ini_unknown(const struct fm_ini *ini, const struct fm_ini_entry *e, const char *allowed)
{
	return fm_ini_fail(
	        ini, e, "unknown key '%s' in [%s]; allowed: %s", e->key, e->section, allowed);
}

int fm_ini_int(const struct fm_ini *ini, const struct fm_ini_entry *e, int64_t min, int64_t max,
        int64_t *out)
{
	const char *digits = e->value[0] == '-' ? e->value + 1 : e->value;
	bool negative = digits != e->value;
	uint64_t value = 0;
	char shown[60];
	int rc = fm_parse_u64(digits, INT64_MAX, &value);

	*out = negative ? -(int64_t)value : (int64_t)value;
	if (rc != FM_OK || (negative && value == 0) || *out < min || *out > max)
		return fm_ini_fail(ini, e,
		        "%s: read '%s', allowed are whole numbers from %lld to %lld", e->key,
		        fm_escape(e->value, strlen(e->value), shown, sizeof shown), (long long)min,
		        (long long)max);
	return FM_OK;
}

int fm_ini_words(
        const struct fm_ini *ini, const struct fm_ini_entry *e, char ***words, size_t *count)
{
	size_t len = strlen(e->value), most = len / 2 + 1;
	char **list = fm_alloc(most * sizeof *list + len + 1), *text, *save = NULL;

	(void)ini;
	*words = NULL;
	*count = 0;
	if (list == NULL)
		return FM_ERR_MEMORY;
	text = (char *)(list + most);
	memcpy(text, e->value, len + 1);
	for (char *w = strtok_r(text, " \t", &save); w != NULL; w = strtok_r(NULL, " \t", &save))
		list[(*count)++] = w;
	*words = list;
	return FM_OK;
}
