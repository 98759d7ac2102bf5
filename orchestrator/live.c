/* live.c: folds events into one row per host and lays the rows out as a table. */
#include "orchestrator/out_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 4096
#define SILENT_NS                                                                      \
	45000000000ULL /* a busy host that says nothing for so long is shown as silent \
	                */
#define LINE_MAX 600

struct fm_live_row *fm_live_row(struct fm_live *l, const char *system)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->rows[i].system, system) == 0)
			return &l->rows[i];
	return NULL;
}

static struct fm_live_row *row_for(struct fm_live *l, const char *system)
{
	struct fm_live_row *r = fm_live_row(l, system);

	if (r != NULL || l->count >= ROWS_MAX)
		return r;
	r = fm_grow(&l->rows, &l->count, sizeof *r);
	if (r != NULL) {
		memset(r, 0, sizeof *r);
		snprintf(r->system, sizeof r->system, "%s", system);
	}
	return r;
}

static bool is(const struct fm_event *e, const char *name)
{
	return strcmp(e->event, name) == 0;
}

static void put(char *out, size_t size, const char *text)
{
	char line[FM_OUT_TEXT];

	snprintf(out, size, "%s", fm_out_clean(text, line));
}

/* "hash-31 ZC-DMC-1280-512 hash_4096": a cell without its system, which has a column of its own. */
static void take_cell(struct fm_live_row *r, const struct fm_event *e)
{
	const char *slash = e->cell == NULL ? NULL : strchr(e->cell, '/');

	if (slash != NULL) {
		put(r->cell, sizeof r->cell, slash + 1);
		for (char *p = r->cell; *p != '\0'; p++)
			if (*p == '/')
				*p = ' ';
	} else if (e->candidate != NULL && e->candidate[0] != '\0') {
		put(r->cell, sizeof r->cell, e->candidate);
	}
}

static void take_last(struct fm_live_row *r, const struct fm_event *e)
{
	char text[sizeof r->last];
	const char *part[] = {is(e, "cell") ? NULL : e->candidate, e->klass, e->reason, e->text};

	if (is(e, "stage") || is(e, "host_done") ||
	        (is(e, "cell") && (e->klass == NULL || e->klass[0] == '\0')))
		return; /* that shows in the other columns */
	snprintf(text, sizeof text, "%s", is(e, "host_failed") || is(e, "note") ? "" : e->event);
	for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
		size_t n = strlen(text);

		if (part[i] != NULL && part[i][0] != '\0')
			snprintf(text + n, sizeof text - n, "%s%s",
			        n == 0   ? ""
			        : i == 2 ? "/"
			                 : " ",
			        part[i]);
	}
	put(r->last, sizeof r->last, text);
}

static void take_stage(struct fm_live_row *r, const struct fm_event *e, uint64_t now)
{
	put(r->stage, sizeof r->stage, e->stage);
	if (!is(e, "stage"))
		return;
	r->done = e->done;
	r->total = e->total;
	r->has_eta = e->has_eta;
	r->eta_s = e->eta_s;
	r->eta_ns = now;
}

void fm_live_take(struct fm_live *l, const struct fm_event *e, uint64_t now)
{
	struct fm_live_row *r;

	if (is(e, "campaign")) {
		put(l->campaign, sizeof l->campaign, e->text == NULL ? "" : e->text);
		l->begun_ns = now;
		l->begun_done = l->done = e->done;
		l->total = e->total;
		l->estimate_s = e->has_eta ? e->eta_s : 0;
		return;
	}
	if (is(e, "cells")) {
		l->done = e->done;
		l->total = e->total;
		return;
	}
	if (e->system == NULL || e->system[0] == '\0' || (r = row_for(l, e->system)) == NULL)
		return;
	r->heard_ns = now;
	if (is(e, "queued"))
		return;
	if (!is(e, "host_done") && !is(e, "host_failed"))
		r->state = FM_LIVE_BUSY;
	if (e->stage != NULL && e->stage[0] != '\0')
		take_stage(r, e, now);
	take_cell(r, e);
	take_last(r, e);
	if (is(e, "host_done") || is(e, "host_failed")) {
		r->state = is(e, "host_done") ? FM_LIVE_DONE : FM_LIVE_FAILED;
		snprintf(r->stage, sizeof r->stage, "%s", is(e, "host_done") ? "done" : "failed");
		r->cell[0] = '\0';
		r->has_eta = false;
		r->total = 0;
	}
}

/* ---- time ---- */

bool fm_live_row_left(const struct fm_live_row *r, uint64_t now, uint64_t *seconds)
{
	uint64_t gone = now > r->eta_ns ? (now - r->eta_ns) / 1000000000ULL : 0;

	if (!r->has_eta || r->state != FM_LIVE_BUSY)
		return false;
	*seconds = r->eta_s > gone ? r->eta_s - gone : 0;
	return true;
}

bool fm_live_left(const struct fm_live *l, uint64_t now, uint64_t *seconds)
{
	double gone = now > l->begun_ns ? (double)(now - l->begun_ns) / 1e9 : 0;
	double part = 0, by_estimate = (double)l->estimate_s - gone, left = -1;
	uint64_t row;

	if (l->total > l->begun_done && l->done > l->begun_done && l->done <= l->total)
		part = (double)(l->done - l->begun_done) / (double)(l->total - l->begun_done);
	if (part > 0)
		left = gone * (1 - part) / part;
	if (by_estimate > 0)
		left = part > 0 ? part * part * left + (1 - part * part) * by_estimate
		                : by_estimate;
	for (size_t i = 0; i < l->count; i++)
		if (fm_live_row_left(&l->rows[i], now, &row) && left >= 0 && (double)row > left)
			left = (double)row;
	*seconds = left >= 0 ? (uint64_t)(left + 0.5) : 0;
	return left >= 0;
}

/* ---- the table ---- */

/* Widths of the columns; what is left of the line is the last event. 0: the column is left out. */
struct widths {
	size_t system, stage, cell, count, left;
};

static size_t longest_name(const struct fm_live *l)
{
	size_t most = 6;

	for (size_t i = 0; i < l->count; i++)
		if (strlen(l->rows[i].system) > most)
			most = strlen(l->rows[i].system);
	return most > 20 ? 20 : most;
}

static struct widths layout(const struct fm_live *l, size_t columns)
{
	struct widths w = {longest_name(l), 8, 0, 11, 11};

	if (columns >= 100)
		w.cell = columns >= 140 ? 44 : 30;
	else if (columns >= 70)
		w.cell = 18;
	return w;
}

static int put_line(struct fm_buf *out, size_t columns, const char *line)
{
	size_t len = strlen(line), most = columns > 1 ? columns - 1 : 1;

	while (len > 0 && line[len - 1] == ' ')
		len--;
	return fm_buf_printf(out, "%.*s\n", (int)(len < most ? len : most), line);
}

static void cells_of(char *line, const struct widths *w, const char *system, const char *stage,
        const char *cell, const char *count, const char *left, const char *last)
{
	size_t n = (size_t)snprintf(line, LINE_MAX, "%-*.*s  %-*.*s  ", (int)w->system,
	        (int)w->system, system, (int)w->stage, (int)w->stage, stage);

	if (w->cell > 0)
		n += (size_t)snprintf(
		        line + n, LINE_MAX - n, "%-*.*s  ", (int)w->cell, (int)w->cell, cell);
	snprintf(line + n, LINE_MAX - n, "%*.*s  %*.*s  %s", (int)w->count, (int)w->count, count,
	        (int)w->left, (int)w->left, left, last);
}

static int put_row(struct fm_buf *out, const struct fm_live_row *r, const struct widths *w,
        size_t columns, uint64_t now)
{
	char line[LINE_MAX], count[48] = "", left[32] = "", silent[80], span[32];
	const char *last = r->last, *stage = r->stage;
	uint64_t s;

	if (r->total > 0)
		snprintf(count, sizeof count, "%llu/%llu", (unsigned long long)r->done,
		        (unsigned long long)r->total);
	if (fm_live_row_left(r, now, &s))
		fm_duration(s * 1000000000ULL, left);
	if (r->state == FM_LIVE_WAITING)
		stage = "waiting";
	else if (stage[0] == '\0')
		stage = "connect";
	if (r->state == FM_LIVE_BUSY && now > r->heard_ns && now - r->heard_ns > SILENT_NS) {
		snprintf(silent, sizeof silent, "nothing heard for %s",
		        fm_duration(now - r->heard_ns, span));
		last = silent;
	}
	cells_of(line, w, r->system, stage, r->cell, count, left, last);
	return put_line(out, columns, line);
}

static int put_campaign(const struct fm_live *l, size_t columns, uint64_t now, struct fm_buf *out)
{
	size_t of[4] = {0};
	char line[LINE_MAX], left[32], spent[32];
	uint64_t s;
	bool known = fm_live_left(l, now, &s);

	for (size_t i = 0; i < l->count; i++)
		of[l->rows[i].state]++;
	snprintf(line, sizeof line,
	        "%s: %llu/%llu cells, %s%s, running for %s; hosts: %zu at work, %zu done, %zu "
	        "failed, %zu waiting",
	        l->campaign, (unsigned long long)l->done, (unsigned long long)l->total,
	        known ? fm_duration(s * 1000000000ULL, left) : "time left not known yet",
	        known ? " left" : "", fm_duration(now > l->begun_ns ? now - l->begun_ns : 0, spent),
	        of[FM_LIVE_BUSY], of[FM_LIVE_DONE], of[FM_LIVE_FAILED], of[FM_LIVE_WAITING]);
	return put_line(out, columns, line);
}

size_t fm_live_draw(
        const struct fm_live *l, size_t columns, size_t lines, uint64_t now, struct fm_buf *out)
{
	static const enum fm_live_state order[] = {
	        FM_LIVE_FAILED, FM_LIVE_BUSY, FM_LIVE_WAITING, FM_LIVE_DONE};
	struct widths w = layout(l, columns);
	size_t room = lines > 3 ? lines - 3 : 0, used = 0, shown = 0;
	bool all = l->count <= room;
	char line[LINE_MAX];
	int rc;

	cells_of(line, &w, "system", "stage", "cell", "done/total", "left", "last event");
	rc = put_line(out, columns, line);
	used++;
	for (size_t k = 0; rc == FM_OK && k < sizeof order / sizeof order[0]; k++) {
		for (size_t i = 0; rc == FM_OK && i < l->count && shown < room; i++) {
			if (all ? k > 0 : l->rows[i].state != order[k])
				continue;
			rc = put_row(out, &l->rows[i], &w, columns, now);
			shown++;
		}
	}
	used += shown;
	if (rc == FM_OK && shown < l->count) {
		snprintf(line, sizeof line, "... and %zu more", l->count - shown);
		rc = put_line(out, columns, line);
		used++;
	}
	if (rc == FM_OK)
		rc = put_campaign(l, columns, now, out);
	return rc == FM_OK ? used + 1 : 0;
}

void fm_live_free(struct fm_live *l)
{
	free(l->rows);
	memset(l, 0, sizeof *l);
}
