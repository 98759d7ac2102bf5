/* recipe.h: candidates as people describe them (algos/<id>/candidate.ini, algos/flags.ini) and as the plan holds them. */
#ifndef FM_RECIPE_H
#define FM_RECIPE_H

#include "protocol/buf.h"
#include "protocol/path.h"
#include <stdbool.h>

struct fm_words { /* strings owned by the struct */
	char **word;
	size_t count;
};

enum { FM_VERSION_REFERENCE, FM_VERSION_PERFORMANCE, FM_VERSION_RESOURCE, FM_VERSIONS };
extern const char *const fm_version_name[FM_VERSIONS];

struct fm_instance {
	char name[FM_NAME_MAX + 1], kat[FM_NAME_MAX + 1];
	int digest_bits;  /* 1..65536 */
	bool digest_any;  /* an XOF */
	char *header;
	struct fm_words defines, include, libs, arch; /* arch empty: every architecture */
	struct {
		bool exists, own; /* own: sources of its own, else the reference's */
		struct fm_words sources;
	} version[FM_VERSIONS];
	size_t vectors; /* lines of kat/<id>/vectors.txt for it */
	char vectors_sha256[65];
	struct fm_kat_line { /* from kat/<id>/kat.sha256, all files of this instance, sorted */
		char sha256[65], mode[16];
		char *file;
	} *kat_lines;
	size_t kat_count;
};
struct fm_candidate {
	char id[FM_NAME_MAX + 1];
	char *name, *category, *page, *origin; /* origin "own" or "archive" */
	char *archive_url, *archive_root;
	char archive_sha256[65]; /* or "" */
	uint64_t archive_bytes;  /* 0: not known */
	char *folder;            /* where its source tree lies here; NULL when read back from a plan */
	struct fm_instance *instances; /* in file order */
	size_t count;
	char source_sha256[65], tree_sha256[65];
	struct fm_buf tree_list; /* treelist.h; empty when read back from a plan */
	uint64_t tree_bytes;
	struct fm_buf sources; /* SOURCES.sha256 of this candidate */
	struct fm_buf vectors; /* text of kat/<id>/vectors.txt, may be empty */
};
struct fm_candidates {
	struct fm_candidate *list; /* sorted by id */
	size_t count;
};

/* Reads every algos/<id>/candidate.ini below root that pattern (-c globs, NULL: all of origin own) selects, with its source
 * tree and known answers. Official packages (origin archive) are taken when named in full, or by a glob that matches nothing
 * else; they must have been fetched. An id pattern that matches nothing is FM_ERR_USAGE, listing what is there. */
FM_CHECK int fm_recipe_load(const char *root, const char *pattern, struct fm_candidates *out);
/* The recipe alone of an official package, by its id or by that of our own candidate beside it: hash-09 finds hash-09-archive.
 * Free with fm_candidate_free. FM_ERR_USAGE if there is none. */
FM_CHECK int fm_recipe_archive(const char *root, const char *id, struct fm_candidate *c);
void fm_recipe_free(struct fm_candidates *c);
void fm_candidate_free(struct fm_candidate *c);

struct fm_flags {
	struct fm_flags_line {
		char arch[16];
		int version;
		char *flags, *mark; /* mark "" or "by analogy" */
	} *list;
	size_t count;
	char *additions, *fallback;
};
FM_CHECK int fm_flags_load(const char *root, struct fm_flags *out);
void fm_flags_free(struct fm_flags *f);
const struct fm_flags_line *fm_flags_find(const struct fm_flags *f, const char *arch, int version); /* NULL if none */

#endif
