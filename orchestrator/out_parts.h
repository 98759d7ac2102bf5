/* out_parts.h: the state of what is shown, for out*.c only. */
#ifndef FM_OUT_PARTS_H
#define FM_OUT_PARTS_H

#include "orchestrator/live.h"
#include "orchestrator/out.h"
#include "protocol/buf.h"
#include <pthread.h>

#define FM_OUT_TEXT 4096

struct fm_out {
	pthread_mutex_t lock; /* for all that follows */
	bool json, quiet, verbose, terminal;
	uint64_t seq;
	/* the live line, or the table: lines of it that stand at the bottom of the terminal */
	size_t drawn;
	bool running; /* a counter without a table */
	uint64_t begun_ns, begun_done, shown_ns;
	bool campaign; /* a table */
	struct fm_live live;
	/* copy of all events for `watch` */
	int record;
	uint64_t recorded;
};
extern struct fm_out fm_out;

/* Text fit for a terminal: escaped, secrets masked; line has FM_OUT_TEXT bytes and is returned. */
char *fm_out_clean(const char *text, char line[FM_OUT_TEXT]);

/* The event as one line of NDJSON with LF. */
FM_CHECK int fm_out_json(struct fm_buf *b, const struct fm_event *e, uint64_t seq);

/* With the lock held: the event to stdout as NDJSON. */
void fm_out_put_json(const struct fm_event *e);

/* With the lock held: takes the live line or the table off the terminal, so that a line can be written; puts it back. */
void fm_out_wipe(void);
void fm_out_redraw(bool now);

/* With the lock held: a line of text on stderr. */
void fm_out_line(const char *prefix, const char *text);

/* With the lock held: one event as a line for people. */
void fm_out_event_line(const struct fm_event *e);

#endif
