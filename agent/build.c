/* build.c: the build stage: every unit of every candidate, clean, on all cores, one command per
 * source, all of it kept. */
#include "agent/build.h"
#include "protocol/treelist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The library the linker looked for in vain, from "cannot find -lX". */
static bool missing_library(const struct fm_buf *output, char text[FM_HOST_TEXT])
{
	const char *at = output->data == NULL ? NULL : strstr(output->data, "cannot find -l");

	if (at != NULL)
		snprintf(text, FM_HOST_TEXT, "library missing: %.*s",
		        (int)strcspn(at + 14, ": \n") > 60 ? 60 : (int)strcspn(at + 14, ": \n"),
		        at + 14);
	return at != NULL;
}

static void judge(struct fm_unit *u, const char *status, const char *reason)
{
	u->build_status = status;
	snprintf(u->build_reason, sizeof u->build_reason, "%s", reason);
}

/* Is this one of the unit's commands, or the probe of its flags? */
static bool concerns(
        const struct fm_build *s, const struct fm_build_task *t, const struct fm_unit *u)
{
	if (t->unit == u)
		return true;
	for (size_t i = 0; t->kind == FM_BUILD_PROBE && i < s->count; i++)
		if (s->tasks[i].unit == u && strcmp(s->tasks[i].base, t->base) == 0)
			return true;
	return false;
}

/* Looks at one unit's finished commands. Returns whether it may be linked (or, after the link, is
 * built). */
static bool commands_good(const struct fm_build *s, struct fm_unit *u)
{
	char text[FM_HOST_TEXT];

	for (size_t i = 0; i < s->count; i++) {
		const struct fm_build_task *t = &s->tasks[i];

		if (!t->ran || t->good || t->kind == FM_BUILD_REACH || !concerns(s, t, u))
			continue;
		if (t->kind == FM_BUILD_LINK && missing_library(&t->output, text)) {
			judge(u, "missing", text);
			return false;
		}
		snprintf(text, sizeof text, "%.90s: %.90s",
		        t->kind == FM_BUILD_LINK    ? "linking"
		        : t->kind == FM_BUILD_PROBE ? "these flags"
		                                    : t->source,
		        t->how);
		judge(u, "failed", text);
		return false;
	}
	return true;
}

static int finish_unit(const struct fm_build *s, struct fm_candidate_work *c, struct fm_unit *u)
{
	char text[FM_HOST_TEXT] = "";
	int rc = FM_OK;

	for (size_t i = 0; i < s->count; i++)
		u->build_ns += s->tasks[i].unit == u ? s->tasks[i].ns : 0;
	if (u->build_status == NULL && commands_good(s, u)) {
		rc = fm_build_weigh(u, text);
		if (rc == FM_OK && text[0] == '\0')
			rc = fm_build_readback(s->tasks, s->count, u, text);
		/* Objects beyond what is read are this unit's fault and nobody else's. */
		if (rc == FM_ERR_SIZE || rc == FM_ERR_FORM) {
			snprintf(text, sizeof text, "its objects cannot be read: %.80s",
			        fm_error_text());
			rc = FM_OK;
		}
		judge(u, rc == FM_OK && text[0] == '\0' ? "ok" : "failed", text);
	}
	for (size_t i = 0; rc == FM_OK && i < s->count; i++) {
		if (s->tasks[i].unit != u || !s->tasks[i].ran)
			continue;
		if (s->tasks[i].kind == FM_BUILD_REACH)
			rc = fm_build_reach(&s->tasks[i], &u->rom_reachable);
		if (rc == FM_OK)
			rc = fm_build_note(&s->tasks[i]);
	}
	if (rc == FM_OK)
		rc = fm_build_log(s, c, u);
	if (strcmp(u->build_status, "ok") != 0)
		u->library_sha256[0] = '\0';
	return rc;
}

static int unit_folder(const struct fm_candidate_work *c, const struct fm_unit *u)
{
	char path[200];
	int fd = -1, rc;

	snprintf(path, sizeof path, "obj/%s%s", u->stem, u->fallback ? ".fallback" : "");
	rc = fm_fs_mkdirs(c->dir, path, 0755, &fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* What need not be tried: no compiler, no such instructions. */
static bool hopeless(const char *gcc, struct fm_unit *u)
{
	const char *lacks = fm_build_lacks(u->flags);
	char text[FM_HOST_TEXT];

	if (gcc == NULL) {
		judge(u, "missing", "gcc not found");
	} else if (lacks != NULL) {
		snprintf(text, sizeof text, "instruction set missing: %s", lacks);
		judge(u, "missing", text);
	}
	return u->build_status != NULL;
}

/* Is this unit to be built now? */
static bool wanted(
        const struct fm_build *s, const struct fm_candidate_work *c, const struct fm_unit *u)
{
	return !c->done && u->build_status == NULL && (s->only == NULL || s->only == u);
}

/* Adds the commands of one pass: compiles of what has hope, or links of what was compiled. */
static int add_pass(struct fm_build *s, bool link, const char *gcc)
{
	struct fm_job *j = s->job;
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		for (size_t k = 0; rc == FM_OK && k < c->unit_count; k++) {
			struct fm_unit *u = &c->units[k];

			if (!wanted(s, c, u))
				continue;
			if (!link && ((rc = fm_build_flags(j, u)) != FM_OK || hopeless(gcc, u)))
				continue;
			if (link && !commands_good(s, u))
				continue;
			if (!link)
				rc = unit_folder(c, u);
			if (rc == FM_OK)
				rc = fm_build_tasks(j, c, u, link, gcc, &s->tasks, &s->count);
		}
	}
	return rc;
}

/* Compiles, links and judges all units that wait, or just one. */
static int build(struct fm_job *j, const struct fm_unit *only)
{
	struct fm_build s = {.job = j, .only = only};
	char *gcc = fm_child_find("gcc");
	size_t units = 0;
	int rc = add_pass(&s, false, gcc);

	for (size_t i = 0; i < j->candidate_count; i++)
		for (size_t k = 0; k < j->candidates[i].unit_count; k++)
			units += wanted(&s, &j->candidates[i], &j->candidates[i].units[k]);
	if (rc == FM_OK && only == NULL)
		rc = fm_job_stage(j, "build", "", s.count + units);
	if (rc == FM_OK && (rc = fm_build_run(&s)) == FM_OK &&
	        (rc = add_pass(&s, true, gcc)) == FM_OK)
		rc = fm_build_run(&s);
	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++)
		for (size_t k = 0;
		        rc == FM_OK && !j->candidates[i].done && k < j->candidates[i].unit_count;
		        k++)
			if (only == NULL || &j->candidates[i].units[k] == only)
				rc = finish_unit(&s, &j->candidates[i], &j->candidates[i].units[k]);
	fm_build_tasks_free(s.tasks, s.count);
	free(gcc);
	return rc;
}

int fm_build_unit_again(struct fm_job *j, struct fm_unit *u)
{
	u->build_status = NULL;
	u->build_reason[0] = '\0';
	u->fallback = true;
	return build(j, u);
}

/* A clean folder, the tree hashed again, SOURCES.sha256 from what lies there. */
static int prepare(struct fm_job *j, struct fm_candidate_work *c)
{
	struct fm_buf list = FM_BUF_INIT(FM_TREELIST_MAX), sources = FM_BUF_INIT(FM_TREELIST_MAX);
	static const char api[] = "{ global: CryptHash; local: *; };\n";
	char path[200], hex[65];
	int fd = -1, rc;

	snprintf(path, sizeof path, "src/%s", c->plan->tree);
	if ((rc = fm_fs_dir(j->agent->dir, path, &c->tree)) != FM_OK)
		rc = fm_fail(FM_ERR_SOURCE, "the sources are not on this host: push them");
	if (rc == FM_OK && (rc = fm_treelist_make(c->tree, &list, NULL)) == FM_OK) {
		fm_sha256_hex(list.data, list.len, hex);
		if (strcmp(hex, c->plan->tree) != 0)
			rc = fm_fail(FM_ERR_SOURCE,
			        "the sources on this host were changed: push them again");
	}
	if (rc == FM_OK && (rc = fm_treelist_sources(list.data, list.len, &sources)) == FM_OK) {
		fm_sha256_hex(sources.data, sources.len, hex);
		if (strcmp(hex, c->plan->source) != 0)
			rc = fm_fail(FM_ERR_SOURCE,
			        "tree and source list of the plan do not belong together");
	}
	snprintf(path, sizeof path, "work/%s", c->plan->candidate);
	c->path = fm_sprintf("%s/jobs/%s/%s", j->agent->path, j->mandate.plan.campaign, path);
	if (rc == FM_OK && c->path == NULL)
		rc = FM_ERR_MEMORY;
	if (rc == FM_OK && (rc = fm_fs_remove(j->dir, path)) == FM_OK)
		rc = fm_fs_mkdirs(j->dir, path, 0755, &c->dir);
	if (rc == FM_OK && (rc = fm_fs_mkdirs(c->dir, "lib", 0755, &fd)) == FM_OK)
		close(fd);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(c->dir, FM_BUILD_API, api, sizeof api - 1, 0644);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(
		        c->dir, "out/build/SOURCES.sha256", sources.data, sources.len, 0644);
	fm_buf_free(&list);
	fm_buf_free(&sources);
	return fm_wrap(rc, "%s", c->plan->candidate);
}

int fm_job_build(struct fm_job *j)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++)
		if (!j->candidates[i].done)
			rc = prepare(j, &j->candidates[i]);
	if (rc == FM_OK)
		rc = build(j, NULL);
	/* A second try with the fallback flags for what the guide's flags cannot build. */
	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		for (size_t k = 0; rc == FM_OK && !c->done && k < c->unit_count; k++)
			if (strcmp(c->units[k].build_status, "failed") == 0)
				rc = fm_build_unit_again(j, &c->units[k]);
	}
	return rc;
}

int fm_build_finish(struct fm_job *j)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		if (!c->done)
			rc = fm_fs_write_deep(c->dir, "out/build/commands.txt",
			        c->commands.data == NULL ? "" : c->commands.data, c->commands.len,
			        0644);
	}
	return rc;
}
