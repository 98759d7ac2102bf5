/* trust_parts.h: what reading and writing a trust folder share; for trust*.c and their tests. */
#ifndef FM_TRUST_PARTS_H
#define FM_TRUST_PARTS_H

#include "orchestrator/trust.h"
#include "protocol/buf.h"

#define FM_TRUST_FILE_MAX (1u << 20)
#define FM_TRUST_JSON_MAX (64u << 10)

/* An enrolment statement (FORMATS.md section 5). */
struct fm_statement {
	char system[FM_NAME_MAX + 1], challenge[65];
	struct fm_public controller, key, previous;
	bool has_previous;
};
/* Parses and checks the signature by the key inside. FM_ERR_FORM, FM_ERR_SIGNATURE. */
FM_CHECK int fm_statement_check(const char *statement, size_t len, const char *signature, size_t signature_len,
	struct fm_statement *out);

/* allowed_signers and revoked_keys: parsed strictly, written from the struct. */
FM_CHECK int fm_trust_parse_signers(const char *text, size_t len, struct fm_trust *t);
FM_CHECK int fm_trust_parse_revoked(const char *text, size_t len, struct fm_trust *t);
FM_CHECK int fm_trust_format_signers(const struct fm_trust *t, struct fm_buf *out);

/* YYYY-MM-DDTHH:MM:SSZ as YYYYMMDDHHMMSSZ. */
void fm_trust_compact(const char stamp[21], char out[16]);

/* What making a trust folder takes: an empty folder beside the old one (*fd is closed by the caller), its lists written from the
 * struct, and the exchange of the two (first: there is no old one). The home is locked. */
FM_CHECK int fm_trust_folder(const struct fm_home *h, int *fd);
FM_CHECK int fm_trust_lists(const struct fm_trust *t, int fd);
FM_CHECK int fm_trust_swap(const struct fm_home *h, bool first);
/* FM_ERR_REPLAY: a higher version than this was sealed in this home before. */
FM_CHECK int fm_trust_version(const struct fm_home *h, int64_t version);

/* A change of the home's trust folder, with the home locked: begin reads it into trust, commit writes it with version up by
 * one (and the system's statement, if s is not NULL), seals it, reads it back and swaps it in; end frees, in any case. */
struct fm_trust_edit {
	struct fm_home *home;
	struct fm_trust trust;
	int from, to, lock;
	bool swapped;
};
FM_CHECK int fm_trust_edit_begin(struct fm_trust_edit *e, struct fm_home *h);
FM_CHECK int fm_trust_edit_commit(struct fm_trust_edit *e, const struct fm_trust_statement *s);
void fm_trust_edit_end(struct fm_trust_edit *e);

#endif
