/* transport.h: a byte channel to a host, over SSH or to this machine, behind one table of
 * functions. Used by one thread only. */
#ifndef FM_TRANSPORT_H
#define FM_TRANSPORT_H

#include "orchestrator/home.h"
#include "orchestrator/inventory.h"
#include <stdint.h>
#include <sys/types.h>

struct fm_transport; /* a session with one host */
struct fm_channel;   /* one remote `exec /bin/sh` */

/* Deadlines are CLOCK_MONOTONIC ns (fm_now_ns). wake (an eventfd, -1: none) ends any wait early
 * with FM_ERR_INTERRUPTED. */
uint64_t fm_now_ns(void);

struct fm_transport_ops {
	/* Connects, checks the host key (pin or home's known_hosts, never a prompt), authenticates.
	 */
	int (*open)(struct fm_transport **out, const struct fm_system *system,
	        const struct fm_home *home, int wake, uint64_t deadline);
	void (*close)(struct fm_transport *t); /* at once; NULL allowed */
	int (*exec)(struct fm_transport *t, const char *command, struct fm_channel **out,
	        uint64_t deadline);
	/* Bytes read: > 0; 0: end of file of stdout; negative code. *is_stderr tells which stream
	 * the bytes came from. */
	ssize_t (*read)(
	        struct fm_channel *c, void *bytes, size_t size, int *is_stderr, uint64_t deadline);
	int (*write)(struct fm_channel *c, const void *bytes, size_t len,
	        uint64_t deadline);       /* all or an error */
	int (*eof)(struct fm_channel *c); /* no more input for the far side */
	int (*finish)(struct fm_channel *c, int *status,
	        uint64_t deadline);            /* exit status; -1: none was told; frees c */
	/* After the end of its output: how the far program ended, in words: "with status 5", "by signal KILL", "without a word". */
	void (*ended)(struct fm_channel *c, char how[48], uint64_t deadline);
	void (*discard)(struct fm_channel *c); /* frees c without asking */
	void (*set_wake)(struct fm_transport *t,
	        int wake); /* from now on; -1: only deadlines end a wait (cancelling) */
	const char *(*host_key)(const struct fm_transport *t); /* fingerprint seen, or "local" */
	const char *(*describe)(const struct fm_transport
	                *t); /* "bench@198.51.100.11:22, key file ..., pinned" for check */
};
extern const struct fm_transport_ops fm_transport_ssh, fm_transport_local;
const struct fm_transport_ops *fm_transport_for(const struct fm_system *system);

/* Waits until one of the count descriptors is ready for what its events ask, wake is raised
 * (FM_ERR_INTERRUPTED) or the deadline has passed (FM_ERR_TIMEOUT, text "no answer"). */
struct pollfd;
FM_CHECK int fm_transport_wait(struct pollfd *fds, unsigned count, int wake, uint64_t deadline);

/* Ends a child of ours: waits until the deadline, then TERM to its group, 200 ms, KILL. Returns the
 * wait status. */
int fm_transport_reap(pid_t pid, uint64_t deadline);

/* In a child between fork and exec: own session, default signals, nothing blocked.
 * Async-signal-safe. */
void fm_transport_child(void);

#define FM_MS 1000000ull /* ns */
#define FM_S  1000000000ull

#endif
