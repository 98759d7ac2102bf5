/* adopt_text.c: what the sources and known-answer files of a package say about themselves. */
#include "orchestrator/adopt.h"
#include <stdlib.h>
#include <string.h>

#define BITS_MAX 65536

static const char *skip(const char *p)
{
	return p + strspn(p, " \t");
}

/* Behind "# <word>" at the start of a line, else NULL. */
static const char *directive(const char *line, const char *word)
{
	line = skip(line);
	if (*line != '#')
		return NULL;
	line = skip(line + 1);
	if (strncmp(line, word, strlen(word)) != 0)
		return NULL;
	line += strlen(word);
	return *line == ' ' || *line == '\t' || *line == '"' ? skip(line) : NULL;
}

/* The value behind a macro's name, else NULL. */
static const char *value_of(const char *define, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(define, name, len) != 0 || (define[len] != ' ' && define[len] != '\t'))
		return NULL;
	return skip(define + len);
}

static void take_macro(const char *define, struct fm_adopt_file *f)
{
	const char *v = value_of(define, "ALGORITHM_INSTANCE");
	char digits[8] = "";
	uint64_t bits;
	size_t len;

	if (v != NULL && *v == '"' && (len = strcspn(++v, "\"\r\n")) <= FM_NAME_MAX &&
	        v[len] == '"') {
		memcpy(f->name, v, len);
		f->name[len] = '\0';
		if (!fm_name_ok(f->name))
			f->name[0] = '\0';
	}
	if ((v = value_of(define, "DIGEST_BIT_LENGTH")) == NULL)
		return;
	v += *v == '(';
	len = strspn(v, "0123456789");
	if (len > 0 && len < sizeof digits) {
		memcpy(digits, v, len);
		if (fm_parse_u64(digits, BITS_MAX, &bits) == FM_OK)
			f->bits = (int)bits;
	}
}

static const char *next_line(const char *line)
{
	const char *lf = strchr(line, '\n');

	return lf != NULL ? lf + 1 : NULL;
}

int fm_adopt_read_source(const char *text, struct fm_adopt_file *f)
{
	int rc = FM_OK;

	for (const char *line = text; rc == FM_OK && line != NULL;
	        line = next_line(line)) {
		const char *at = directive(line, "include");
		size_t len;

		if (at != NULL && *at == '"') {
			len = strcspn(++at, "\"\r\n");
			if (at[len] == '"' && len > 0 && len <= FM_PATH_MAX)
				rc = fm_adopt_word(&f->includes, at, len);
		} else if ((at = directive(line, "define")) != NULL) {
			take_macro(at, f);
		}
	}
	return rc;
}

/* ---- known answers: the canonical form of kat/README.md ---- */

void fm_adopt_kat_start(struct fm_adopt_kat *k)
{
	memset(k, 0, sizeof *k);
	k->line = FM_BUF_INIT(FM_ADOPT_LINE);
	fm_sha256_start(&k->hash);
}

/* Is the line "<key ending in tail> =" and nothing behind it? */
static bool blank(const char *line, size_t len, const char *tail)
{
	size_t need = strlen(tail);

	return len >= need && memcmp(line + len - need, tail, need) == 0;
}

static void end_line(struct fm_adopt_kat *k)
{
	const char *line = k->line.data;
	size_t len = k->line.len;
	char digits[8] = "";
	uint64_t bits;

	while (len > 0 && strchr("\r \t", line[len - 1]) != NULL)
		len--;
	k->line.len = 0;
	if (len == 0)
		return;
	fm_sha256_add(&k->hash, line, len);
	fm_sha256_add(&k->hash, "\n", 1);
	k->any = true;
	k->blank_len |= blank(line, len, "_Len =");
	k->blank_digest |= len == 5 && memcmp(line, "Dst =", 5) == 0;
	if (k->bits == 0 && len > 10 && len < 10 + sizeof digits &&
	        memcmp(line, "Dst_Len = ", 10) == 0) {
		memcpy(digits, line + 10, len - 10);
		if (fm_parse_u64(digits, BITS_MAX, &bits) == FM_OK)
			k->bits = (int)bits;
	}
}

int fm_adopt_kat_add(struct fm_adopt_kat *k, const char *text, size_t len)
{
	int rc = FM_OK;

	while (rc == FM_OK && len > 0) {
		const char *lf = memchr(text, '\n', len);
		size_t part = lf == NULL ? len : (size_t)(lf - text);

		rc = fm_buf_put(&k->line, text, part);
		if (rc == FM_OK && lf != NULL)
			end_line(k);
		part += lf != NULL;
		text += part;
		len -= part;
	}
	return rc;
}

int fm_adopt_kat_end(struct fm_adopt_kat *k, struct fm_adopt_file *f)
{
	end_line(k);
	fm_sha256_end(&k->hash, f->sha256);
	f->bits = k->bits;
	f->problem = !k->any           ? "is empty"
	             : k->blank_digest ? "is a form without digests"
	             : k->blank_len ? "has blank _Len lines (mode nolen), which this version does "
	                              "not compare"
	                            : NULL;
	fm_buf_free(&k->line);
	return FM_OK;
}
