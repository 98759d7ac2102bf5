/* door.h: the lock for the whole host, which is also where a running job can be spoken to: a Unix
 * socket with a fixed name in the abstract namespace. It does not depend on user or folder and goes
 * with the process. */
#ifndef FM_AGENT_DOOR_H
#define FM_AGENT_DOOR_H

#include "agent/agent.h"

struct fm_door {
	int fd;         /* -1: not held */
	char line[400]; /* told to everyone who connects */
	bool cancelled;
	uint64_t renewed_ns; /* CLOCK_BOOTTIME of the last renewal of the lease */
};

/* Takes the host; FM_ERR_BUSY names the holder. who is one line without LF. */
FM_CHECK int fm_door_take(struct fm_door *d, const char *who);
void fm_door_close(struct fm_door *d);

/* Serves one visitor, if any: tells the line, takes `cancel` or `renew` from the same user.
 * FM_ERR_CANCELLED after a cancel. */
FM_CHECK int fm_door_serve(struct fm_door *d);

/* Who holds this host? text (FM_HOST_TEXT) is "none" or the holder's line; the result tells whether
 * it is held. */
bool fm_door_holder(char text[FM_HOST_TEXT]);

/* FM_ERR_BUSY with the holder's line if the host is held. */
FM_CHECK int fm_door_refuse_busy(const char *what);

/* Tells the holder `cancel` or `renew` if its campaign is this one. FM_OK if it was told,
 * FM_ERR_REFUSED if it is another. */
FM_CHECK int fm_door_tell(const char *campaign, const char *word);

#endif
