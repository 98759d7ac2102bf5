/* manifest.h: MANIFEST.sha256 and SOURCES.sha256, sorted sha256sum lines; grammar and limits in
 * FORMATS.md section 2. */
#ifndef FM_MANIFEST_H
#define FM_MANIFEST_H

#include "protocol/buf.h"
#include "protocol/error.h"
#include "protocol/path.h"
#include <stdbool.h>

enum fm_seal_kind { FM_SEAL_TRUST, FM_SEAL_PLAN, FM_SEAL_BUNDLE, FM_SEAL_TREE, FM_SEAL_KINDS };

/* Limits of a kind: files, bytes of one file, bytes in all (0: none). */
struct fm_seal_limits {
	size_t files;
	uint64_t file_bytes, all_bytes;
};
const struct fm_seal_limits *fm_seal_limits(enum fm_seal_kind kind);
const char *fm_seal_namespace(enum fm_seal_kind kind); /* "plan.v1@fleetmark" ... */

/* True for what a manifest of this kind never names: its own three files at the top and, for a
 * tree, what is below incoming/ and rejected/. */
bool fm_manifest_outside(enum fm_seal_kind kind, const char *path);

struct fm_manifest_entry {
	const char *hex, *path; /* inside fm_manifest.text */
};
struct fm_manifest {
	struct fm_manifest_entry *entries; /* sorted by path bytes */
	size_t count;
	char *text; /* owned */
};
void fm_manifest_free(struct fm_manifest *m);

#define FM_MANIFEST_LINE (64 + 2 + FM_PATH_MAX + 1) /* bytes of a line at most, with its LF */

/* Parses text (need not be terminated) in full before anything else may look at it: grammar, order,
 * no name twice (also not when lower-cased), at least one line, at most max_files. FM_ERR_FORM with
 * the line number, FM_ERR_SIZE. */
FM_CHECK int fm_manifest_parse(
        const char *text, size_t len, size_t max_files, struct fm_manifest *out);

/* The lines for every plain file below dirfd, sorted. Leaves out what fm_manifest_outside names.
 * Anything that is neither plain file nor folder, and any name outside the path rule, is
 * FM_ERR_FORM, anything beyond the limits of the kind FM_ERR_SIZE, before a byte is read. Large
 * folders are hashed on one thread per processor. */
FM_CHECK int fm_manifest_make(int dirfd, enum fm_seal_kind kind, struct fm_buf *out);

/* The same for a folder that is about to be sealed, which only we write to: files ".NAME.new" that
 * a killed fm_fs_write left are removed first. */
FM_CHECK int fm_manifest_make_own(int dirfd, enum fm_seal_kind kind, struct fm_buf *out);

/* Lines in order, wherever they come from, as often as they are asked for, by several threads at
 * once. begin: a new pass over them, NULL without memory; next: 1 and an entry that lives until the
 * next call, 0 behind the last, or an error; end gives the pass back. */
struct fm_manifest_source {
	void *(*begin)(const void *of);
	int (*next)(void *pass, struct fm_manifest_entry *e);
	void (*end)(void *pass);
	const void *of;
	size_t count;
};

/* Every listed file is there with its digest and within the limits, and nothing else is there. All
 * findings are given to report (may be NULL), first those of names, missing or extra, then those of
 * kind digest, each in the order of the paths; the first one decides the code. A type, name or size
 * that is not allowed comes before any of kind digest, and no file is read beyond what the kind
 * allows. Holds a byte for each line; reads on one thread per processor. */
typedef void fm_manifest_report(void *arg, const char *path, const char *what);
FM_CHECK int fm_manifest_check_lines(int dirfd, enum fm_seal_kind kind,
        const struct fm_manifest_source *source, fm_manifest_report *report, void *arg);
FM_CHECK int fm_manifest_check(int dirfd, enum fm_seal_kind kind, const struct fm_manifest *m,
        fm_manifest_report *report, void *arg);

/* The same with a text that may be large: it is taken out of the buffer, not copied, once its lines
 * are counted. */
FM_CHECK int fm_manifest_take(struct fm_buf *text, size_t max_files, struct fm_manifest *out);

const struct fm_manifest_entry *fm_manifest_find(
        const struct fm_manifest *m, const char *path); /* NULL if absent */

#endif
