/* build_task.c: turns the plan's recipe of one unit into argv lists; no shell and no makefile is
 * involved. */
#include "agent/build.h"

#include <stdlib.h>
#include <string.h>

/* Appends one owned word. */
static int add(struct fm_build_task *t, char *word)
{
	char **slot = word == NULL ? NULL : fm_grow(&t->argv, &t->argc, sizeof *slot);

	if (slot == NULL) {
		free(word);
		return FM_ERR_MEMORY;
	}
	*slot = word;
	return FM_OK;
}

static int add_words(struct fm_build_task *t, const char *line)
{
	int rc = FM_OK;

	while (rc == FM_OK && *line != '\0') {
		size_t len = strcspn(line, " ");

		if (len > 0)
			rc = add(t, fm_sprintf("%.*s", (int)len, line));
		line += len + (line[len] == ' ');
	}
	return rc;
}

/* -D and -I are words of their own, since a value may hold spaces. */
static int add_recipe(struct fm_build_task *t, const struct fm_jp_instance *in)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < in->define.count; i++)
		rc = add(t, fm_sprintf("-D%s", in->define.at[i]));
	for (size_t i = 0; rc == FM_OK && i < in->include.count; i++)
		rc = add(t, fm_sprintf("-I%s", in->include.at[i]));
	return rc;
}

static const char *base_flags(const struct fm_job *j, const struct fm_unit *u)
{
	return u->fallback ? j->mandate.plan.fallback : u->version->flags;
}

int fm_build_flags(const struct fm_job *j, struct fm_unit *u)
{
	struct fm_buf line = FM_BUF_INIT(1u << 16);
	int rc = fm_buf_printf(&line, "%s %s", base_flags(j, u), j->mandate.plan.additions);

	for (size_t i = 0; rc == FM_OK && i < u->instance->define.count; i++)
		rc = fm_buf_printf(&line, " -D%s", u->instance->define.at[i]);
	for (size_t i = 0; rc == FM_OK && i < u->instance->include.count; i++)
		rc = fm_buf_printf(&line, " -I%s", u->instance->include.at[i]);
	free(u->flags);
	u->flags = rc == FM_OK ? fm_strdup(line.data) : NULL;
	fm_buf_free(&line);
	return u->flags == NULL ? FM_ERR_MEMORY : FM_OK;
}

static char *object_path(
        const struct fm_candidate_work *c, const struct fm_unit *u, const char *name)
{
	return fm_sprintf(
	        "%s/obj/%s%s/%s.o", c->path, u->stem, u->fallback ? ".fallback" : "", name);
}

static struct fm_build_task *new_task(struct fm_build_task **tasks, size_t *count,
        struct fm_candidate_work *c, struct fm_unit *u, enum fm_build_kind kind, const char *base)
{
	struct fm_build_task *t = fm_grow(tasks, count, sizeof *t);

	if (t != NULL) {
		t->candidate = c;
		t->unit = u;
		t->kind = kind;
		t->base = base;
		t->status = -1;
		t->output = FM_BUF_INIT(1u << 20);
	}
	return t;
}

static int add_compile(const struct fm_job *j, struct fm_build_task *t, const char *gcc)
{
	int rc;

	if ((rc = add(t, fm_strdup(gcc))) != FM_OK || (rc = add_words(t, t->base)) != FM_OK ||
	        (rc = add_words(t, j->mandate.plan.additions)) != FM_OK ||
	        (rc = add(t, fm_strdup("-frecord-gcc-switches"))) != FM_OK ||
	        (rc = add_recipe(t, t->unit->instance)) != FM_OK ||
	        (rc = add(t, fm_strdup("-c"))) != FM_OK)
		return rc;
	if (t->source == NULL &&
	        ((rc = add(t, fm_strdup("-x"))) != FM_OK || (rc = add(t, fm_strdup("c"))) != FM_OK))
		return rc;
	if ((rc = add(t, fm_strdup(t->source == NULL ? "/dev/null" : t->source))) != FM_OK ||
	        (rc = add(t, fm_strdup("-o"))) != FM_OK ||
	        (rc = add(t, fm_strdup(t->target))) != FM_OK)
		return rc;
	return fm_grow(&t->argv, &t->argc, sizeof *t->argv) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static int add_link(const struct fm_job *j, struct fm_build_task *t, const char *gcc)
{
	const struct fm_jp_version *v = t->unit->version;
	int rc;

	if ((rc = add(t, fm_strdup(gcc))) != FM_OK || (rc = add_words(t, t->base)) != FM_OK ||
	        (rc = add_words(t, j->mandate.plan.additions)) != FM_OK ||
	        (rc = add(t, fm_strdup("-shared"))) != FM_OK ||
	        (rc = add(t, fm_strdup("-o"))) != FM_OK ||
	        (rc = add(t, fm_strdup(t->target))) != FM_OK)
		return rc;
	if (t->kind == FM_BUILD_REACH &&
	        ((rc = add(t, fm_strdup("-Wl,--gc-sections"))) != FM_OK ||
	                (rc = add(t, fm_sprintf("-Wl,--version-script=%s/" FM_BUILD_API,
	                                     t->candidate->path))) != FM_OK))
		return rc;
	for (size_t i = 0; rc == FM_OK && i < v->sources.count; i++) {
		char name[24];

		snprintf(name, sizeof name, "%zu", i);
		rc = add(t, object_path(t->candidate, t->unit, name));
	}
	for (size_t i = 0; rc == FM_OK && i < t->unit->instance->lib.count; i++)
		rc = add(t, fm_sprintf("-l%s", t->unit->instance->lib.at[i]));
	if (rc != FM_OK)
		return rc;
	return fm_grow(&t->argv, &t->argc, sizeof *t->argv) == NULL ? FM_ERR_MEMORY : FM_OK;
}

static bool probed(const struct fm_build_task *tasks, size_t count, const char *base)
{
	for (size_t i = 0; i < count; i++)
		if (tasks[i].kind == FM_BUILD_PROBE && strcmp(tasks[i].base, base) == 0)
			return true;
	return false;
}

int fm_build_tasks(const struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u,
        bool link, const char *gcc, struct fm_build_task **tasks, size_t *count)
{
	const char *base = base_flags(j, u);
	struct fm_build_task *t;
	size_t n = u->version->sources.count + (link || probed(*tasks, *count, base) ? 0 : 1);
	int rc = FM_OK;

	if (link) {
		free(u->library);
		u->library = fm_sprintf(
		        "%s/lib/%s%s.so", c->path, u->stem, u->fallback ? ".fallback" : "");
		rc = u->library == NULL ? FM_ERR_MEMORY : FM_OK;
		for (int again = 0; rc == FM_OK && again < 2; again++) {
			t = new_task(
			        tasks, count, c, u, again ? FM_BUILD_REACH : FM_BUILD_LINK, base);
			if (t == NULL)
				return FM_ERR_MEMORY;
			t->target = again ? object_path(c, u, "reach") : fm_strdup(u->library);
			rc = t->target == NULL ? FM_ERR_MEMORY : add_link(j, t, gcc);
		}
		return rc;
	}
	for (size_t i = 0; rc == FM_OK && i < n; i++) {
		bool probe = i == u->version->sources.count;
		char name[24];

		t = new_task(tasks, count, c, u, probe ? FM_BUILD_PROBE : FM_BUILD_COMPILE, base);
		if (t == NULL)
			return FM_ERR_MEMORY;
		snprintf(name, sizeof name, "%zu", i);
		t->source = probe ? NULL : u->version->sources.at[i];
		t->target = object_path(c, u, probe ? "probe" : name);
		rc = t->target == NULL ? FM_ERR_MEMORY : add_compile(j, t, gcc);
	}
	return rc;
}

void fm_build_tasks_free(struct fm_build_task *tasks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < tasks[i].argc; k++)
			free(tasks[i].argv[k]);
		free(tasks[i].argv);
		free(tasks[i].target);
		fm_buf_free(&tasks[i].output);
	}
	free(tasks);
}
