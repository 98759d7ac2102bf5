/* lines.h: the append-only line form shared by journal, spool and progress (FORMATS.md section 6):
 *   SEQ KIND key=value key=value ... CHECK */
#ifndef FM_LINES_H
#define FM_LINES_H

#include "protocol/buf.h"

#define FM_LINE_MAX    4096 /* bytes with LF */
#define FM_LINE_FIELDS 32

/* Not to be copied: the fields point into text. */
struct fm_line {
	uint64_t seq;
	char kind[32];
	size_t count;
	struct {
		const char *key, *value; /* decoded; inside text */
	} field[FM_LINE_FIELDS];
	char text[FM_LINE_MAX];
};

/* Parses one line without its LF. FM_ERR_FORM. */
FM_CHECK int fm_line_parse(const char *bytes, size_t len, struct fm_line *out);
const char *fm_line_get(const struct fm_line *l, const char *key); /* NULL if absent */
uint64_t fm_line_u64(const struct fm_line *l, const char *key, uint64_t otherwise);

/* Appends one encoded line with LF to out: pairs key, value, ..., NULL; no key twice, at most 32.
 * Values may hold any bytes but NUL; they are percent-encoded. FM_ERR_FORM, FM_ERR_SIZE. */
FM_CHECK int fm_line_format(struct fm_buf *out, uint64_t seq, const char *kind, ...)
        __attribute__((sentinel));

/* A file of such lines, open for appending by one writer. */
struct fm_lines;

/* Opens (or creates, 0600) dirfd/name and reads it: each(arg, line) for every line of the longest
 * valid prefix (rising numbers from 1, good check values); what lies behind it is moved to
 * NAME.cut-<seq> and *cut tells its bytes (cut and each may be NULL). The next line continues the
 * numbering. A code other than FM_OK from each ends the reading. */
typedef int fm_lines_each(void *arg, const struct fm_line *line);
FM_CHECK int fm_lines_open(struct fm_lines **out, int dirfd, const char *name, fm_lines_each *each,
        void *arg, size_t *cut);

/* Read only: the same without opening for writing or cutting. A missing file has no lines. */
FM_CHECK int fm_lines_read(int dirfd, const char *name, fm_lines_each *each, void *arg);

FM_CHECK int fm_lines_put(struct fm_lines *l, const char *kind, ...)
        __attribute__((sentinel));               /* thread-safe */
FM_CHECK int fm_lines_sync(struct fm_lines *l);  /* fdatasync */
FM_CHECK int fm_lines_close(struct fm_lines *l); /* NULL is allowed; the last sync can fail */

#endif
