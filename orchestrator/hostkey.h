/* hostkey.h: whether the key a host offers is the one we hold: pin, trust store, and what to say
 * when not (guide: twelve shapes). */
#ifndef FM_HOSTKEY_H
#define FM_HOSTKEY_H

#include "protocol/buf.h"

/* What the SSH library says about the trust store's known_hosts. */
enum fm_hostkey_verdict {
	FM_HOSTKEY_OK,
	FM_HOSTKEY_IS_UNKNOWN,
	FM_HOSTKEY_IS_OTHER,
	FM_HOSTKEY_IS_CHANGED
};

struct fm_hostkey {
	const char *system, *host; /* host: the name known_hosts has it under, without port */
	int port;
	const char *type, *base64; /* as in known_hosts: "ssh-ed25519", "AAAA..." */
	const char *fingerprint;   /* "SHA256:..." offered */
};

/* Order: revoked, pin (NULL: none), verdict. file: path of known_hosts, for messages; text: its
 * content, NULL if there is no such file. FM_OK, FM_ERR_HOSTKEY_*; the text names system, host,
 * fingerprint offered, what was expected, and the reason if one can be seen. warn gets a sentence
 * ("" if none) about lines that could not be read although the key was accepted; size >= 200. */
FM_CHECK int fm_hostkey_decide(const struct fm_hostkey *k, const char *pin,
        enum fm_hostkey_verdict verdict, const char *file, const struct fm_buf *text, char *warn,
        size_t size);

/* The pattern of a known_hosts line: "host", or "[host]:port" when the port is not 22. */
char *fm_hostkey_name(const char *host, int port, char *out, size_t size);

/* Adds "name type base64" to dirfd/known_hosts under a lock; replaces a line of the same name and
 * type. Temporary file, fsync, rename. */
FM_CHECK int fm_hostkey_add(int dirfd, const struct fm_hostkey *k);

#endif
