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

#define COMMAND_MS (600u * 1000u)
#define FILE_LIMIT ((uint64_t)1 << 30)

struct stage {
	struct fm_job *job;
	struct fm_build_task *tasks;
	size_t count;
};

static int begin(void *arg, size_t index, size_t slot, struct fm_child *child)
{
	struct stage *s = arg;
	struct fm_build_task *t = &s->tasks[index];
	char *temporary = fm_sprintf("TMPDIR=%s/obj", t->candidate->path);
	char *readable = fm_sprintf("%s/src/%s", s->job->agent->path, t->candidate->plan->tree);
	const char *env[] = {"LC_ALL=C", "PATH=/usr/local/bin:/usr/bin:/bin", temporary, NULL};
	struct fm_command what = {.env = env,
	        .cwd = t->candidate->tree,
	        .input = -1,
	        .order = -1,
	        .output_max = 256u << 10,
	        .timeout_ms = COMMAND_MS,
	        .nice = 10,
	        .file_max = FILE_LIMIT};
	int rc = FM_ERR_MEMORY;

	(void)slot;
	what.argv = (const char *const *)t->argv;
	what.readable = readable;
	what.writable = t->candidate->path;
	if (temporary != NULL && readable != NULL)
		rc = fm_child_start(&what, child);
	free(temporary);
	free(readable);
	return rc;
}

static int end(void *arg, size_t index, struct fm_child *child)
{
	struct stage *s = arg;
	struct fm_build_task *t = &s->tasks[index];
	int rc = fm_buf_put(&t->output, child->output.data == NULL ? "" : child->output.data,
	        child->output.len);

	if (rc == FM_OK && child->output_dropped > 0)
		rc = fm_buf_printf(&t->output, "\n[%llu more bytes]\n",
		        (unsigned long long)child->output_dropped);
	t->ran = true;
	t->ns = child->elapsed_ns;
	t->good = fm_child_good(child, t->how, sizeof t->how);
	t->status = WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status)
	                                       : WEXITSTATUS(child->status);
	if (t->kind == FM_BUILD_LINK && t->status == 127)
		snprintf(t->how, sizeof t->how, "gcc cannot be run");
	return rc != FM_OK ? rc : fm_job_step(s->job);
}

static int run(struct stage *s)
{
	return fm_children_run(s->count, (size_t)fm_facts_cpus(), begin, end, s);
}

/* Words in the percent-encoding of FORMATS.md section 6. */
static int put_word(struct fm_buf *b, const char *word)
{
	int rc = FM_OK;

	for (; rc == FM_OK && *word != '\0'; word++) {
		unsigned char c = (unsigned char)*word;

		rc = c > 0x20 && c < 0x7f && c != '%' && c != '=' ? fm_buf_put(b, word, 1)
		                                                  : fm_buf_printf(b, "%%%02X", c);
	}
	return rc;
}

static int note_command(const struct fm_build_task *t)
{
	struct fm_buf *b = &t->candidate->commands;
	int rc = fm_buf_printf(b, "%d %llu cwd=src/%s", t->status, (unsigned long long)t->ns,
	        t->candidate->plan->tree);

	for (size_t i = 0; rc == FM_OK && i + 1 < t->argc; i++)
		if ((rc = fm_buf_puts(b, " ")) == FM_OK)
			rc = put_word(b, t->argv[i]);
	return rc != FM_OK ? rc : fm_buf_puts(b, "\n");
}

/* build/<stem>.log: every command of the unit with what it printed. A second try is put behind the
 * first. */
static int write_log(
        const struct stage *s, const struct fm_candidate_work *c, const struct fm_unit *u)
{
	struct fm_buf log = FM_BUF_INIT(8u << 20);
	char path[200];
	int rc = FM_OK;

	snprintf(path, sizeof path, "out/build/%s.log", u->stem);
	if (u->fallback && fm_fs_read(c->dir, path, 8u << 20, &log) != FM_OK)
		log.len = 0;
	for (size_t i = 0; rc == FM_OK && i < s->count; i++) {
		const struct fm_build_task *t = &s->tasks[i];

		if (t->unit != u || !t->ran)
			continue;
		rc = fm_buf_puts(&log, "$");
		for (size_t k = 0; rc == FM_OK && k + 1 < t->argc; k++)
			rc = fm_buf_printf(&log, " %s", t->argv[k]);
		if (rc == FM_OK)
			rc = fm_buf_puts(&log, "\n");
		if (rc == FM_OK && t->output.len > 0)
			rc = fm_buf_put(&log, t->output.data, t->output.len);
		if (rc == FM_OK && !t->good)
			rc = fm_buf_printf(&log, "%s[%s]\n",
			        t->output.len > 0 && t->output.data[t->output.len - 1] != '\n'
			                ? "\n"
			                : "",
			        t->how);
	}
	if (rc == FM_OK && u->build_reason[0] != '\0')
		rc = fm_buf_printf(&log, "%s: %s\n", u->build_status, u->build_reason);
	if (rc == FM_OK)
		rc = fm_fs_write_deep(
		        c->dir, path, log.data == NULL ? "" : log.data, log.len, 0644);
	fm_buf_free(&log);
	return rc;
}

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

/* Looks at one unit's finished commands. Returns whether it may be linked (or, after the link, is
 * built). */
static bool commands_good(const struct stage *s, struct fm_unit *u)
{
	char text[FM_HOST_TEXT];

	for (size_t i = 0; i < s->count; i++) {
		const struct fm_build_task *t = &s->tasks[i];

		if (t->unit != u || !t->ran)
			continue;
		if (t->good)
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

static bool disk_full(const struct stage *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->tasks[i].output.data != NULL && !s->tasks[i].good &&
		        strstr(s->tasks[i].output.data, "No space left on device") != NULL)
			return true;
	return false;
}

static int finish_unit(const struct stage *s, struct fm_candidate_work *c, struct fm_unit *u)
{
	char text[FM_HOST_TEXT] = "";
	int rc = FM_OK;

	for (size_t i = 0; i < s->count; i++)
		u->build_ns += s->tasks[i].unit == u ? s->tasks[i].ns : 0;
	if (u->build_status == NULL && commands_good(s, u)) {
		rc = fm_build_weigh(u, text);
		if (rc == FM_OK && text[0] == '\0')
			rc = fm_build_readback(s->tasks, s->count, u, text);
		judge(u, rc == FM_OK && text[0] == '\0' ? "ok" : "failed", text);
	}
	for (size_t i = 0; rc == FM_OK && i < s->count; i++)
		if (s->tasks[i].unit == u && s->tasks[i].ran)
			rc = note_command(&s->tasks[i]);
	if (rc == FM_OK)
		rc = write_log(s, c, u);
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

/* Compiles, links and judges the units that want(u) names. */
static int build(struct fm_job *j, struct fm_candidate_work *only, struct fm_unit *just)
{
	struct stage s = {j, NULL, 0};
	char *gcc = fm_child_find("gcc");
	size_t compiled;
	int rc = FM_OK;

	for (int pass = 0; rc == FM_OK && pass < 2; pass++) { /* compile, then link */
		struct stage links = {j, NULL, 0};
		struct stage *now = pass == 0 ? &s : &links;

		for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++) {
			struct fm_candidate_work *c = &j->candidates[i];

			for (size_t k = 0; rc == FM_OK && !c->done && k < c->unit_count; k++) {
				struct fm_unit *u = &c->units[k];

				if ((only != NULL && (c != only || u != just)) ||
				        u->build_status != NULL)
					continue;
				if (pass == 0 &&
				        ((rc = fm_build_flags(j, u)) != FM_OK || hopeless(gcc, u)))
					continue;
				if (pass == 0)
					rc = unit_folder(c, u);
				else if (!commands_good(&s, u))
					continue;
				if (rc == FM_OK)
					rc = fm_build_tasks(
					        j, c, u, pass == 1, gcc, &now->tasks, &now->count);
			}
		}
		if (rc == FM_OK && only == NULL)
			rc = fm_job_stage(j, "build", "", now->count);
		if (rc == FM_OK)
			rc = run(now);
		if (rc == FM_OK && disk_full(now))
			rc = fm_fail(FM_ERR_NO_SPACE, "no space left while building");
		if (pass == 1 && rc == FM_OK) { /* one table for the judgement */
			struct fm_build_task *all =
			        realloc(s.tasks, (s.count + links.count + 1) * sizeof *all);

			if (all == NULL) {
				rc = FM_ERR_MEMORY;
			} else {
				s.tasks = all;
				compiled = s.count;
				for (size_t i = 0; i < links.count; i++)
					s.tasks[compiled + i] = links.tasks[i];
				s.count += links.count;
				free(links.tasks);
				links = (struct stage){j, NULL, 0};
			}
		}
		if (now == &links)
			fm_build_tasks_free(links.tasks, links.count);
	}
	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++)
		for (size_t k = 0;
		        rc == FM_OK && !j->candidates[i].done && k < j->candidates[i].unit_count;
		        k++)
			if (only == NULL || &j->candidates[i].units[k] == just)
				rc = finish_unit(&s, &j->candidates[i], &j->candidates[i].units[k]);
	fm_build_tasks_free(s.tasks, s.count);
	free(gcc);
	return rc;
}

int fm_build_unit_again(struct fm_job *j, struct fm_candidate_work *c, struct fm_unit *u)
{
	u->build_status = NULL;
	u->build_reason[0] = '\0';
	u->fallback = true;
	return build(j, c, u);
}

/* A clean folder, the tree hashed again, SOURCES.sha256 from what lies there. */
static int prepare(struct fm_job *j, struct fm_candidate_work *c)
{
	struct fm_buf list = FM_BUF_INIT(FM_TREELIST_MAX), sources = FM_BUF_INIT(FM_TREELIST_MAX);
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
		rc = build(j, NULL, NULL);
	/* A second try with the fallback flags for what the guide's flags cannot build. */
	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		for (size_t k = 0; rc == FM_OK && !c->done && k < c->unit_count; k++)
			if (strcmp(c->units[k].build_status, "failed") == 0)
				rc = fm_build_unit_again(j, c, &c->units[k]);
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
