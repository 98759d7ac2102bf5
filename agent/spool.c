/* spool.c: the raw samples of one candidate as they come, append-only, so that a killed job goes on
 * where it was. */
#include "agent/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct reading {
	struct fm_job *job;
	struct fm_candidate_work *candidate;
	bool same_nonce, same_boot, any; /* of the last header */
	struct fm_cell_work *cell;       /* of the process being read */
	struct fm_process process;
};

static struct fm_cell_work *find_cell(struct fm_candidate_work *c, const char *stem)
{
	for (size_t i = 0; stem != NULL && i < c->unit_count; i++)
		for (size_t k = 0; k < c->units[i].cell_count; k++)
			if (strcmp(c->units[i].cells[k].stem, stem) == 0)
				return &c->units[i].cells[k];
	return NULL;
}

/* "1,2,-1,..." with exactly the columns of the tsv */
static bool parse_tsv(const char *text, struct fm_process *p)
{
	for (int i = 0; i < FM_COLUMN_COUNT; i++) {
		char *end;

		errno = 0;
		p->col[i] = strtoll(text, &end, 10);
		if (end == text || errno != 0 || *end != (i + 1 < FM_COLUMN_COUNT ? ',' : '\0'))
			return false;
		text = end + 1;
	}
	return true;
}

static int read_window(struct reading *r, const struct fm_line *line)
{
	struct fm_run_window *w = fm_grow(&r->process.windows, &r->process.window_count, sizeof *w);
	const char *count = fm_line_get(line, "count");

	if (w == NULL)
		return FM_ERR_MEMORY;
	w->calls = fm_line_u64(line, "calls", 0);
	w->ns = fm_line_u64(line, "ns", 0);
	w->counted = count != NULL && count[0] != '\0';
	w->count = fm_line_u64(line, "count", 0);
	w->events = (unsigned)fm_line_u64(line, "events", 0);
	return FM_OK;
}

/* The process counts only now, with its end. Of another boot or library it is kept, but superseded.
 */
static int read_end(struct reading *r, const struct fm_line *line)
{
	struct fm_process *slot;

	if (r->cell == NULL ||
	        fm_line_u64(line, "windows", UINT64_MAX) != r->process.window_count ||
	        !fm_streq(fm_line_get(line, "stem"), r->cell->stem))
		return FM_OK;
	slot = fm_grow(&r->cell->taken, &r->cell->taken_count, sizeof *slot);
	if (slot == NULL)
		return FM_ERR_MEMORY;
	*slot = r->process;
	if (!r->same_boot || r->cell->unit->stale) {
		slot->col[FM_COL_reason] = FM_WHY_SUPERSEDED;
		slot->col[FM_COL_state] = FM_REPLACED;
	}
	r->process.windows = NULL;
	r->process.window_count = 0;
	return FM_OK;
}

/* A new dispatch: what an earlier one took is over. */
static void forget(struct fm_candidate_work *c)
{
	for (size_t i = 0; i < c->unit_count; i++)
		for (size_t k = 0; k < c->units[i].cell_count; k++) {
			struct fm_cell_work *cell = &c->units[i].cells[k];

			for (size_t m = 0; m < cell->taken_count; m++)
				free(cell->taken[m].windows);
			free(cell->taken);
			cell->taken = NULL;
			cell->taken_count = 0;
		}
}

/* Says of every unit whether the processes that follow ran the library of now. */
static void note_library(struct fm_candidate_work *c, const struct fm_line *line)
{
	for (size_t i = 0; i < c->unit_count; i++) {
		struct fm_unit *u = &c->units[i];

		if (fm_streq(fm_line_get(line, "instance"), u->instance->instance) &&
		        fm_streq(fm_line_get(line, "version"), u->version->version))
			u->stale = !fm_streq(fm_line_get(line, "sha256"), u->library_sha256);
	}
}

static int each(void *arg, const struct fm_line *line)
{
	struct reading *r = arg;
	const char *tsv;

	if (strcmp(line->kind, "header") == 0) {
		r->any = true;
		r->same_nonce = fm_streq(fm_line_get(line, "job_nonce"), r->candidate->item->nonce);
		r->same_boot = fm_streq(fm_line_get(line, "boot_id"), r->job->boot);
		if (r->same_boot && r->candidate->base_ns == 0)
			r->candidate->base_ns = fm_line_u64(line, "boot_ns", 0);
		return FM_OK;
	}
	if (strcmp(line->kind, "library") == 0) {
		note_library(r->candidate, line);
		return FM_OK;
	}
	if (strcmp(line->kind, "process") == 0) {
		tsv = fm_line_get(line, "tsv");
		free(r->process.windows);
		memset(&r->process, 0, sizeof r->process);
		r->cell = find_cell(r->candidate, fm_line_get(line, "stem"));
		if (tsv == NULL || !parse_tsv(tsv, &r->process))
			r->cell = NULL;
		return FM_OK;
	}
	if (strcmp(line->kind, "window") == 0)
		return read_window(r, line);
	return strcmp(line->kind, "process_end") == 0 ? read_end(r, line) : FM_OK;
}

static int put_header(struct fm_job *j, struct fm_candidate_work *c)
{
	char boot_ns[24];
	int rc;

	if (c->base_ns == 0)
		c->base_ns = fm_agent_boot_ns();
	snprintf(boot_ns, sizeof boot_ns, "%llu", (unsigned long long)c->base_ns);
	rc = fm_lines_put(c->spool, "header", "job_nonce", c->item->nonce, "boot_id", j->boot,
	        "agent_sha256", j->facts.agent_sha256, "boot_ns", boot_ns, NULL);

	for (size_t i = 0; rc == FM_OK && i < c->unit_count; i++)
		if (fm_unit_gated(&c->units[i]))
			rc = fm_lines_put(c->spool, "library", "instance",
			        c->units[i].instance->instance, "version",
			        c->units[i].version->version, "sha256", c->units[i].library_sha256,
			        NULL);
	return rc;
}

int fm_spool_open(struct fm_job *j, struct fm_candidate_work *c)
{
	struct reading r = {.job = j, .candidate = c};
	size_t cut = 0;
	int fd = -1, rc;

	rc = fm_fs_mkdirs(j->dir, "spool", 0700, &fd);
	if (rc == FM_OK)
		rc = fm_lines_open(&c->spool, fd, c->plan->candidate, each, &r, &cut);
	free(r.process.windows);
	if (rc == FM_OK && r.any && !r.same_nonce) { /* of an earlier dispatch: that is over */
		rc = fm_lines_close(c->spool);
		c->spool = NULL;
		forget(c);
		c->base_ns = 0;
		if (rc == FM_OK && (rc = fm_fs_remove(fd, c->plan->candidate)) == FM_OK)
			rc = fm_lines_open(&c->spool, fd, c->plan->candidate, NULL, NULL, NULL);
	}
	if (rc == FM_OK)
		rc = put_header(j, c);
	if (rc == FM_OK)
		rc = fm_spool_sync(j, c, true);
	if (fd >= 0)
		close(fd);
	return rc;
}

int fm_spool_add(struct fm_job *j, struct fm_candidate_work *c, struct fm_cell_work *cell,
        const struct fm_process *p)
{
	struct fm_buf tsv = FM_BUF_INIT(2000);
	struct fm_process *slot;
	char number[4][24];
	int rc = FM_OK;

	for (int i = 0; rc == FM_OK && i < FM_COLUMN_COUNT; i++)
		rc = fm_buf_printf(&tsv, "%s%lld", i == 0 ? "" : ",", (long long)p->col[i]);
	if (rc == FM_OK)
		rc = fm_lines_put(c->spool, "process", "stem", cell->stem, "tsv", tsv.data, NULL);
	snprintf(number[3], sizeof number[3], "%lld", (long long)p->col[FM_COL_process]);
	for (size_t i = 0; rc == FM_OK && i < p->window_count; i++) {
		const struct fm_run_window *w = &p->windows[i];
		char count[24] = "", events[12];

		snprintf(number[0], sizeof number[0], "%llu", (unsigned long long)w->calls);
		snprintf(number[1], sizeof number[1], "%llu", (unsigned long long)w->ns);
		if (w->counted)
			snprintf(count, sizeof count, "%llu", (unsigned long long)w->count);
		snprintf(events, sizeof events, "%u", w->events);
		rc = fm_lines_put(c->spool, "window", "process", number[3], "calls", number[0],
		        "ns", number[1], "count", count, "events", events, NULL);
	}
	snprintf(number[2], sizeof number[2], "%zu", p->window_count);
	if (rc == FM_OK)
		rc = fm_lines_put(c->spool, "process_end", "stem", cell->stem, "process", number[3],
		        "windows", number[2], NULL);
	fm_buf_free(&tsv);
	if (rc != FM_OK)
		return rc;
	slot = fm_grow(&cell->taken, &cell->taken_count, sizeof *slot);
	if (slot == NULL)
		return FM_ERR_MEMORY;
	*slot = *p;
	return fm_spool_sync(j, c, false);
}

int fm_spool_sync(struct fm_job *j, struct fm_candidate_work *c, bool now)
{
	uint64_t at = fm_agent_now_ns();

	if (!now && at - j->synced_ns < 30000000000u)
		return FM_OK;
	j->synced_ns = at;
	return fm_lines_sync(c->spool);
}
