/* https.h: fetches one file over https; the only place that sees libcurl. */
#ifndef FM_HTTPS_H
#define FM_HTTPS_H

#include "protocol/error.h"
#include <stdbool.h>
#include <stdint.h>

struct fm_https {
	const char *url;
	uint64_t max;   /* bytes of the file, at most */
	uint64_t bytes; /* its size if known, else 0: for progress and time only */
	void (*progress)(void *arg, uint64_t have, uint64_t all); /* NULL allowed; all 0: not known */
	void *arg;
};

/* Fetches into the file name below dirfd (0600), going on behind what is there when the server can; *resumed tells whether it
 * did. Only a body with status 200 or 206 is ever written, so an error page never is; https only, also where redirected (at
 * most 5 times); proxy as libcurl takes it from the environment; CURL_CA_BUNDLE names another file of trusted certificates.
 * Ends when slower than 1 KB/s for 30 s. After an error what came stays, to go on there, unless it is of no use. Whether it
 * is the right file only its digest tells, and the caller compares that. */
FM_CHECK int fm_https_get(const struct fm_https *h, int dirfd, const char *name, bool *resumed);

#endif
