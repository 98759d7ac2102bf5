/* recipe_kat.c: the known answers of a candidate: kat/<id>/kat.sha256 and kat/<id>/vectors.txt. */
#include "orchestrator/recipe_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KAT_BYTES     (1u << 20)
#define VECTORS_BYTES (16u << 20)

static const char *const tags[] = {"KAT_2_12", "KAT_2_23", "KAT_2_33", "KAT_Loop"};

static struct fm_instance *instance(const struct fm_candidate *c, const char *name, size_t len)
{
	for (size_t n = 0; n < c->count; n++)
		if (strlen(c->instances[n].name) == len &&
		        memcmp(c->instances[n].name, name, len) == 0)
			return &c->instances[n];
	return NULL;
}

/* A file that may be absent (then *text stays empty). */
static int read_optional(const char *path, size_t max, struct fm_buf *text)
{
	int rc;

	errno = 0;
	rc = fm_fs_read(AT_FDCWD, path, max, text);
	if (rc == FM_ERR_SYSTEM && errno == ENOENT)
		return FM_OK;
	return rc == FM_OK || rc == FM_ERR_MEMORY ? rc
	                                          : fm_fail(FM_ERR_CONFIG, "%s", fm_error_text());
}

static bool file_ok(const char *file, const struct fm_instance *i)
{
	for (size_t n = 0; n < sizeof tags / sizeof tags[0]; n++) {
		size_t len = strlen(tags[n]), name = strlen(i->kat);

		if (strncmp(file, tags[n], len) == 0 && file[len] == '_' &&
		        strncmp(file + len + 1, i->kat, name) == 0 &&
		        strcmp(file + len + 1 + name, ".txt") == 0)
			return true;
	}
	return false;
}

/* `<hex> <mode> <instance>/<file>`, split in place. */
static int take_line(char *line, struct fm_candidate *c, const char *where)
{
	char *mode = strchr(line, ' '), *name = mode == NULL ? NULL : strchr(mode + 1, ' '), *file,
	     shown[120];
	struct fm_instance *i;
	struct fm_kat_line *k;

	fm_escape(line, strlen(line), shown, sizeof shown);
	if (name != NULL)
		*mode++ = *name++ = '\0';
	if (name == NULL || !fm_hex64_ok(line) || (file = strchr(name, '/')) == NULL)
		return fm_fail(FM_ERR_CONFIG,
		        "%s: read '%s', allowed is <64 hex digits> <mode> <instance>/<file>", where,
		        shown);
	if (strcmp(mode, "strict") != 0)
		return fm_fail(FM_ERR_CONFIG,
		        "%s: mode '%.20s', only strict is known to this version", where, mode);
	i = instance(c, name, (size_t)(file - name));
	if (i == NULL || !file_ok(++file, i))
		return fm_fail(FM_ERR_CONFIG,
		        "%s: '%s' is no KAT_2_12, KAT_2_23, KAT_2_33 or KAT_Loop file of an "
		        "instance in candidate.ini",
		        where, shown);
	if (i->kat_count > 0 && strcmp(i->kat_lines[i->kat_count - 1].file, file) >= 0)
		return fm_fail(FM_ERR_CONFIG, "%s: lines must be sorted by name, each once", where);
	if ((k = fm_grow(&i->kat_lines, &i->kat_count, sizeof *k)) == NULL ||
	        (k->file = fm_strdup(file)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(k->sha256, line, 65);
	memcpy(k->mode, mode, strlen(mode) + 1);
	return FM_OK;
}

/* Calls take for every line; the last one must end too. */
static int each_line(const char *path, struct fm_buf *text, struct fm_candidate *c,
        int (*take)(char *line, struct fm_candidate *c, const char *where))
{
	size_t line = 0;
	int rc = FM_OK;
	char *next;

	if (text->len == 0)
		return FM_OK;
	if (text->data[text->len - 1] != '\n' || memchr(text->data, '\0', text->len) != NULL)
		return fm_fail(FM_ERR_CONFIG,
		        "%s: the last line does not end, or there is a NUL byte", path);
	for (char *p = text->data; rc == FM_OK && p < text->data + text->len; p = next) {
		char *where = fm_sprintf("%s:%zu", path, ++line);

		next = strchr(p, '\n') + 1;
		next[-1] = '\0';
		rc = where == NULL ? FM_ERR_MEMORY : take(p, c, where);
		next[-1] = '\n';
		free(where);
	}
	return rc;
}

static bool hex_ok(const char *p, size_t len)
{
	for (size_t n = 0; n < len; n++)
		if ((p[n] < '0' || p[n] > '9') && (p[n] < 'a' || p[n] > 'f'))
			return false;
	return true;
}

/* `<instance>|<message bits>|<hex or ->|<digest hex>|<note>`, or a comment. */
static int check_vector(char *line, struct fm_candidate *c, const char *where)
{
	size_t len[5] = {0}, fields = 1;
	char *field[5] = {line}, digits[12] = "", shown[80];
	const struct fm_instance *i;
	uint64_t bits = 0;

	if (line[0] == '#')
		return FM_OK;
	fm_escape(line, strlen(line), shown, sizeof shown);
	for (char *p = line; *p != '\0'; p++) {
		if (*p < 0x20 || *p > 0x7e)
			return fm_fail(FM_ERR_CONFIG, "%s: only printable ASCII is allowed", where);
		if (*p == '|' && fields < 5) {
			field[fields++] = p + 1;
			continue;
		}
		len[fields - 1]++;
	}
	i = instance(c, field[0], len[0]);
	if (fields < 5 || i == NULL || len[1] >= sizeof digits)
		return fm_fail(FM_ERR_CONFIG,
		        "%s: read '%s', allowed is <instance>|<message bits>|<message hex or "
		        "->|<digest hex>|<note> with an "
		        "instance of candidate.ini",
		        where, shown);
	memcpy(digits, field[1], len[1]);
	digits[len[1]] = '\0';
	if (fm_parse_u64(digits, 1u << 27, &bits) != FM_OK)
		return fm_fail(FM_ERR_CONFIG, "%s: message bits '%s', allowed are 0 to 2^27", where,
		        digits);
	if (bits == 0 ? !(len[2] == 1 && field[2][0] == '-')
	              : len[2] != (bits + 7) / 8 * 2 || !hex_ok(field[2], len[2]))
		return fm_fail(FM_ERR_CONFIG, "%s: the message must be %s hex digits for %llu bits",
		        where, bits == 0 ? "'-', not" : "lower-case", (unsigned long long)bits);
	if (len[3] != (size_t)(i->digest_bits + 7) / 8 * 2 || !hex_ok(field[3], len[3]))
		return fm_fail(FM_ERR_CONFIG, "%s: the digest must be %d lower-case hex digits",
		        where, (i->digest_bits + 7) / 8 * 2);
	return FM_OK;
}

int fm_recipe_vectors(const struct fm_buf *text, struct fm_instance *i)
{
	size_t name = strlen(i->name);
	const char *p = text->data, *end = text->data == NULL ? NULL : text->data + text->len;
	struct fm_sha256 hash;

	i->vectors = 0;
	i->vectors_sha256[0] = '\0';
	fm_sha256_start(&hash);
	while (p < end) {
		const char *lf = memchr(p, '\n', (size_t)(end - p));

		if (lf == NULL)
			return fm_fail(FM_ERR_FORM, "vectors: the last line does not end");
		if ((size_t)(lf - p) > name && memcmp(p, i->name, name) == 0 && p[name] == '|') {
			fm_sha256_add(&hash, p, (size_t)(lf + 1 - p));
			i->vectors++;
		}
		p = lf + 1;
	}
	if (i->vectors > 0)
		fm_sha256_end(&hash, i->vectors_sha256);
	return FM_OK;
}

/* kat/<id>; an official package without a folder of its own shares that of <id> less "-archive". */
static char *kat_folder(const char *root, const struct fm_candidate *c)
{
	char *own = fm_sprintf("%s/kat/%s", root, c->id);
	size_t len = strlen(c->id), tail = strlen("-archive");

	if (own == NULL || strcmp(c->origin, "archive") != 0 || len <= tail ||
	        strcmp(c->id + len - tail, "-archive") != 0 || access(own, F_OK) == 0)
		return own;
	free(own);
	return fm_sprintf("%s/kat/%.*s", root, (int)(len - tail), c->id);
}

int fm_recipe_kat(const char *root, struct fm_candidate *c)
{
	char *folder = kat_folder(root, c);
	char *kat = folder == NULL ? NULL : fm_sprintf("%s/kat.sha256", folder);
	char *vectors = folder == NULL ? NULL : fm_sprintf("%s/vectors.txt", folder);
	struct fm_buf text = FM_BUF_INIT(KAT_BYTES);
	int rc = kat == NULL || vectors == NULL ? FM_ERR_MEMORY : FM_OK;

	if (rc == FM_OK)
		rc = read_optional(kat, KAT_BYTES, &text);
	if (rc == FM_OK)
		rc = each_line(kat, &text, c, take_line);
	if (rc == FM_OK)
		rc = read_optional(vectors, VECTORS_BYTES, &c->vectors);
	if (rc == FM_OK)
		rc = each_line(vectors, &c->vectors, c, check_vector);
	for (size_t n = 0; rc == FM_OK && n < c->count; n++)
		rc = fm_recipe_vectors(&c->vectors, &c->instances[n]);
	fm_buf_free(&text);
	free(folder);
	free(kat);
	free(vectors);
	return rc;
}
