/* home.h: the controller's own folder ($FLEETMARK_HOME, default ~/.config/fleetmark): key, trust/, known_hosts, the last tree. */
#ifndef FM_HOME_H
#define FM_HOME_H

#include "protocol/identity.h"
#include <stdint.h>

struct fm_home {
	int dirfd;
	char *path;
	struct fm_identity *id; /* NULL until fm_home_key */
};

/* Path of the folder, with "/name" behind it unless name is NULL; makes nothing. The caller frees it; NULL with an error
 * set. */
char *fm_home_path(const char *name);

/* Opens the folder, making it (0700) if it is not there. */
FM_CHECK int fm_home_open(struct fm_home *h);
void fm_home_close(struct fm_home *h);

/* Takes the folder's lock, waiting at most 10 s (FM_ERR_LOCKED): for whoever changes what lies in it. close(*fd) frees. */
FM_CHECK int fm_home_lock(const struct fm_home *h, int *fd);

/* Loads the controller's key; makes it (and controller.pub, and an empty sealed trust folder) if there is none, and says so. */
FM_CHECK int fm_home_key(struct fm_home *h);

/* The last tree sealed with this key: sequence 0 and "" before the first. Stored in home/last_tree (lines form). */
FM_CHECK int fm_home_last_tree(const struct fm_home *h, int64_t *sequence, char sha256[65]);
FM_CHECK int fm_home_set_last_tree(const struct fm_home *h, int64_t sequence, const char *sha256);

/* The highest version of the trust folder that was sealed here (home/last_trust): 0 before the first change. Roll-back shows in it. */
FM_CHECK int fm_home_last_trust(const struct fm_home *h, int64_t *version);
FM_CHECK int fm_home_set_last_trust(const struct fm_home *h, int64_t version);

#endif
