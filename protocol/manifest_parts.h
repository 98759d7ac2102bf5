/* manifest_parts.h: what the parts of manifests share; for manifest*.c only. */
#ifndef FM_MANIFEST_PARTS_H
#define FM_MANIFEST_PARTS_H

#include "protocol/fs.h"
#include "protocol/manifest.h"

/* One terminated line of len bytes, cut into *e in place; before is the path of the line above or
 * NULL. FM_ERR_FORM with the number. */
FM_CHECK int fm_manifest_line(
        char *line, size_t len, size_t number, const char *before, struct fm_manifest_entry *e);

/* What a walk over a folder sees, for the limits of its kind. */
struct fm_manifest_seen {
	enum fm_seal_kind kind;
	int dirfd;
	bool sealing; /* the folder is ours: what a crash left of fm_fs_write goes */
	size_t files;
	uint64_t bytes;
};
FM_CHECK int fm_manifest_walk(const struct fm_manifest_seen *f, fm_fs_visit *visit, void *arg);

/* Type, name and sizes of what the walk found; *named: a file that the manifest names. FM_OK,
 * FM_FS_SKIP, FM_ERR_FORM or FM_ERR_SIZE. */
FM_CHECK int fm_manifest_judge(
        struct fm_manifest_seen *f, const char *path, const struct stat *st, bool *named);

/* How many threads read files: one per processor. */
#define FM_MANIFEST_THREADS 16
size_t fm_manifest_threads(void);

/* one(arg, i) for every i below count, on as many threads as there are processors, or on this one
 * alone when there are few files and bytes. */
void fm_manifest_all(void (*one)(void *arg, size_t i), void *arg, size_t count, uint64_t bytes);

/* The error text of a failed file was set in another thread: reads it again, so that it is set in
 * this one. Never FM_OK. */
FM_CHECK int fm_manifest_repeat(int dirfd, const char *path, int rc);

/* Watches for names of one folder that differ only in case, along paths in sorted order: a folder's
 * names are held until it is left. */
struct fm_manifest_case;
FM_CHECK int fm_manifest_case_new(struct fm_manifest_case **out); /* fm_manifest_case_free */
void fm_manifest_case_free(struct fm_manifest_case *w);
FM_CHECK int fm_manifest_case_add(struct fm_manifest_case *w, const char *path);

/* False: no two of the paths differ only in case. True: two of them may. */
bool fm_manifest_case_suspect(const struct fm_manifest_case *w);

#endif
