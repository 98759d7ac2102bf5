/* https.h: fetches one file over https, puts files on a server; the only place that sees libcurl. */
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

/* A message of JSON text to a URL by POST; any answer from 200 to 299 is good and not read. The URL may hold a token and is never
 * shown: errors name its host. 10 s at most. FM_ERR_USAGE unless the URL is https; fm_https_post_check only looks at that. */
FM_CHECK int fm_https_post_check(const char *url);
FM_CHECK int fm_https_post(const char *url, const char *json);

/* A server that takes files by PUT (fm_https_site_open .. close): one connection, one thread. */
struct fm_https_site;

/* url: https://[USER:PASSWORD@]HOST[:PORT]/FOLDER; its credentials are taken out and never shown, and netrc (NULL: none) names a
 * file with others, as curl reads it: plain, ours, mode at most 0600. FM_ERR_USAGE for a URL with a query, fragment or another
 * protocol. CURL_CA_BUNDLE as above; nothing is redirected. */
FM_CHECK int fm_https_site_open(struct fm_https_site **out, const char *url, const char *netrc);
void fm_https_site_close(struct fm_https_site *s); /* NULL allowed; wipes the credentials */
bool fm_https_site_password(const struct fm_https_site *s); /* was a user or password in the URL? */
const char *fm_https_site_url(const struct fm_https_site *s); /* without credentials, ends with / */

/* Size of the file below the folder; -1: not there, or the server does not say. path as in a manifest. */
FM_CHECK int fm_https_site_size(struct fm_https_site *s, const char *path, int64_t *size);
/* Reads the file back, at most max bytes (FM_ERR_SIZE): SHA-256 as 64 hex digits; "" if it is not there. */
FM_CHECK int fm_https_site_digest(struct fm_https_site *s, const char *path, uint64_t max, char hex[65]);
/* Sends size bytes of fd, from its beginning. */
FM_CHECK int fm_https_site_put(struct fm_https_site *s, const char *path, int fd, uint64_t size);
/* Makes the folder path ("" : that of the URL); one that is there, or a server that knows no folders, is no error. */
FM_CHECK int fm_https_site_mkcol(struct fm_https_site *s, const char *path);

#endif
