/* inventory.h: the systems of a fleet, read from an inventory file (DESIGN: the keys are the whole
 * list). */
#ifndef FM_INVENTORY_H
#define FM_INVENTORY_H

#include "protocol/path.h"
#include <stdbool.h>
#include <stddef.h>

enum fm_transport_kind { FM_TRANSPORT_SSH, FM_TRANSPORT_LOCAL };

struct fm_system {
	char name[FM_NAME_MAX + 1];
	char arch[16]; /* x86_64 or aarch64 */
	enum fm_transport_kind transport;
	char *address; /* default: the system's name */
	char *user, *identity, *jump, *hostkey,
	        *about; /* NULL if not given; hostkey "SHA256:..." */
	char *workdir;  /* default "~/.fleetmark"; no spaces or shell characters: [A-Za-z0-9._/~+-]
	                 */
	int port;       /* 0: not given */
	int cpu;        /* -1: not given */
	bool raw;       /* the cycle register without an event, where it answers */
	int line;       /* of its section */
	bool selected;  /* by fm_inventory_select */
};
struct fm_inventory {
	char *path; /* as given */
	char stem[FM_NAME_MAX +
	          1]; /* file name without folder and .ini, for the default campaign name */
	struct fm_system *systems; /* in file order, all selected */
	size_t count;
};

FM_CHECK int fm_inventory_load(const char *path, struct fm_inventory *out);
void fm_inventory_free(struct fm_inventory *inv);

/* Marks what the pattern of -l selects: names, globs, ranges arm_[1-9], !name; failed and
 * unreachable (may be NULL) are the names behind @failed and @unreachable, ended by NULL. A word
 * that matches nothing is FM_ERR_USAGE. */
FM_CHECK int fm_inventory_select(struct fm_inventory *inv, const char *pattern,
        const char *const *failed, const char *const *unreachable);

struct fm_system *fm_inventory_find(
        const struct fm_inventory *inv, const char *name); /* NULL if absent */

/* An inventory of one system made in memory (fleetmark try). */
FM_CHECK int fm_inventory_single(const char *name, const char *arch,
        enum fm_transport_kind transport, const char *user, const char *address, int port,
        struct fm_inventory *out);

#endif
