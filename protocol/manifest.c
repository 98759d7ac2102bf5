/* manifest.c: what a manifest may say: kinds, limits, grammar, and which files it names. */
#include "protocol/manifest_parts.h"
#include "protocol/path.h"
#include "protocol/seal.h"
#include <stdlib.h>
#include <string.h>

#define HEX 64 /* digits of a digest; two spaces follow */
#define MIB ((uint64_t)1 << 20)

static const struct {
	struct fm_seal_limits limits;
	const char *namespace;
} kinds[FM_SEAL_KINDS] = {
        [FM_SEAL_TRUST] = {{1024, 1 * MIB, 16 * MIB}, "trust.v1@fleetmark"},
        [FM_SEAL_PLAN] = {{4096, 64 * MIB, 256 * MIB}, "plan.v1@fleetmark"},
        [FM_SEAL_BUNDLE] = {{16384, 64 * MIB, 512 * MIB}, "bundle.v1@fleetmark"},
        [FM_SEAL_TREE] = {{4000000, 512 * MIB, 0}, "tree.v1@fleetmark"},
};

const struct fm_seal_limits *fm_seal_limits(enum fm_seal_kind kind)
{
	return &kinds[kind].limits;
}

const char *fm_seal_namespace(enum fm_seal_kind kind)
{
	return kinds[kind].namespace;
}

bool fm_manifest_outside(enum fm_seal_kind kind, const char *path)
{
	if (strcmp(path, FM_MANIFEST_NAME) == 0 || strcmp(path, FM_SIG_NAME) == 0 ||
	        strcmp(path, FM_TSR_NAME) == 0)
		return true;
	return kind == FM_SEAL_TREE &&
	       (strncmp(path, "incoming/", 9) == 0 || strncmp(path, "rejected/", 9) == 0);
}

void fm_manifest_free(struct fm_manifest *m)
{
	free(m->entries);
	free(m->text);
	*m = (struct fm_manifest){NULL, 0, NULL};
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static int by_lower(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;

	while (*x != '\0' && lower(*x) == lower(*y)) {
		x++;
		y++;
	}
	return (unsigned char)lower(*x) - (unsigned char)lower(*y);
}

/* No two paths that differ only in upper and lower case. */
static int check_case(const struct fm_manifest *m)
{
	const char **paths = fm_alloc_array(m->count, sizeof *paths);
	int rc = FM_OK;

	if (paths == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < m->count; i++)
		paths[i] = m->entries[i].path;
	qsort(paths, m->count, sizeof *paths, by_lower);
	for (size_t i = 1; i < m->count && rc == FM_OK; i++)
		if (by_lower(&paths[i - 1], &paths[i]) == 0)
			rc = fm_fail(FM_ERR_FORM, "manifest: %s and %s differ only in case",
			        paths[i - 1], paths[i]);
	free(paths);
	return rc;
}

int fm_manifest_line(
        char *line, size_t len, size_t number, const char *before, struct fm_manifest_entry *e)
{
	char shown[120];

	if (len < HEX + 3 || strlen(line) != len || line[HEX] != ' ' || line[HEX + 1] != ' ')
		return fm_fail(FM_ERR_FORM,
		        "manifest line %zu: read '%s', expected 64 hex digits, two spaces, a path",
		        number, fm_escape(line, len, shown, sizeof shown));
	line[HEX] = '\0';
	if (!fm_hex64_ok(line))
		return fm_fail(FM_ERR_FORM,
		        "manifest line %zu: read '%s', expected 64 lower-case hex digits", number,
		        fm_escape(line, HEX, shown, sizeof shown));
	e->hex = line;
	e->path = line + HEX + 2;
	if (!fm_path_ok(e->path))
		return fm_fail(FM_ERR_FORM,
		        "manifest line %zu: read path '%s', allowed are 1 to %d parts of A-Z a-z "
		        "0-9 _ . + - "
		        "joined by /, none beginning with . + or -",
		        number, fm_escape(e->path, strlen(e->path), shown, sizeof shown),
		        FM_PARTS_MAX);
	if (before != NULL && strcmp(before, e->path) >= 0)
		return fm_fail(FM_ERR_FORM, "manifest line %zu: %s is not sorted behind %.200s",
		        number, e->path, before);
	return FM_OK;
}

/* Lines of the text, 0 when its last line is not ended. */
static size_t count_lines(const char *text, size_t len)
{
	size_t count = 0;

	if (len == 0 || text[len - 1] != '\n')
		return 0;
	for (const char *p = text; p < text + len; p++)
		count += *p == '\n';
	return count;
}

int fm_manifest_take(struct fm_buf *text, size_t max_files, struct fm_manifest *out)
{
	size_t len = text->len, count = count_lines(text->data, len);
	struct fm_manifest m = {NULL, 0, NULL};
	int rc = FM_ERR_MEMORY;
	char *at;

	*out = m;
	if (count == 0)
		return fm_fail(FM_ERR_FORM,
		        "manifest: expected at least one line, and LF behind the last");
	if (count > max_files)
		return fm_fail(
		        FM_ERR_SIZE, "manifest: has %zu lines, allowed are %zu", count, max_files);
	m.text = at = text->data;
	*text = FM_BUF_INIT(text->max);
	if ((m.entries = fm_alloc_array(count, sizeof *m.entries)) == NULL)
		goto out;
	for (size_t i = 0; i < count; i++) {
		char *lf = memchr(at, '\n', len - (size_t)(at - m.text));

		*lf = '\0';
		rc = fm_manifest_line(at, (size_t)(lf - at), i + 1,
		        i > 0 ? m.entries[i - 1].path : NULL, &m.entries[i]);
		if (rc != FM_OK)
			goto out;
		m.count++;
		at = lf + 1;
	}
	if ((rc = check_case(&m)) != FM_OK)
		goto out;
	*out = m;
	m = (struct fm_manifest){NULL, 0, NULL};
out:
	fm_manifest_free(&m);
	return rc;
}

int fm_manifest_parse(const char *text, size_t len, size_t max_files, struct fm_manifest *out)
{
	struct fm_buf copy = FM_BUF_INIT(len);
	int rc = len == 0 ? FM_OK : fm_buf_put(&copy, text, len);

	*out = (struct fm_manifest){NULL, 0, NULL};
	if (rc == FM_OK)
		rc = fm_manifest_take(&copy, max_files, out);
	fm_buf_free(&copy);
	return rc;
}

const struct fm_manifest_entry *fm_manifest_find(const struct fm_manifest *m, const char *path)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(path, m->entries[middle].path);

		if (order == 0)
			return &m->entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}
