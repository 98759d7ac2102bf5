/* accept_logs.c: the logs of the known answers against the plan's lines. */
#include "orchestrator/accept_parts.h"
#include "protocol/fs.h"
#include <stdio.h>
#include <string.h>

#define LOG_MAX (4u << 20)

static bool has_line(const struct fm_buf *text, const char *line)
{
	size_t len = strlen(line);
	const char *end = text->data + text->len;

	for (const char *at = text->data; at < end; at++) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));

		if (lf == NULL)
			return false;
		if ((size_t)(lf - at) == len && memcmp(at, line, len) == 0)
			return true;
		at = lf;
	}
	return false;
}

/* The last line says candidate, instance and status (FORMATS.md section 9). */
static bool result_ok(
        const struct fm_accept *c, const struct fm_ev_kat *kat, const struct fm_buf *log)
{
	char want[2 * FM_NAME_MAX + 40];
	size_t len = (size_t)snprintf(want, sizeof want, "\nRESULT %s %s %s \n", c->want->candidate,
	        kat->instance, kat->status);

	return log->len >= len && memcmp(log->data + log->len - len, want, len) == 0;
}

static void want_line(struct fm_accept *c, const struct fm_ev_kat *kat, const struct fm_buf *log,
        const char *line)
{
	if (strcmp(kat->status, "PASS") == 0 && !has_line(log, line))
		fm_accept_find(c, FM_ERR_KAT_LINES, kat->log, "no line '%s'", line);
}

/* Every planned line of the instance stands in the log, word for word; returns how many there are.
 */
static size_t check_lines(struct fm_accept *c, const struct fm_ev_kat *kat,
        const struct fm_instance *instance, const struct fm_buf *log)
{
	char line[FM_PATH_MAX + 100];

	for (size_t i = 0; i < instance->kat_count; i++) {
		const struct fm_kat_line *k = &instance->kat_lines[i];

		(void)snprintf(line, sizeof line, "manifest %s %s %s", k->sha256, k->mode, k->file);
		want_line(c, kat, log, line);
	}
	if (instance->vectors > 0) {
		(void)snprintf(line, sizeof line, "manifest %s vectors:%zu vectors.txt",
		        instance->vectors_sha256, instance->vectors);
		want_line(c, kat, log, line);
	}
	return instance->kat_count + (instance->vectors > 0);
}

static int check_log(struct fm_accept *c, const struct fm_ev_kat *kat)
{
	const struct fm_instance *instance = fm_candidate_instance(c->candidate, kat->instance);
	struct fm_buf log = FM_BUF_INIT(LOG_MAX);
	size_t lines;
	int rc = fm_fs_read(c->dirfd, kat->log, LOG_MAX, &log);

	if (rc == FM_ERR_MEMORY)
		return rc;
	if (rc != FM_OK || log.len == 0 || instance == NULL) {
		fm_accept_find(c, FM_ERR_KAT_LINES, kat->log,
		        "missing, empty, too large or no plain file");
		goto out;
	}
	if (memchr(log.data, '\0', log.len) != NULL)
		fm_accept_find(c, FM_ERR_KAT_LINES, kat->log, "holds a NUL byte");
	if (!result_ok(c, kat, &log))
		fm_accept_find(c, FM_ERR_KAT_LINES, kat->log,
		        "its last line is not the RESULT %s of evidence.json", kat->status);
	lines = check_lines(c, kat, instance, &log);
	if (strcmp(kat->status, "PASS") == 0 && lines == 0)
		fm_accept_find(c, FM_ERR_KAT_LINES, kat->log, "PASS without a planned reference");
	if (strcmp(kat->status, "NOKAT") == 0 && lines > 0)
		fm_accept_find(c, FM_ERR_KAT_LINES, kat->log,
		        "NOKAT although the plan has %zu references", lines);
out:
	fm_buf_free(&log);
	return FM_OK;
}

int fm_accept_logs(struct fm_accept *c)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < c->e->kat_count; i++)
		rc = check_log(c, &c->e->kat[i]);
	return rc;
}
