/* path.h: the name rules of DESIGN.md and FORMATS.md. */
#ifndef FM_PATH_H
#define FM_PATH_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stddef.h>

#define FM_NAME_MAX  64  /* bytes of a system, candidate, instance or campaign name */
#define FM_PART_MAX  200 /* bytes of one part of a path in a manifest */
#define FM_PATH_MAX  400 /* bytes of such a path */
#define FM_PARTS_MAX 12

/* [A-Za-z0-9][A-Za-z0-9._-]*, 1 to 64 bytes. */
bool fm_name_ok(const char *name);

/* The same with the error: FM_ERR_NAME, text "<what>: read '...', allowed are ...". */
FM_CHECK int fm_name_check(const char *what, const char *name);

/* 1 to 12 parts joined by '/', each [A-Za-z0-9_][A-Za-z0-9._+-]* of at most 200 bytes, at most 400
 * in all. */
bool fm_path_ok(const char *path);

/* 64 lower-case hex digits. */
bool fm_hex64_ok(const char *text);

/* YYYY-MM-DDTHH:MM:SSZ with every field in range, year 1970 to 9999. */
bool fm_stamp_ok(const char *text);

/* Now, or the given seconds since 1970, in that form. out has 21 bytes. */
void fm_stamp_now(char out[21]);
void fm_stamp_at(long long seconds, char out[21]);
long long fm_stamp_seconds(const char *stamp); /* of a well-formed stamp */

#endif
