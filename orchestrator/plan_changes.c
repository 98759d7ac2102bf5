/* plan_changes.c: names the source files that changed since a campaign was planned. */
#include "orchestrator/plan.h"
#include <stdio.h>
#include <string.h>

/* One line "<64 hex>  <path>" of a source list; next line or NULL. */
static const char *split(const char *line, char path[FM_PATH_MAX + 1])
{
	const char *end = strchr(line, '\n');

	snprintf(path, FM_PATH_MAX + 1, "%.*s", (int)(end - line - 66), line + 66);
	return end + 1;
}

static const char *start(const struct fm_buf *list)
{
	return list->data == NULL ? "" : list->data;
}

struct changes {
	fm_plan_change *tell;
	void *arg;
	const char *candidate;
	size_t count;
};

static void tell(struct changes *c, const char *what, const char *path)
{
	if (c->count++ < FM_PLAN_CHANGES)
		c->tell(c->arg, c->candidate, what, path);
}

/* Both lists are sorted by path. */
static void compare(struct changes *c, const struct fm_buf *was, const struct fm_buf *is)
{
	const char *a = start(was), *b = start(is);

	while (*a != '\0' || *b != '\0') {
		char old[FM_PATH_MAX + 1] = "", now[FM_PATH_MAX + 1] = "";
		const char *a_next = *a != '\0' ? split(a, old) : a;
		const char *b_next = *b != '\0' ? split(b, now) : b;
		int order = *a == '\0' ? 1 : *b == '\0' ? -1 : strcmp(old, now);

		if (order < 0)
			tell(c, "gone", old);
		else if (order > 0)
			tell(c, "new", now);
		else if (strncmp(a, b, 64) != 0)
			tell(c, "changed", now);
		a = order <= 0 ? a_next : a;
		b = order >= 0 ? b_next : b;
	}
}

size_t fm_plan_changes(
        const struct fm_plan *sealed, const struct fm_plan *now, fm_plan_change *told, void *arg)
{
	struct changes c = {told, arg, NULL, 0};

	for (size_t i = 0; i < sealed->candidates.count; i++) {
		const struct fm_candidate *a = &sealed->candidates.list[i],
		                          *b = fm_plan_candidate(now, a->id);

		c.candidate = a->id;
		if (b != NULL)
			compare(&c, &a->sources, &b->sources);
	}
	return c.count;
}
