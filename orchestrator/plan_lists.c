/* plan_lists.c: reads SOURCES.sha256, kat.sha256 and vectors/ of a plan folder and holds them
 * against plan.json. */
#include "orchestrator/plan_lists.h"
#include "orchestrator/plan_parts.h"
#include "orchestrator/recipe_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef int take_line(char *line, struct fm_plan *p);

/* Reads a file and gives every line, terminated, to take. */
static int each_line(int dirfd, const char *name, struct fm_plan *p, take_line *take)
{
	struct fm_buf text = FM_BUF_INIT(FM_PLAN_FILE_MAX);
	int rc = fm_fs_read(dirfd, name, FM_PLAN_FILE_MAX, &text);
	size_t line = 0;
	char *next;

	if (rc == FM_OK && text.len > 0 &&
	        (text.data[text.len - 1] != '\n' || memchr(text.data, '\0', text.len) != NULL))
		rc = fm_fail(FM_ERR_FORM, "the last line does not end, or there is a NUL byte");
	for (char *q = text.data; rc == FM_OK && q < text.data + text.len; q = next) {
		next = strchr(q, '\n') + 1;
		next[-1] = '\0';
		line++;
		if ((rc = take(q, p)) != FM_OK)
			fm_wrap(rc, "line %zu", line);
	}
	fm_buf_free(&text);
	return rc == FM_OK ? rc : fm_wrap(rc, "plan/%s", name);
}

/* The candidate named before the first '/', *rest behind it. */
static struct fm_candidate *owner(const struct fm_plan *p, char *path, char **rest)
{
	char *slash = strchr(path, '/');
	const struct fm_candidate *c;

	if (slash == NULL)
		return NULL;
	*slash = '\0';
	c = fm_plan_candidate(p, path);
	*slash = '/';
	*rest = slash + 1;
	return c == NULL ? NULL : &p->candidates.list[c - p->candidates.list];
}

static int take_source(char *line, struct fm_plan *p)
{
	struct fm_candidate *c;
	char *rest;

	if (strlen(line) < 67 || line[64] != ' ' || line[65] != ' ' ||
	        (c = owner(p, line + 66, &rest)) == NULL)
		return fm_fail(
		        FM_ERR_FORM, "no '<hex>  <candidate>/<path>' of a planned candidate");
	line[64] = '\0';
	if (!fm_hex64_ok(line) || !fm_path_ok(rest))
		return fm_fail(FM_ERR_FORM, "bad digest or path");
	c->sources.max = FM_PLAN_FILE_MAX;
	return fm_buf_printf(&c->sources, "%s  %s\n", line, rest);
}

static int take_kat(char *line, struct fm_plan *p)
{
	char *mode = strchr(line, ' '), *name = mode == NULL ? NULL : strchr(mode + 1, ' '),
	     *rest = NULL, *file;
	struct fm_candidate *c = NULL;
	struct fm_instance *i = NULL;
	struct fm_kat_line *k;

	if (name != NULL) {
		*mode++ = *name++ = '\0';
		c = owner(p, name, &rest);
	}
	if (c == NULL || !fm_hex64_ok(line) || (file = strchr(rest, '/')) == NULL)
		return fm_fail(FM_ERR_FORM,
		        "no '<hex> <mode> <candidate>/<instance>/<file>' of a planned candidate");
	*file++ = '\0';
	for (size_t n = 0; n < c->count && i == NULL; n++)
		if (strcmp(c->instances[n].name, rest) == 0)
			i = &c->instances[n];
	if (i == NULL || !fm_path_ok(file) || strchr(file, '/') != NULL)
		return fm_fail(FM_ERR_FORM, "unknown instance or bad file");
	if (strcmp(file, "vectors.txt") == 0) {
		uint64_t count = 0;

		if (strncmp(mode, "vectors:", 8) != 0 ||
		        fm_parse_u64(mode + 8, 1000000, &count) != FM_OK || count != i->vectors ||
		        i->vectors_sha256[0] != '\0')
			return fm_fail(FM_ERR_FORM, "not the vectors of plan.json");
		memcpy(i->vectors_sha256, line, 65);
		return FM_OK;
	}
	if (strcmp(mode, "strict") != 0)
		return fm_fail(FM_ERR_FORM, "only mode strict is known");
	if (i->kat_count > 0 && strcmp(i->kat_lines[i->kat_count - 1].file, file) >= 0)
		return fm_fail(FM_ERR_FORM, "out of order");
	if ((k = fm_grow(&i->kat_lines, &i->kat_count, sizeof *k)) == NULL ||
	        (k->file = fm_strdup(file)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(k->sha256, line, 65);
	memcpy(k->mode, "strict", 7);
	return FM_OK;
}

/* The vectors file of a candidate gives, for each instance, the planned number of lines with the
 * planned digest. */
static int check_vectors(int dirfd, struct fm_candidate *c)
{
	char *name = fm_sprintf("vectors/%s.txt", c->id);
	bool wanted = false;
	int rc = FM_OK;

	for (size_t n = 0; n < c->count; n++)
		wanted |= c->instances[n].vectors > 0;
	if (name == NULL)
		return FM_ERR_MEMORY;
	errno = 0;
	rc = fm_fs_read(dirfd, name, FM_PLAN_FILE_MAX, &c->vectors);
	if (rc == FM_ERR_SYSTEM && errno == ENOENT && !wanted)
		rc = FM_OK;
	for (size_t n = 0; rc == FM_OK && n < c->count; n++) {
		struct fm_instance seen = {.vectors = 0};

		memcpy(seen.name, c->instances[n].name, sizeof seen.name);
		rc = fm_recipe_vectors(&c->vectors, &seen);
		if (rc == FM_OK &&
		        (seen.vectors != c->instances[n].vectors ||
		                strcmp(seen.vectors_sha256, c->instances[n].vectors_sha256) != 0))
			rc = fm_fail(FM_ERR_KAT_LINES,
			        "%s: not the lines that plan.json and kat.sha256 name for %s", name,
			        seen.name);
	}
	free(name);
	return rc == FM_OK ? rc : fm_wrap(rc, "plan");
}

int fm_plan_read_lists(int dirfd, struct fm_plan *p)
{
	int rc = each_line(dirfd, "SOURCES.sha256", p, take_source);

	if (rc == FM_OK)
		rc = each_line(dirfd, "kat.sha256", p, take_kat);
	for (size_t n = 0; rc == FM_OK && n < p->candidates.count; n++) {
		struct fm_candidate *c = &p->candidates.list[n];
		char hex[65];

		fm_sha256_hex(c->sources.data == NULL ? "" : c->sources.data, c->sources.len, hex);
		if (strcmp(hex, c->source_sha256) != 0)
			rc = fm_fail(FM_ERR_SOURCE,
			        "plan/SOURCES.sha256: the list of %s is not the one plan.json "
			        "names",
			        c->id);
		else
			rc = check_vectors(dirfd, c);
	}
	return rc;
}
