/* transport.h: a byte channel to a host, over SSH or to this machine, behind one table of functions. Used by one thread only. */
#ifndef FM_TRANSPORT_H
#define FM_TRANSPORT_H

#include "orchestrator/home.h"
#include "orchestrator/inventory.h"
#include <stdint.h>
#include <sys/types.h>

struct fm_transport; /* a session with one host */
struct fm_channel;   /* one remote `exec /bin/sh` */

/* Deadlines are CLOCK_MONOTONIC ns (fm_now_ns). wake (an eventfd, -1: none) ends any wait early with FM_ERR_INTERRUPTED. */
uint64_t fm_now_ns(void);

struct fm_transport_ops {
	/* Connects, checks the host key (pin or home's known_hosts, never a prompt), authenticates. */
	int (*open)(struct fm_transport **out, const struct fm_system *system, const struct fm_home *home, int wake, uint64_t deadline);
	void (*close)(struct fm_transport *t);                     /* at once; NULL allowed */
	int (*exec)(struct fm_transport *t, const char *command, struct fm_channel **out, uint64_t deadline);
	/* stdout bytes: > 0; 0: end of file; negative code. *is_stderr tells which stream the bytes came from. */
	ssize_t (*read)(struct fm_channel *c, void *bytes, size_t size, int *is_stderr, uint64_t deadline);
	int (*write)(struct fm_channel *c, const void *bytes, size_t len, uint64_t deadline); /* all or an error */
	int (*eof)(struct fm_channel *c);                          /* no more input for the far side */
	int (*finish)(struct fm_channel *c, int *status, uint64_t deadline); /* exit status; -1: none was told; frees c */
	void (*discard)(struct fm_channel *c);                     /* frees c without asking */
	const char *(*host_key)(const struct fm_transport *t);     /* fingerprint seen, or "local" */
	const char *(*describe)(const struct fm_transport *t);     /* "bench@198.51.100.11:22, key file ..., pinned" for check */
};
extern const struct fm_transport_ops fm_transport_ssh, fm_transport_local;
const struct fm_transport_ops *fm_transport_for(const struct fm_system *system);

#endif
