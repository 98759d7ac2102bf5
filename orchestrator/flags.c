/* flags.c: algos/flags.ini, the one table of compiler flags per architecture and version. */
#include "orchestrator/ini.h"
#include "orchestrator/recipe.h"
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_ 900 /* a line of job text holds 1000 */

/* "<arch> <version>" of a section; false if it is none. */
static bool parse_section(const char *section, struct fm_flags_line *line)
{
	static const char *const arches[] = {"x86_64", "aarch64"};

	for (size_t a = 0; a < 2; a++)
		for (int v = 0; v < FM_VERSIONS; v++) {
			size_t len = strlen(arches[a]);

			if (strncmp(section, arches[a], len) == 0 && section[len] == ' ' &&
			        strcmp(section + len + 1, fm_version_name[v]) == 0) {
				memcpy(line->arch, arches[a], len + 1);
				line->version = v;
				return true;
			}
		}
	return false;
}

/* The value's words with single spaces between, each of characters that no shell and no job text
 * minds. */
static int take_flags(const struct fm_ini *ini, const struct fm_ini_entry *e, char **slot)
{
	struct fm_buf line = FM_BUF_INIT(LINE_MAX_);
	char **words = NULL, shown[80];
	size_t count = 0;
	int rc = fm_ini_words(ini, e, &words, &count);

	for (size_t i = 0; rc == FM_OK && i < count; i++) {
		if (words[i][0] != '-' ||
		        words[i][strspn(words[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
		                                  "wxyz0123456789-+=._,")] != '\0')
			rc = fm_ini_fail(ini, e,
			        "flags: read '%s', a flag is - and then A-Z a-z 0-9 - + = . _ ,",
			        fm_escape(words[i], strlen(words[i]), shown, sizeof shown));
		else if (fm_buf_printf(&line, "%s%s", i == 0 ? "" : " ", words[i]) != FM_OK)
			rc = fm_ini_fail(ini, e, "flags: more than %d bytes", LINE_MAX_ - 1);
	}
	if (rc == FM_OK && count == 0)
		rc = fm_ini_fail(ini, e, "flags: empty");
	if (rc == FM_OK && (*slot = fm_strdup(line.data)) == NULL)
		rc = FM_ERR_MEMORY;
	free(words);
	fm_buf_free(&line);
	return rc;
}

static int take_mark(const struct fm_ini *ini, const struct fm_ini_entry *e, char **slot)
{
	for (const char *p = e->value; *p != '\0'; p++)
		if (*p < 0x20 || *p > 0x7e || p - e->value >= 60)
			return fm_ini_fail(ini, e, "mark: printable ASCII, at most 60 bytes");
	free(*slot);
	return (*slot = fm_strdup(e->value)) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int take_entry(
        const struct fm_ini *ini, const struct fm_ini_entry *e, struct fm_flags *f, char **ignored)
{
	bool additions = strcmp(e->section, "additions") == 0,
	     fallback = strcmp(e->section, "fallback") == 0;
	struct fm_flags_line line = {.version = 0}, *last;

	if (e->key == NULL) {
		if (additions || fallback)
			return FM_OK;
		if (!parse_section(e->section, &line))
			return fm_ini_fail(ini, e,
			        "unknown section [%s]; allowed: [ARCH VERSION] of x86_64, aarch64 "
			        "and reference, performance, "
			        "resource; [additions], [fallback]",
			        e->section);
		if ((last = fm_grow(&f->list, &f->count, sizeof *last)) == NULL)
			return FM_ERR_MEMORY;
		*last = line;
		return (last->mark = fm_strdup("")) == NULL ? FM_ERR_MEMORY : FM_OK;
	}
	last = additions || fallback ? NULL : &f->list[f->count - 1];
	if (strcmp(e->key, "flags") == 0)
		return take_flags(ini, e,
		        last != NULL ? &last->flags
		        : additions  ? &f->additions
		                     : &f->fallback);
	if (strcmp(e->key, "mark") == 0 && !additions)
		return take_mark(ini, e, last != NULL ? &last->mark : ignored);
	return fm_ini_unknown(ini, e, additions ? "flags" : "flags, mark");
}

int fm_flags_load(const char *root, struct fm_flags *out)
{
	char *path = fm_sprintf("%s/algos/flags.ini", root), *fallback_mark = NULL;
	struct fm_ini *ini = NULL;
	int rc;

	memset(out, 0, sizeof *out);
	rc = path == NULL ? FM_ERR_MEMORY : fm_ini_load(path, &ini);
	for (size_t i = 0; rc == FM_OK && i < fm_ini_count(ini); i++)
		rc = take_entry(ini, fm_ini_at(ini, i), out, &fallback_mark);
	for (size_t i = 0; rc == FM_OK && i < out->count; i++)
		if (out->list[i].flags == NULL)
			rc = fm_fail(FM_ERR_CONFIG, "%s: [%s %s] has no flags", path,
			        out->list[i].arch, fm_version_name[out->list[i].version]);
	if (rc == FM_OK && (out->additions == NULL || out->fallback == NULL))
		rc = fm_fail(FM_ERR_CONFIG,
		        "%s: [additions] and [fallback] are needed, each with flags", path);
	fm_ini_free(ini);
	free(path);
	free(fallback_mark);
	if (rc != FM_OK)
		fm_flags_free(out);
	return rc;
}

void fm_flags_free(struct fm_flags *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].flags);
		free(f->list[i].mark);
	}
	free(f->list);
	free(f->additions);
	free(f->fallback);
	memset(f, 0, sizeof *f);
}

const struct fm_flags_line *fm_flags_find(const struct fm_flags *f, const char *arch, int version)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->list[i].arch, arch) == 0 && f->list[i].version == version)
			return &f->list[i];
	return NULL;
}
