/* adopt.h: what `fleetmark adopt` sees in a package and proposes; between cmd_adopt.c and adopt_*.c. */
#ifndef FM_ADOPT_H
#define FM_ADOPT_H

#include "orchestrator/package.h"
#include "protocol/digest.h"

enum fm_adopt_kind {
	FM_ADOPT_OTHER,
	FM_ADOPT_SOURCE,
	FM_ADOPT_HEADER,
	FM_ADOPT_API, /* CryptHash*.h */
	FM_ADOPT_KAT,
	FM_ADOPT_LICENCE,
	FM_ADOPT_BINARY,
	FM_ADOPT_SCRIPT,
	FM_ADOPT_NESTED,
	FM_ADOPT_KINDS
};
extern const char *const fm_adopt_title[FM_ADOPT_KINDS];

struct fm_adopt_file { /* a plain file of the package */
	const char *path;  /* safe spelling, from the root of the package; in fm_adopt.all */
	uint64_t size;
	enum fm_adopt_kind kind;
	char name[FM_NAME_MAX + 1]; /* API: ALGORITHM_INSTANCE, KAT: the NAME in its file name; "" unknown */
	int bits;                   /* API: DIGEST_BIT_LENGTH, KAT: the first Dst_Len; 0 unknown */
	char sha256[65];            /* KAT: of its canonical form */
	const char *problem;        /* KAT: why it is no reference, or NULL */
	struct fm_words includes;   /* sources and headers: what they #include in quotes */
};

struct fm_adopt_instance {
	char name[FM_NAME_MAX + 1];
	int bits; /* 0: not known */
	const struct fm_adopt_file *header;
	struct fm_words sources, include; /* from the root of the package */
};

struct fm_adopt {
	char name[FM_NAME_MAX + 1], id[FM_NAME_MAX + 1], sha256[65];
	uint64_t bytes; /* of the package */
	struct fm_package_list all;
	struct fm_adopt_file *file; /* sorted by path */
	size_t count;
	struct fm_adopt_instance *instance; /* sorted by name */
	size_t instances;
	struct fm_buf notes; /* what could not be decided, a line each */
};

/* Reads the package (adopt_look.c). */
FM_CHECK int fm_adopt_look(int fd, const char *what, struct fm_adopt *a);
void fm_adopt_free(struct fm_adopt *a);
const struct fm_adopt_file *fm_adopt_find(const struct fm_adopt *a, const char *path); /* NULL: none */

/* What a text says (adopt_text.c): the macros and #includes of a source; a KAT file, piece by piece. */
FM_CHECK int fm_adopt_read_source(const char *text, struct fm_adopt_file *f);
struct fm_adopt_kat {
	struct fm_sha256 hash;
	struct fm_buf line; /* the unfinished one, at most FM_ADOPT_LINE bytes */
	int bits;
	bool blank_len, blank_digest, any;
};
#define FM_ADOPT_LINE (1u << 20)
void fm_adopt_kat_start(struct fm_adopt_kat *k);
FM_CHECK int fm_adopt_kat_add(struct fm_adopt_kat *k, const char *text, size_t len);
FM_CHECK int fm_adopt_kat_end(struct fm_adopt_kat *k, struct fm_adopt_file *f); /* frees, also on an error */

/* Instances with their sources, and the notes (adopt_decide.c; what belongs to a source: adopt_graph.c). */
FM_CHECK int fm_adopt_decide(struct fm_adopt *a);
FM_CHECK int fm_adopt_follow(struct fm_adopt *a, struct fm_adopt_instance *i);
FM_CHECK int fm_adopt_note(struct fm_adopt *a, const char *format, ...) FM_PRINTF(2, 3);
FM_CHECK int fm_adopt_word(struct fm_words *w, const char *word, size_t len); /* adds it unless it is there */

/* algos/<id>/candidate.ini, kat/<id>/kat.sha256 and README.txt below dirfd (adopt_write.c). */
FM_CHECK int fm_adopt_write(struct fm_adopt *a, int dirfd);

#endif
