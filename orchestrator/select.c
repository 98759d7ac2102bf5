/* select.c: which systems -l means: names, globs, number ranges, !exclusions, @failed and
 * @unreachable. */
#include "orchestrator/inventory.h"
#include "protocol/buf.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define RANGE_MAX 1024

/* prefix[A-B]suffix with decimal A and B. */
struct range {
	size_t prefix; /* bytes before '[' */
	const char *suffix;
	uint64_t from, to;
};

static int take_number(const char **p, uint64_t *value)
{
	size_t len = strspn(*p, "0123456789");

	if (len == 0 || len > 6)
		return -1;
	*value = strtoull(*p, NULL, 10);
	*p += len;
	return 0;
}

/* False: no range (then it is a name or a glob). */
static bool parse_range(const char *word, struct range *r)
{
	const char *p = strchr(word, '[');

	if (p == NULL)
		return false;
	r->prefix = (size_t)(p - word);
	p++;
	if (take_number(&p, &r->from) < 0 || *p++ != '-' || take_number(&p, &r->to) < 0 ||
	        *p++ != ']')
		return false;
	r->suffix = p;
	return strpbrk(p, "*?[") == NULL;
}

static bool in_range(const struct range *r, const char *word, const char *name)
{
	size_t len = strlen(name), tail = strlen(r->suffix), digits;
	char number[8];
	uint64_t value;

	if (len <= r->prefix + tail || strncmp(name, word, r->prefix) != 0 ||
	        strcmp(name + len - tail, r->suffix) != 0)
		return false;
	digits = len - r->prefix - tail;
	if (digits >= sizeof number)
		return false;
	memcpy(number, name + r->prefix, digits);
	number[digits] = '\0';
	return fm_parse_u64(number, 999999, &value) == FM_OK && value >= r->from && value <= r->to;
}

static bool listed(const char *const *names, const char *name)
{
	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

struct choice {
	struct fm_inventory *inv;
	const char *const *failed, *const *unreachable;
};

static int names_there(const struct fm_inventory *inv, const char *word, const char *why)
{
	struct fm_buf all = FM_BUF_INIT(300);
	char shown[100];
	int rc;

	for (size_t i = 0; i < inv->count; i++)
		if (fm_buf_printf(&all, "%s%s", i == 0 ? "" : ", ", inv->systems[i].name) !=
		        FM_OK) {
			(void)!fm_buf_puts(&all, ", ...");
			break;
		}
	rc = fm_fail(FM_ERR_USAGE, "--limit: '%s' %s; %s has: %s",
	        fm_escape(word, strlen(word), shown, sizeof shown), why, inv->path,
	        all.data == NULL ? "" : all.data);
	fm_buf_free(&all);
	return rc;
}

static int apply(const struct choice *c, const char *word)
{
	bool exclude = word[0] == '!', any = false, ranged;
	const char *const *set = NULL;
	struct range r = {0, NULL, 0, 0};

	word += exclude;
	ranged = parse_range(word, &r);
	if (ranged && (r.to < r.from || r.to - r.from >= RANGE_MAX))
		return names_there(c->inv, word, "is no rising range of at most 1024 names");
	if (word[0] == '@') {
		set = strcmp(word, "@failed") == 0        ? c->failed
		      : strcmp(word, "@unreachable") == 0 ? c->unreachable
		                                          : NULL;
		if (set == NULL)
			return names_there(c->inv, word,
			        "is not there: @failed and @unreachable come from the journal of a "
			        "campaign that "
			        "ran before");
	}
	for (size_t i = 0; i < c->inv->count; i++) {
		struct fm_system *s = &c->inv->systems[i];

		if (set != NULL  ? !listed(set, s->name)
		        : ranged ? !in_range(&r, word, s->name)
		                 : fnmatch(word, s->name, 0) != 0)
			continue;
		any = true;
		s->selected = !exclude;
	}
	return any ? FM_OK : names_there(c->inv, word, "matches no system");
}

int fm_inventory_select(struct fm_inventory *inv, const char *pattern, const char *const *failed,
        const char *const *unreachable)
{
	struct choice c = {inv, failed, unreachable};
	char *copy, *save = NULL;
	int rc = FM_OK, words = 0;
	size_t left = 0;

	if (pattern == NULL)
		return FM_OK;
	if ((copy = fm_strdup(pattern)) == NULL)
		return FM_ERR_MEMORY;
	/* Exclusions alone mean: all but these. */
	for (size_t i = 0; i < inv->count; i++)
		inv->systems[i].selected = pattern[0] == '!';
	for (char *w = strtok_r(copy, ",", &save); rc == FM_OK && w != NULL;
	        w = strtok_r(NULL, ",", &save)) {
		rc = apply(&c, w);
		words++;
	}
	free(copy);
	for (size_t i = 0; i < inv->count; i++)
		left += inv->systems[i].selected;
	if (rc == FM_OK && (words == 0 || left == 0))
		rc = names_there(inv, pattern, "leaves no system");
	return rc;
}
