/* katfile.h: the text of a known-answer file, streamed record by record into its canonical SHA-256;
 * no file is ever held in memory. Canonical: CR, space and tab at the end of a line go, lines that
 * are then empty go, every remaining line (the last too) ends in one LF. */
#ifndef FM_WORKER_KATFILE_H
#define FM_WORKER_KATFILE_H

#include "protocol/buf.h"
#include "protocol/digest.h"

#define FM_KATFILE_BLANKS_MAX (1u << 20) /* blanks in a row inside a line */

/* Fields only for katfile.c; make one with fm_katfile_start and end each with fm_katfile_end. */
struct fm_katfile {
	struct fm_sha256 hash;
	struct fm_buf blanks; /* blanks seen that are dropped if the line ends behind them */
	bool line;            /* something of this line was hashed */
	uint64_t bytes;       /* of the text as added */
	int rc;
};

void fm_katfile_start(struct fm_katfile *k);

/* Adds text, cut anywhere. An error (too many blanks in a row, no memory) is told by
 * fm_katfile_end. */
void fm_katfile_add(struct fm_katfile *k, const void *text, size_t len);

/* The two kinds of lines: "KEY = 123" and "KEY = 0AFF", LF behind; fm_katfile_gap ends a record. */
void fm_katfile_number(struct fm_katfile *k, const char *key, uint64_t value);
void fm_katfile_hex(struct fm_katfile *k, const char *key, const unsigned char *bytes, size_t len);
void fm_katfile_gap(struct fm_katfile *k);

/* The digest of the canonical form, and (bytes may be NULL) the bytes of the text as it was added.
 * Frees; hex is "" after an error. */
FM_CHECK int fm_katfile_end(struct fm_katfile *k, char hex[65], uint64_t *bytes);

#endif
