/* build_run.c: runs the commands of a build in a pool and keeps every argv, status, time and word.
 */
#include "agent/build.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COMMAND_MS (600u * 1000u)
#define FILE_LIMIT ((uint64_t)1 << 30)
#define LOG_OUTPUT (6u << 20)  /* of one unit's log, where what commands printed ends */
#define LOG_MAX    (16u << 20) /* room for the commands themselves */

static int begin(void *arg, size_t index, size_t slot, struct fm_child *child)
{
	struct fm_build *s = arg;
	struct fm_build_task *t = &s->tasks[s->first + index];
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
	struct fm_build *s = arg;
	struct fm_build_task *t = &s->tasks[s->first + index];
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
	return rc != FM_OK || s->only != NULL ? rc : fm_job_step(s->job);
}

int fm_build_run(struct fm_build *s)
{
	int rc = fm_children_run(s->count - s->first, (size_t)fm_facts_cpus(), begin, end, s);

	for (size_t i = s->first; rc == FM_OK && i < s->count; i++)
		if (!s->tasks[i].good && s->tasks[i].output.data != NULL &&
		        strstr(s->tasks[i].output.data, "No space left on device") != NULL)
			rc = fm_fail(FM_ERR_NO_SPACE, "no space left while building");
	s->first = s->count;
	return rc;
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

int fm_build_note(const struct fm_build_task *t)
{
	struct fm_buf *b = &t->candidate->commands;
	int rc = fm_buf_printf(b, "%d %llu cwd=src/%s", t->status, (unsigned long long)t->ns,
	        t->candidate->plan->tree);

	for (size_t i = 0; rc == FM_OK && i + 1 < t->argc; i++)
		if ((rc = fm_buf_puts(b, " ")) == FM_OK)
			rc = put_word(b, t->argv[i]);
	return rc != FM_OK ? rc : fm_buf_puts(b, "\n");
}

/* What one command printed, or how much it was where the log is full. */
static int put_output(struct fm_buf *log, const struct fm_buf *output)
{
	if (output->len == 0)
		return FM_OK;
	if (log->len + output->len <= LOG_OUTPUT)
		return fm_buf_put(log, output->data, output->len);
	return fm_buf_printf(log, "[%zu bytes left out: this log is full]\n", output->len);
}

/* build/<stem>.log: every command of the unit with what it printed. A second try is put behind the
 * first. */
int fm_build_log(
        const struct fm_build *s, const struct fm_candidate_work *c, const struct fm_unit *u)
{
	struct fm_buf log = FM_BUF_INIT(LOG_MAX);
	char path[200];
	int rc = FM_OK;

	snprintf(path, sizeof path, "out/build/%s.log", u->stem);
	if (u->fallback && fm_fs_read(c->dir, path, LOG_MAX, &log) != FM_OK)
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
		if (rc == FM_OK)
			rc = put_output(&log, &t->output);
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
