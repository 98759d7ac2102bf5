/* compare_pairs.c: which systems of the inputs are compared with which. */
#include "orchestrator/compare.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

bool fm_glob_list(const char *globs, const char *name)
{
	char one[256];

	if (globs == NULL)
		return true;
	for (size_t n; *globs != '\0'; globs += n + (globs[n] == ',')) {
		n = strcspn(globs, ",");
		snprintf(one, sizeof one, "%.*s", (int)(n < 255 ? n : 255), globs);
		if (fnmatch(one, name, 0) == 0)
			return true;
	}
	return false;
}

int fm_compare_note(struct fm_buf *b, const char *word)
{
	return fm_buf_printf(b, "%s%s", b->len > 0 ? ", " : "", word);
}

static int add_pair(struct fm_compare *c, size_t b_input, size_t a, size_t b)
{
	struct fm_compare_pair *p = fm_grow(&c->pairs, &c->pair_count, sizeof *p);

	if (p == NULL)
		return FM_ERR_MEMORY;
	p->input[1] = b_input;
	p->system[0] = a;
	p->system[1] = b;
	snprintf(p->name[0], sizeof p->name[0], "%s", fm_input_system(&c->input[0], a));
	snprintf(p->name[1], sizeof p->name[1], "%s", fm_input_system(&c->input[b_input], b));
	return FM_OK;
}

/* The only chosen system of an input; SIZE_MAX if there is none, or more than one. */
static size_t only_system(const struct fm_compare *c, size_t input)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < fm_input_systems(&c->input[input]); i++) {
		if (!fm_glob_list(c->systems, fm_input_system(&c->input[input], i)))
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = i;
	}
	return found;
}

static size_t find_system(const struct fm_input *in, const char *name)
{
	size_t n = fm_input_systems(in), i = 0;

	while (i < n && strcmp(fm_input_system(in, i), name) != 0)
		i++;
	return i < n ? i : SIZE_MAX;
}

/* What one input has and the other has not. */
static int lonely_systems(struct fm_compare *c)
{
	char text[2 * FM_NAME_MAX];
	int rc = FM_OK;

	for (size_t k = 0; k < 2; k++)
		for (size_t i = 0; i < fm_input_systems(&c->input[k]) && rc == FM_OK; i++) {
			const char *name = fm_input_system(&c->input[k], i);
			if (!fm_glob_list(c->systems, name) ||
			        find_system(&c->input[1 - k], name) != SIZE_MAX)
				continue;
			snprintf(text, sizeof text, "system %s only in %c", name,
			        k == 0 ? 'A' : 'B');
			rc = fm_compare_note(&c->left_out, text);
		}
	return rc;
}

/* Systems of the same name; a single one on each side is paired whatever its name. */
static int pair_trees(struct fm_compare *c)
{
	size_t a = only_system(c, 0), b = only_system(c, 1);
	int rc = FM_OK;

	if (a != SIZE_MAX && b != SIZE_MAX)
		return add_pair(c, 1, a, b);
	for (size_t i = 0; i < fm_input_systems(&c->input[0]) && rc == FM_OK; i++) {
		const char *name = fm_input_system(&c->input[0], i);
		size_t other = find_system(&c->input[1], name);
		if (other != SIZE_MAX && fm_glob_list(c->systems, name))
			rc = add_pair(c, 1, i, other);
	}
	return rc == FM_OK ? lonely_systems(c) : rc;
}

int fm_compare_pairs(struct fm_compare *c, const char *base)
{
	const struct fm_input *in = &c->input[0];
	size_t n = fm_input_systems(in), first = 0;
	int rc = FM_OK;

	c->left_out = FM_BUF_INIT(1u << 20);
	c->sources = FM_BUF_INIT(1u << 20);
	if (c->input_count == 2) {
		rc = pair_trees(c);
	} else if (c->versions) {
		for (size_t i = 0; i < n && rc == FM_OK; i++)
			if (fm_glob_list(c->systems, fm_input_system(in, i)))
				rc = add_pair(c, 0, i, i);
	} else {
		if (base != NULL && (first = find_system(in, base)) == SIZE_MAX)
			return fm_fail(FM_ERR_USAGE,
			        "--base: read %.64s, %s has no such system; a version of the code "
			        "is allowed too: reference, performance, resource",
			        base, in->path);
		for (size_t i = 0; i < n && rc == FM_OK; i++)
			if (i != first && fm_glob_list(c->systems, fm_input_system(in, i)))
				rc = add_pair(c, 0, first, i);
	}
	if (rc == FM_OK && c->pair_count == 0)
		return fm_fail(FM_ERR_USAGE, c->input_count == 2
		                                     ? "no system stands in both; choose one of "
		                                       "each with -l"
		                                     : "one system only: give a second tree, or "
		                                       "--base reference to compare versions");
	return rc;
}
