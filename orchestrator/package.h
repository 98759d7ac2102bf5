/* package.h: official packages: what is inside, which of it a recipe wants, the cache they are kept and unpacked in. */
#ifndef FM_PACKAGE_H
#define FM_PACKAGE_H

#include "orchestrator/recipe.h"

#define FM_PACKAGE_BYTES    ((uint64_t)4 << 30)  /* of a package */
#define FM_PACKAGE_INSIDE   ((uint64_t)16 << 30) /* of all its entries, and at most FM_PACKAGE_RATIO x its own bytes */
#define FM_PACKAGE_RATIO    100
#define FM_PACKAGE_SMALL    ((uint64_t)64 << 20) /* up to here the ratio does not matter */
#define FM_PACKAGE_ENTRIES  200000
#define FM_PACKAGE_UNPACKED ((uint64_t)64 << 20) /* of the files a recipe wants */
#define FM_PACKAGE_FILE     ((uint64_t)16 << 20) /* of one of them */

/* ---- names (package_name.c) ---- */

/* The name of an entry in safe spelling: leading "./" and a trailing slash go; a byte that the path rule (path.h) does not
 * take is written +XX in upper-case hex, also a plus sign; where a part would begin with such a byte, or with '_' before one,
 * '_' stands in front. No two names share a spelling. *safe is "" for the root itself; the caller frees it. FM_ERR_SOURCE
 * for absolute names, drive letters, empty parts, '.', '..' (also between backslashes) and control bytes. */
FM_CHECK int fm_package_name(const char *what, const char *name, char **safe);

/* A short form that only a recipe of an official package may write: `FOLDER/`, `./`, `.../NAME` (fm_package_pick). */
bool fm_package_word(const char *word);

/* ---- what is inside (package_scan.c) ---- */

struct fm_package_file {
	char *name; /* safe spelling */
	uint64_t size;
	bool folder;
};
struct fm_package_list { /* sorted by name */
	struct fm_package_file *file;
	size_t count;
	uint64_t bytes;
};

/* Reads every header of the package and refuses, with the entry named, whatever makes it more than a plain
 * collection of files: see archive.h, the name rule above, names twice (also in upper and lower case), a file that is also
 * a folder, too many or too large entries. Nothing is written. */
FM_CHECK int fm_package_scan(int fd, const char *what, struct fm_package_list *out);
void fm_package_list_free(struct fm_package_list *l);

/* The plain files below root (NULL: all), relative to it. A root that is not there is FM_ERR_CONFIG with what is. */
FM_CHECK int fm_package_below(const struct fm_package_list *l, const char *root, struct fm_words *files);

/* ---- which of it (package_pick.c) ---- */

/* Replaces what the recipe wrote by what is there: `FOLDER/` by the sources in that folder, `.../NAME` by the one file (for
 * include: the one folder) whose path ends so. files is sorted. FM_ERR_CONFIG naming what is not there and what is instead. */
FM_CHECK int fm_package_pick(const struct fm_words *files, struct fm_candidate *c);

/* After that: the sources, and the headers in their folders and in the include folders. Sorted, each once. */
FM_CHECK int fm_package_wanted(const struct fm_words *files, const struct fm_candidate *c, struct fm_words *out);

/* Is this a source by the default rule: *.c *.cpp *.cc *.S that is no driver (KAT_*, main*, test*, bench*, speed*, drng.*)? */
bool fm_package_source(const char *path);

/* ---- cache (package_cache.c): $FLEETMARK_HOME/cache, else $XDG_CACHE_HOME/fleetmark, else ~/.cache/fleetmark ---- */

/* Opens it, making it (0700). The caller closes *fd and frees *path. */
FM_CHECK int fm_package_cache(char **path, int *fd);

/* "packages/<sha256>.part" and "packages/<sha256>"; out has 80 bytes. */
void fm_package_part(const char *sha256, char *out);
void fm_package_kept(const char *sha256, char *out);

/* Is the package in the cache, with its digest? A file of that name with another one is removed. */
FM_CHECK int fm_package_have(int cache, const char *sha256, bool *have);

/* Compares the finished .part with size (0: not known) and digest, then renames it. On a difference it is removed: FM_ERR_DIGEST,
 * saying what came instead. */
FM_CHECK int fm_package_keep(int cache, const char *sha256, uint64_t size, const char *from);

/* Copies a file at hand to .part. */
FM_CHECK int fm_package_copy(int cache, const char *sha256, const char *path);

/* Removes half-unpacked trees that a killed process left a day ago or earlier. */
FM_CHECK int fm_package_tidy(int cache);

/* ---- unpacked (package.c) ---- */

/* The folder with the unpacked sources of c (origin archive), in c->folder: unpacks them from the cached package unless they are
 * there, and checks that they are as unpacked. Without the package FM_ERR_CONFIG with the command that fetches it. */
FM_CHECK int fm_package_tree(struct fm_candidate *c);

#endif
