/* https_parts.h: what fetching and publishing over https share; for https*.c. */
#ifndef FM_HTTPS_PARTS_H
#define FM_HTTPS_PARTS_H

#include "orchestrator/https.h"
#include <curl/curl.h>

/* libcurl's own start, once per process. */
FM_CHECK int fm_https_start(void);

/* No other protocol than https, also after a redirection. */
CURLcode fm_https_only(CURL *curl);

/* Our code and words for what libcurl returned; said (may be NULL or empty) is its error buffer. */
int fm_https_error(const char *url, const char *said, CURLcode rc);

#endif
