/* world.h: a made-up machine for tests (FORMATS.md section 15): what its files, counters and clocks
 * say. Only in builds with FLEETMARK_TESTING. */
#ifndef FM_WORLD_H
#define FM_WORLD_H

#ifdef FLEETMARK_TESTING
#include "protocol/buf.h"

/* One line: its key and the words behind it. */
struct fm_world_line {
	const char *key;
	unsigned line;
	char *text; /* owned: the words, each terminated */
	const char **word;
	size_t words;
	size_t taken; /* of `values`: readings so far */
};
struct fm_world {
	struct fm_world_line *lines;
	size_t count;
	char sha256[65];
};

/* FM_ERR_FORM with the line and what is allowed; *w is then empty. Free with fm_world_free. */
FM_CHECK int fm_world_parse(struct fm_world *w, const char *bytes, size_t len);
void fm_world_free(struct fm_world *w);

/* The turn-th (from 0; the last one stays) number of the line with this key, and with this name if
 * it is one of a name; otherwise if there is no such line. */
int64_t fm_world_number(const struct fm_world *w, const char *key, const char *name, size_t turn,
        int64_t otherwise);

/* The word behind the name (or the key, name NULL) of the first such line, NULL if there is none.
 */
const char *fm_world_word(const struct fm_world *w, const char *key, const char *name);

/* Reads the file and makes it this process's world. FM_ERR_SYSTEM, FM_ERR_FORM. */
FM_CHECK int fm_world_use(const char *path);

/* The same from text. For unit tests; NULL ends it. */
FM_CHECK int fm_world_set(const char *text);

/* This process's world, NULL if there is none. */
const struct fm_world *fm_world_now(void);

/* The folder in which /proc and /sys are looked for, "" for the real ones. */
const char *fm_world_root(void);

/* True if the world has `values` for this path: out gets the next one. */
bool fm_world_reading(const char *path, char *out, size_t size);
#endif

#endif
