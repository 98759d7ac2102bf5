/* notify.h: tells a URL that a campaign has ended or needs someone. */
#ifndef FM_NOTIFY_H
#define FM_NOTIFY_H

#include "orchestrator/campaign.h"

/* FM_ERR_USAGE unless o->notify is NULL or an https URL. */
FM_CHECK int fm_notify_check(const struct fm_options *o);

/* Posts {"event", "campaign", "system", "class", "text", "status", "time"} as JSON; system and klass may be NULL, status -1 when the
 * campaign goes on. Does nothing without --notify. A failure is said and changes nothing else. Takes 10 s at most. */
void fm_notify(const struct fm_campaign *c, const char *event, const char *system, const char *klass, const char *text, int status);

#endif
