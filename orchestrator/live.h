/* live.h: what every host of a campaign is doing now, folded from its events, and the table of it. */
#ifndef FM_LIVE_H
#define FM_LIVE_H

#include "orchestrator/out.h"
#include "protocol/buf.h"
#include "protocol/path.h"

enum fm_live_state { FM_LIVE_WAITING, FM_LIVE_BUSY, FM_LIVE_DONE, FM_LIVE_FAILED };

struct fm_live_row { /* one system; times are CLOCK_MONOTONIC ns */
	char system[FM_NAME_MAX + 1], stage[24], cell[200], last[300];
	enum fm_live_state state;
	uint64_t done, total;   /* of the stage; total 0: not known */
	uint64_t eta_s, eta_ns; /* time left as told, and when; has_eta false: not known */
	bool has_eta;
	uint64_t heard_ns; /* last event of it */
	uint64_t told_ns;  /* last line that people or scripts saw of it */
};

struct fm_live { /* all zero at first */
	char campaign[FM_NAME_MAX + 1];
	struct fm_live_row *rows;
	size_t count;
	uint64_t done, total; /* cells of this run */
	uint64_t begun_ns, begun_done;
	uint64_t estimate_s; /* of this run before it began, 0: none */
};

/* Takes one event. Rows appear in the order in which systems are first heard of; at most 4,096, later ones are not shown. A
 * row that finds no memory is left out: this is only the view. */
void fm_live_take(struct fm_live *l, const struct fm_event *e, uint64_t now_ns);

/* The row of a system, NULL if there is none. */
struct fm_live_row *fm_live_row(struct fm_live *l, const char *system);

/* Seconds left of one row. Of the campaign: the estimate it began with less what has passed, given up for the pace of its cells the
 * more of them are done (cells come at the end of builds and known answers, so early ones say little); never less than a row of it.
 * False while nothing is known. */
bool fm_live_row_left(const struct fm_live_row *r, uint64_t now_ns, uint64_t *seconds);
bool fm_live_left(const struct fm_live *l, uint64_t now_ns, uint64_t *seconds);

/* The table in ASCII, lines of less than columns characters, at most lines of them: head, the rows that have most to say
 * (failed and busy ones before waiting and done ones when not all fit), how many are not shown, the campaign. Returns how
 * many lines were put. */
FM_CHECK size_t fm_live_draw(const struct fm_live *l, size_t columns, size_t lines, uint64_t now_ns, struct fm_buf *out);

void fm_live_free(struct fm_live *l);

#endif
