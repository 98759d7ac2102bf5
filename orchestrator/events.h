/* events.h: the events of a running campaign, kept in incoming/events for those who look at it from elsewhere. */
#ifndef FM_EVENTS_H
#define FM_EVENTS_H

#include "orchestrator/out.h"
#include "protocol/buf.h"

struct fm_events {
	int fd;
	uint64_t offset;    /* read so far */
	struct fm_buf part; /* of a line that is not whole yet */
};

/* Begins the file anew and has every event written to it until fm_events_end. A campaign goes on without it. */
void fm_events_begin(int incoming);
void fm_events_end(void);

/* For reading. FM_ERR_REFUSED if no run has begun yet. */
FM_CHECK int fm_events_open(struct fm_events *e, int incoming);
void fm_events_close(struct fm_events *e);

/* Hands over every whole line that is there now and was not handed over before; *again (NULL allowed) tells that the file
 * began anew. Strings live only during the call. Lines that are no event are skipped: this file is only a view. */
typedef void fm_events_each(void *arg, const struct fm_event *e);
FM_CHECK int fm_events_read(struct fm_events *e, fm_events_each *each, void *arg, bool *again);

/* Does a controller work on this campaign? who (300 bytes) says which, "" if none does. */
bool fm_events_writer(int incoming, char who[300]);

#endif
