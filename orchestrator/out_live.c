/* out_live.c: what shows that work goes on: one counting line, the table of a campaign on a
 * terminal, heartbeats elsewhere. */
#include "orchestrator/out_parts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_NS    100000000ULL   /* the counting line, at most ten times a second */
#define TABLE_NS     500000000ULL   /* the table, at least as often while it runs */
#define HEARTBEAT_NS 30000000000ULL /* elsewhere */

/* ---- what stands at the bottom of the terminal, with the lock held ---- */

void fm_out_wipe(void)
{
	if (fm_out.drawn == 0)
		return;
	if (fm_out.campaign)
		fprintf(stderr, "\r\033[%zuA\033[J", fm_out.drawn);
	else
		fputs("\r\033[K", stderr);
	fm_out.drawn = 0;
}

static bool has_table(void)
{
	return fm_out.campaign && fm_out.terminal && !fm_out.json && !fm_out.quiet;
}

static size_t window(size_t *columns)
{
	struct winsize w;

	*columns = 80;
	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0 || w.ws_row == 0)
		return 24;
	*columns = w.ws_col;
	return w.ws_row;
}

/* One write: the cursor to the table's first line, every line with what was behind it cleared, then
 * what is below. */
void fm_out_redraw(bool now)
{
	struct fm_buf table = FM_BUF_INIT(1u << 20), all = FM_BUF_INIT(2u << 20);
	uint64_t at = fm_out_now();
	size_t columns, rows, n = 0;
	int rc = FM_OK;

	if (!has_table() || (!now && fm_out.drawn > 0 && at - fm_out.shown_ns < REDRAW_NS))
		return;
	rows = window(&columns);
	n = fm_live_draw(&fm_out.live, columns, rows, at, &table);
	if (fm_out.drawn > 0)
		rc = fm_buf_printf(&all, "\r\033[%zuA", fm_out.drawn);
	for (char *line = table.data; n > 0 && rc == FM_OK && line != NULL && *line != '\0';) {
		char *end = strchr(line, '\n');

		rc = fm_buf_printf(&all, "%.*s\033[K\n", (int)(end - line), line);
		line = end + 1;
	}
	if (rc == FM_OK)
		rc = fm_buf_printf(&all, "\033[J");
	if (rc == FM_OK && n > 0) {
		(void)!fwrite(all.data, 1, all.len, stderr);
		fflush(stderr);
		fm_out.drawn = n;
		fm_out.shown_ns = at;
	}
	fm_buf_free(&table);
	fm_buf_free(&all);
}

/* ---- heartbeats, with the lock held ---- */

static void heartbeat(const struct fm_event *e)
{
	if (fm_out.json)
		fm_out_put_json(e);
	else if (!fm_out.quiet)
		fm_out_event_line(e);
}

static void host_heartbeat(struct fm_live_row *r, uint64_t now)
{
	char text[64], span[32];
	struct fm_event e = {.event = "heartbeat",
	        .system = r->system,
	        .stage = r->stage,
	        .cell = r->cell,
	        .text = text,
	        .done = r->done,
	        .total = r->total};

	snprintf(text, sizeof text, "last heard of %s ago", fm_duration(now - r->heard_ns, span));
	e.has_eta = fm_live_row_left(r, now, &e.eta_s);
	r->told_ns = now;
	heartbeat(&e);
}

static void campaign_heartbeat(uint64_t now)
{
	struct fm_event e = {.event = "heartbeat",
	        .text = fm_out.live.campaign,
	        .done = fm_out.live.done,
	        .total = fm_out.live.total};

	e.has_eta = fm_live_left(&fm_out.live, now, &e.eta_s);
	fm_out.shown_ns = now;
	heartbeat(&e);
}

void fm_out_tick(void)
{
	struct fm_live *l = &fm_out.live;
	uint64_t now;

	pthread_mutex_lock(&fm_out.lock);
	now = fm_out_now(); /* not before what other threads have noted */
	if (has_table()) {
		if (now - fm_out.shown_ns >= TABLE_NS)
			fm_out_redraw(true);
	} else if (fm_out.campaign) {
		for (size_t i = 0; i < l->count; i++)
			if (l->rows[i].state == FM_LIVE_BUSY &&
			        now - l->rows[i].told_ns >= HEARTBEAT_NS)
				host_heartbeat(&l->rows[i], now);
		if (now - fm_out.shown_ns >= HEARTBEAT_NS)
			campaign_heartbeat(now);
	}
	pthread_mutex_unlock(&fm_out.lock);
}

/* ---- counting ---- */

/* Seconds left if the rest goes at the pace of what was done since progress began; false while
 * nothing was. */
static bool time_left(uint64_t done, uint64_t total, uint64_t now, uint64_t *seconds)
{
	uint64_t since = done - fm_out.begun_done;

	if (done <= fm_out.begun_done || total < done)
		return false;
	*seconds = (uint64_t)((double)(now - fm_out.begun_ns) / (double)since *
	                              (double)(total - done) / 1e9 +
	                      0.5);
	return true;
}

static void show_count(uint64_t done, uint64_t total, const char *what, uint64_t now)
{
	uint64_t left = 0;
	bool has = time_left(done, total, now, &left);
	char line[FM_OUT_TEXT], span[32];

	fm_out.shown_ns = now;
	if (fm_out.json) {
		fm_out_put_json(&(struct fm_event){.event = "heartbeat",
		        .text = what,
		        .done = done,
		        .total = total,
		        .eta_s = left,
		        .has_eta = has});
	} else if (!fm_out.quiet) {
		fm_out_wipe();
		fprintf(stderr, "%llu/%llu %s, %s%s", (unsigned long long)done,
		        (unsigned long long)total, fm_out_clean(what == NULL ? "" : what, line),
		        has ? fm_duration(left * 1000000000ULL, span) : "time left not known yet",
		        has ? " left" : "");
		if (!fm_out.terminal)
			fputc('\n', stderr);
		fm_out.drawn = fm_out.terminal;
		fflush(stderr);
	}
}

void fm_out_progress(uint64_t done, uint64_t total, const char *what)
{
	uint64_t now;

	pthread_mutex_lock(&fm_out.lock);
	now = fm_out_now();
	if (!fm_out.running || done < fm_out.begun_done) {
		fm_out.running = true;
		fm_out.begun_ns = now;
		fm_out.begun_done = done;
		fm_out.shown_ns = 0;
	}
	if (fm_out.shown_ns == 0 ||
	        now - fm_out.shown_ns >=
	                (fm_out.terminal && !fm_out.json ? REDRAW_NS : HEARTBEAT_NS))
		show_count(done, total, what, now);
	pthread_mutex_unlock(&fm_out.lock);
}

void fm_out_progress_end(void)
{
	pthread_mutex_lock(&fm_out.lock);
	if (has_table())
		fm_out_redraw(true);
	if (fm_out.campaign)
		fm_out.drawn = 0; /* the last table stays on the screen */
	else
		fm_out_wipe();
	fm_out.running = fm_out.campaign = false;
	fm_live_free(&fm_out.live);
	pthread_mutex_unlock(&fm_out.lock);
}
