/* agent.h: what every part of fleetmark-agent shares: where it lives, and the small helpers for
 * host text. */
#ifndef FM_AGENT_H
#define FM_AGENT_H

#include "protocol/buf.h"
#include "protocol/digest.h"
#include "protocol/error.h"
#include "protocol/fs.h"
#include "protocol/path.h"
#include <stdio.h>

#if defined(__x86_64__)
#define FM_ARCH        "x86_64"
#define FM_ELF_MACHINE 62
#elif defined(__aarch64__)
#define FM_ARCH        "aarch64"
#define FM_ELF_MACHINE 183
#else
#define FM_ARCH        "other"
#define FM_ELF_MACHINE 0
#endif

#ifndef FM_VERSION
#define FM_VERSION "0.1.0"
#endif

#define FM_HOST_TEXT 201 /* bytes of one text of the host, with NUL */

struct fm_agent {
	int dir;                     /* the work folder */
	char *path;                  /* its absolute path */
	char *self, *worker, *weigh; /* this program and the two beside it, absolute */
	char source[65];             /* digest of the agent's sources, as the bootstrap knows it */
	const char *world;           /* path of a made-up machine, only in tests; NULL */
};

/* Opens (makes, 0700) the work folder, which must be an absolute path owned by this user; source is
 * 64 hex digits. */
FM_CHECK int fm_agent_open(struct fm_agent *a, const char *workdir, const char *source);
void fm_agent_close(struct fm_agent *a);

/* Nanoseconds of CLOCK_MONOTONIC_RAW, and of CLOCK_BOOTTIME (leases and deadlines). */
uint64_t fm_agent_now_ns(void);
uint64_t fm_agent_boot_ns(void);

/* Host text made fit for a job text value or a JSON string: other bytes than 0x20..0x7e become '?',
 * outer spaces go, at most FM_HOST_TEXT - 1 bytes stay. Returns out, which may be empty. */
char *fm_agent_clean(const char *text, size_t len, char out[FM_HOST_TEXT]);

/* The same code with FM_ERR_DISK turned into FM_ERR_NO_SPACE: on a host a full disk is the host's
 * state. */
int fm_agent_host_code(int rc);

/* ~/.fleetmark/key, its public line beside it (key.pub), the pinned controller. "none" when there
 * is none. */
#define FM_AGENT_KEY        "key"
#define FM_AGENT_KEY_NEW    "key.new" /* until the controller trusts it */
#define FM_AGENT_KEY_PUB    "key.pub"
#define FM_AGENT_CONTROLLER "controller.pub"
FM_CHECK int fm_agent_public_line(const struct fm_agent *a, const char *name, char out[81]);

#endif
