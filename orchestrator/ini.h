/* ini.h: strict reading of what people write (inih behind it): every key known, no section or key twice, errors with file,
 * line, what was read and what is allowed. At most 1 MiB, lines at most 4096 bytes, ASCII or UTF-8 without control bytes. */
#ifndef FM_INI_H
#define FM_INI_H

#include "protocol/error.h"
#include <stddef.h>
#include <stdint.h>

struct fm_ini; /* a parsed file */
struct fm_ini_entry {
	const char *section, *key, *value; /* key NULL: the section's own line */
	int line;
};

/* Reads the whole file in order. FM_ERR_CONFIG "<file>:<line>: ...". Free with fm_ini_free. */
FM_CHECK int fm_ini_load(const char *path, struct fm_ini **out);
/* The same from memory; path is only for messages. */
FM_CHECK int fm_ini_parse(const char *path, const char *bytes, size_t len, struct fm_ini **out);
void fm_ini_free(struct fm_ini *ini);
const char *fm_ini_path(const struct fm_ini *ini);
size_t fm_ini_count(const struct fm_ini *ini);
const struct fm_ini_entry *fm_ini_at(const struct fm_ini *ini, size_t index);

/* FM_ERR_CONFIG for this entry: "<file>:<line>: <text>". */
int fm_ini_fail(const struct fm_ini *ini, const struct fm_ini_entry *e, const char *format, ...) FM_PRINTF(3, 4);

/* FM_ERR_CONFIG "unknown key 'adress' in [x86_1]; allowed: ...". */
int fm_ini_unknown(const struct fm_ini *ini, const struct fm_ini_entry *e, const char *allowed);

/* Values. Words are split at spaces and tabs; *words is one allocation (pointers and text), freed with free. */
FM_CHECK int fm_ini_int(const struct fm_ini *ini, const struct fm_ini_entry *e, int64_t min, int64_t max, int64_t *out);
FM_CHECK int fm_ini_words(const struct fm_ini *ini, const struct fm_ini_entry *e, char ***words, size_t *count);

#endif
