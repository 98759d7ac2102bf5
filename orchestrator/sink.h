/* sink.h: where derived files go: written into a folder, or compared with what is there. */
#ifndef FM_SINK_H
#define FM_SINK_H

#include "protocol/buf.h"

struct fm_sink {
	int dirfd;        /* -1: everything given is dropped */
	bool check;       /* write nothing, compare */
	bool print;       /* a line "differs: PATH" on stdout per differing file */
	size_t files;     /* given so far */
	size_t differing; /* of these, in check mode */
	char first[512];  /* the first of them */
	struct fm_sink_path {
		unsigned char digest[16]; /* of every path given, for fm_sink_extra */
	} * paths;
	size_t path_count;
	bool sorted;
	int folder_fd; /* the last folder written into, 0: none */
	char folder[512];
};
void fm_sink_free(struct fm_sink *s);

/* One file, with its folders. In check mode a difference is counted, not an error. */
FM_CHECK int fm_sink_put(struct fm_sink *s, const char *path, const void *bytes, size_t len);

/* A file that comes in parts, so that it may be of any size; the same rules. */
struct fm_sink_stream {
	struct fm_sink *sink;
	char path[256];
	int fd; /* -1: dropped, or already known to differ */
	bool differs;
	struct fm_buf part; /* not yet written or compared */
};
FM_CHECK int fm_sink_begin(struct fm_sink *s, const char *path, struct fm_sink_stream *out);
FM_CHECK int fm_sink_add(struct fm_sink_stream *st, const void *bytes, size_t len);
/* Writes or compares the rest. Also after an error; leaves nothing open. */
FM_CHECK int fm_sink_end(struct fm_sink_stream *st);

/* For sink_stream.c: notes the path; makes the file anew; counts a difference. */
FM_CHECK int fm_sink_note(struct fm_sink *s, const char *path);
FM_CHECK int fm_sink_create(struct fm_sink *s, const char *path, int *fd);
void fm_sink_differs(struct fm_sink *s, const char *path);

/* What was written is on disk. */
FM_CHECK int fm_sink_sync(struct fm_sink *s);

/* Counts as differing every plain file below folder that was not given. In write mode these files
 * are removed: the folder holds nothing but derived files. */
FM_CHECK int fm_sink_extra(struct fm_sink *s, const char *folder);

/* In check mode: counts as differing every .md and .html at the top that was not given. */
FM_CHECK int fm_sink_extra_pages(struct fm_sink *s);

/* FM_OK, or FM_ERR_DIGEST naming the first differing file. */
FM_CHECK int fm_sink_verdict(const struct fm_sink *s);

#endif
