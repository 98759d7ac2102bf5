/* world.c: reads a made-up machine, strictly, and is asked about it. */
#include "protocol/world.h"

#ifdef FLEETMARK_TESTING
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/jobtext.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD_MAX (1u << 20)
#define LINES_MAX 4096

enum form { PATH, TEXT, ONE, LIST };

static const char open_sources[] =
        " perf_rdpmc perf_read perf_read_toggle perf_user pmccntr rdpmc tsc "
        "cntvct second group ";
static const char open_results[] =
        " ok EACCES EBUSY EINVAL ENODEV ENOENT ENOSYS EOPNOTSUPP EPERM SIGILL "
        "SIGSEGV ";

/* The keys in their order. named: a first word says which file, source, operation or fact. */
static const struct {
	const char *key;
	bool named, many;
	enum form form;
	int64_t min, max;
} forms[] = {
        {"sysroot", false, false, PATH, 0, 0},
        {"values", true, true, TEXT, 0, 0},
        {"open", true, true, TEXT, 0, 0},
        {"chain_permille", false, false, ONE, 0, 100000},
        {"running_permille", false, false, LIST, 0, 100000},
        {"page_index", false, false, LIST, 0, 64},
        {"read_bytes", false, false, LIST, 0, 24},
        {"reads", false, false, LIST, 0, INT64_MAX},
        {"step", false, false, ONE, 1, 1000000000},
        {"clock_step_ns", false, false, ONE, 1, 1000000000},
        {"core_hz", false, false, LIST, 1000000, 4200000000},
        {"tick_hz", false, false, ONE, 1000, 4200000000},
        {"cntfrq_hz", false, false, ONE, 0, 4200000000},
        {"cost", true, true, LIST, 0, 1000000000000},
        {"frame", false, false, LIST, 0, 1000000},
        {"drift_ppm", false, false, ONE, 0, 1000000},
        {"fact", true, true, LIST, -1, INT64_MAX},
};

static struct fm_world here;
static bool in_use;

/* Cuts the value into words at single spaces. */
static int split(struct fm_world_line *l, const char *value)
{
	if ((l->text = fm_strdup(value)) == NULL)
		return FM_ERR_MEMORY;
	for (char *at = l->text, *space;; at = space + 1) {
		const char **word = fm_grow(&l->word, &l->words, sizeof *word);

		if (word == NULL)
			return FM_ERR_MEMORY;
		*word = at;
		if ((space = strchr(at, ' ')) == NULL)
			return FM_OK;
		*space = '\0';
		if (space == at || space[1] == ' ')
			return fm_fail(FM_ERR_FORM, "world line %u: two spaces in a row", l->line);
	}
}

static int number(const struct fm_world_line *l, const char *word, int64_t *out)
{
	uint64_t value = 0;
	bool minus = word[0] == '-';

	if (fm_parse_u64(minus ? word + 1 : word, INT64_MAX, &value) != FM_OK)
		return fm_fail(FM_ERR_FORM, "world line %u: %s: read '%.40s', expected a number",
		        l->line, l->key, word);
	*out = minus ? -(int64_t)value : (int64_t)value;
	return FM_OK;
}

static bool in_words(const char *list, const char *word)
{
	char spaced[40];

	return snprintf(spaced, sizeof spaced, " %s ", word) < (int)sizeof spaced &&
	       strstr(list, spaced) != NULL;
}

/* What stands behind key and name. */
static int check(const struct fm_world_line *l, size_t form)
{
	const size_t first = forms[form].named ? 1 : 0;
	int64_t value = 0;
	int rc;

	if (l->words <= first)
		return fm_fail(
		        FM_ERR_FORM, "world line %u: %s needs a name and a value", l->line, l->key);
	if (forms[form].form == ONE && l->words != 1)
		return fm_fail(FM_ERR_FORM, "world line %u: %s takes one number", l->line, l->key);
	if (forms[form].form == PATH && (l->words != 1 || l->word[0][0] != '/'))
		return fm_fail(
		        FM_ERR_FORM, "world line %u: %s takes one absolute path", l->line, l->key);
	if (strcmp(l->key, "values") == 0 && l->word[0][0] != '/')
		return fm_fail(
		        FM_ERR_FORM, "world line %u: values needs an absolute path", l->line);
	if (strcmp(l->key, "open") == 0 && (l->words != 2 || !in_words(open_sources, l->word[0]) ||
	                                           !in_words(open_results, l->word[1])))
		return fm_fail(FM_ERR_FORM, "world line %u: open takes a source of%sand one of%s",
		        l->line, open_sources, open_results);
	for (size_t i = first;
	        (forms[form].form == ONE || forms[form].form == LIST) && i < l->words; i++) {
		if ((rc = number(l, l->word[i], &value)) != FM_OK)
			return rc;
		if (value < forms[form].min || value > forms[form].max)
			return fm_fail(FM_ERR_FORM,
			        "world line %u: %s: read %lld, allowed are %lld to %lld", l->line,
			        l->key, (long long)value, (long long)forms[form].min,
			        (long long)forms[form].max);
	}
	return FM_OK;
}

static int take(struct fm_world *w, struct fm_text *t, size_t form, const char *value)
{
	struct fm_world_line *l;
	int rc;

	if (w->count >= LINES_MAX)
		return fm_fail(
		        FM_ERR_SIZE, "world line %u: more than %d lines", t->line, LINES_MAX);
	if ((l = fm_grow(&w->lines, &w->count, sizeof *l)) == NULL)
		return FM_ERR_MEMORY;
	l->key = forms[form].key;
	l->line = t->line;
	if ((rc = split(l, value)) != FM_OK || (rc = check(l, form)) != FM_OK)
		return rc;
	for (size_t i = 0; forms[form].named && i + 1 < w->count; i++)
		if (w->lines[i].key == l->key && strcmp(w->lines[i].word[0], l->word[0]) == 0)
			return fm_fail(FM_ERR_FORM, "world line %u: %s %s stands there twice",
			        l->line, l->key, l->word[0]);
	return FM_OK;
}

int fm_world_parse(struct fm_world *w, const char *bytes, size_t len)
{
	struct fm_text t;
	const char *value;
	int rc;

	memset(w, 0, sizeof *w);
	if ((rc = fm_text_open(&t, "world", bytes, len)) != FM_OK)
		return rc;
	for (size_t i = 0; rc == FM_OK && i < sizeof forms / sizeof forms[0]; i++)
		while (rc == FM_OK && fm_text_maybe(&t, forms[i].key, &value)) {
			rc = take(w, &t, i, value);
			if (!forms[i].many)
				break;
		}
	if (rc == FM_OK)
		rc = fm_text_close(&t);
	fm_text_free(&t);
	if (rc == FM_OK)
		fm_sha256_hex(bytes, len, w->sha256);
	else
		fm_world_free(w);
	return rc;
}

void fm_world_free(struct fm_world *w)
{
	for (size_t i = 0; i < w->count; i++) {
		free(w->lines[i].word);
		free(w->lines[i].text);
	}
	free(w->lines);
	memset(w, 0, sizeof *w);
}

static struct fm_world_line *find(const struct fm_world *w, const char *key, const char *name)
{
	for (size_t i = 0; w != NULL && i < w->count; i++)
		if (strcmp(w->lines[i].key, key) == 0 &&
		        (name == NULL || strcmp(w->lines[i].word[0], name) == 0))
			return &w->lines[i];
	return NULL;
}

int64_t fm_world_number(
        const struct fm_world *w, const char *key, const char *name, size_t turn, int64_t otherwise)
{
	const struct fm_world_line *l = find(w, key, name);
	int64_t value = otherwise;
	size_t first = name == NULL ? 0 : 1;

	if (l == NULL || l->words <= first)
		return otherwise;
	if (turn > l->words - 1 - first)
		turn = l->words - 1 - first;
	return number(l, l->word[first + turn], &value) == FM_OK ? value : otherwise;
}

const char *fm_world_word(const struct fm_world *w, const char *key, const char *name)
{
	const struct fm_world_line *l = find(w, key, name);

	const size_t at = name == NULL ? 0 : 1;

	return l == NULL || l->words <= at ? NULL : l->word[at];
}

int fm_world_use(const char *path)
{
	struct fm_buf text = FM_BUF_INIT(WORLD_MAX);
	struct fm_world w;
	int rc = fm_fs_read(AT_FDCWD, path, WORLD_MAX, &text);

	if (rc == FM_OK)
		rc = fm_world_parse(&w, text.data == NULL ? "" : text.data, text.len);
	fm_buf_free(&text);
	if (rc != FM_OK)
		return fm_wrap(rc, "world %s", path);
	fm_world_free(&here);
	here = w;
	in_use = true;
	return FM_OK;
}

int fm_world_set(const char *text)
{
	fm_world_free(&here);
	in_use = text != NULL;
	return in_use ? fm_world_parse(&here, text, strlen(text)) : FM_OK;
}

const struct fm_world *fm_world_now(void)
{
	return in_use ? &here : NULL;
}

const char *fm_world_root(void)
{
	const char *root = fm_world_word(fm_world_now(), "sysroot", NULL);

	return root == NULL ? "" : root;
}

bool fm_world_reading(const char *path, char *out, size_t size)
{
	struct fm_world_line *l = find(fm_world_now(), "values", path);

	if (l == NULL)
		return false;
	snprintf(out, size, "%s\n", l->word[1 + l->taken]);
	if (l->taken + 2 < l->words)
		l->taken++;
	return true;
}
#else
typedef int fm_world_is_for_tests; /* ISO C wants a declaration in every file */
#endif
