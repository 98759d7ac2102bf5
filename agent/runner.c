/* runner.c: one worker process from order to results; nothing it wrote is believed beyond the form.
 */
#include "agent/runner.h"
#include "agent/fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RESULTS_MAX (1u << 20)
#define LOG_MAX     (64u << 10)
#define LINE_MAX_   1100

int fm_order_begin(struct fm_buf *order, const char *task)
{
	int rc = fm_text_begin(order, "order");

#ifdef FLEETMARK_TESTING
	if (rc == FM_OK)
		rc = fm_fake_order(order);
#endif
	return rc != FM_OK ? rc : fm_text_put(order, "task", "%s", task);
}

static int start(
        const char *program, const struct fm_buf *order, uint64_t timeout_ms, struct fm_child *c)
{
	const char *argv[] = {program, NULL};
	struct fm_command what = {.argv = argv,
	        .cwd = -1,
	        .input = -1,
	        .results = true,
	        .output_max = LOG_MAX,
	        .results_max = RESULTS_MAX,
	        .timeout_ms = timeout_ms,
	        .file_max = (uint64_t)2 << 30};
	int fd = memfd_create("order", MFD_CLOEXEC), rc;

	memset(c, 0, sizeof *c);
	c->out_fd = c->result_fd = -1;
	if (fd < 0)
		return fm_fail_errno("order of a worker");
	rc = fm_fs_write_all(fd, order->data, order->len);
	if (rc == FM_OK && lseek(fd, 0, SEEK_SET) != 0)
		rc = fm_fail_errno("order of a worker");
	what.order = fd;
	if (rc == FM_OK)
		rc = fm_child_start(&what, c);
	close(fd);
	return rc;
}

int fm_run_start(const struct fm_agent *a, const struct fm_buf *order, uint64_t timeout_ms,
        struct fm_child *c)
{
	return start(a->worker, order, timeout_ms, c);
}

int fm_run_weigh(const struct fm_agent *a, const struct fm_buf *order, uint64_t timeout_ms,
        struct fm_child *c)
{
	return start(a->weigh, order, timeout_ms, c);
}

/* Cuts the next word off *at. */
static char *word(char **at)
{
	char *start = *at, *space = strchr(start, ' ');

	if (space == NULL) {
		*at = start + strlen(start);
	} else {
		*space = '\0';
		*at = space + 1;
	}
	return start;
}

static bool read_window(char *rest, struct fm_run *r)
{
	struct fm_run_window *w = fm_grow(&r->windows, &r->window_count, sizeof *w);
	uint64_t events = 0;
	const char *count;

	if (w == NULL)
		return false;
	if (fm_parse_u64(word(&rest), UINT64_MAX, &w->calls) != FM_OK ||
	        fm_parse_u64(word(&rest), UINT64_MAX, &w->ns) != FM_OK)
		return false;
	count = word(&rest);
	w->counted = strcmp(count, "-") != 0;
	if ((w->counted && fm_parse_u64(count, UINT64_MAX, &w->count) != FM_OK) ||
	        fm_parse_u64(rest, 127, &events) != FM_OK || w->calls == 0)
		return false;
	w->events = (unsigned)events;
	return r->window_count <= 1000;
}

static bool read_line(char *line, struct fm_run *r)
{
	char *rest = line, *kind = word(&rest);

	if (strcmp(kind, "fact") == 0) {
		struct fm_run_fact *f = fm_grow(&r->facts, &r->fact_count, sizeof *f);

		if (f == NULL || r->fact_count > 4000)
			return false;
		f->key = word(&rest);
		f->value = rest;
	} else if (strcmp(kind, "log") == 0) {
		const char **l = fm_grow(&r->logs, &r->log_count, sizeof *l);

		if (l == NULL)
			return false;
		*l = rest;
	} else if (strcmp(kind, "window") == 0) {
		return read_window(rest, r);
	} else if (strcmp(kind, "status") == 0) {
		r->status = rest;
	} else if (strcmp(kind, "file") == 0) {
		r->file = rest;
	} else if (strcmp(kind, "end") == 0) {
		if (strcmp(rest, "ok") == 0)
			r->reason = "";
		else if (strncmp(rest, "fail ", 5) == 0)
			r->reason = rest + 5;
		else
			return false;
	} else {
		return false;
	}
	return true;
}

int fm_run_read(const struct fm_child *c, struct fm_run *out)
{
	char *line, *lf;

	memset(out, 0, sizeof *out);
	out->status = out->file = "";
	out->copy = fm_alloc(c->results.len + 1);
	if (out->copy == NULL)
		return FM_ERR_MEMORY;
	if (c->results.len > 0)
		memcpy(out->copy, c->results.data, c->results.len);
	for (line = out->copy; *line != '\0' && !out->malformed; line = lf + 1) {
		lf = strchr(line, '\n');
		if (lf == NULL || lf - line > LINE_MAX_ || out->reason != NULL) {
			out->malformed = true;
			break;
		}
		for (char *p = line; p < lf; p++)
			if (*p < 0x20 || *p > 0x7e)
				out->malformed = true;
		*lf = '\0';
		if (!out->malformed)
			out->malformed = !read_line(line, out);
	}
	if (strlen(out->copy) == 0 && c->results.len > 0)
		out->malformed = true;
	return FM_OK;
}

void fm_run_free(struct fm_run *r)
{
	free(r->copy);
	free(r->facts);
	free(r->windows);
	free(r->logs);
	memset(r, 0, sizeof *r);
}

bool fm_run_good(const struct fm_child *c, const struct fm_run *r)
{
	return c->killed == FM_CHILD_ALIVE && WIFEXITED(c->status) && WEXITSTATUS(c->status) == 0 &&
	       !r->malformed && r->reason != NULL && r->reason[0] == '\0';
}

const char *fm_run_fact(const struct fm_run *r, const char *key)
{
	for (size_t i = 0; i < r->fact_count; i++)
		if (strcmp(r->facts[i].key, key) == 0)
			return r->facts[i].value;
	return NULL;
}

int64_t fm_run_int(const struct fm_run *r, const char *key, int64_t otherwise)
{
	const char *text = fm_run_fact(r, key);
	uint64_t value = 0;

	if (text == NULL)
		return otherwise;
	if (text[0] == '-')
		return fm_parse_u64(text + 1, INT64_MAX, &value) == FM_OK ? -(int64_t)value
		                                                          : otherwise;
	return fm_parse_u64(text, INT64_MAX, &value) == FM_OK ? (int64_t)value : otherwise;
}

int fm_run_once(const struct fm_agent *a, const struct fm_buf *order, uint64_t timeout_ms,
        struct fm_child *c, struct fm_run *out)
{
	size_t ended;
	int rc = fm_run_start(a, order, timeout_ms, c);

	memset(out, 0, sizeof *out);
	if (rc == FM_OK)
		rc = fm_child_wait(c, 1, &ended);
	if (rc == FM_OK)
		rc = fm_run_read(c, out);
	return rc;
}
