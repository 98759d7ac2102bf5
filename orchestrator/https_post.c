/* https_post.c: sends one small message to a URL, for notifications; the URL may hold a token and
 * is never shown. */
#include "orchestrator/https_parts.h"
#include "protocol/buf.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL_MAX    2000
#define CONNECT_MS 5000L
#define WHOLE_MS   10000L

static size_t drop(char *bytes, size_t one, size_t count, void *arg)
{
	(void)bytes;
	(void)arg;
	return one * count;
}

/* "host:port" of the URL: all of it that is ever said. */
static int host_of(const char *url, char out[300])
{
	CURLU *u = curl_url();
	char *scheme = NULL, *host = NULL, *port = NULL;
	int rc = FM_ERR_MEMORY;

	if (u == NULL)
		return fm_fail(rc, "libcurl: out of memory");
	if (strlen(url) > URL_MAX || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK ||
	        curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
	        curl_url_get(u, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
	        strcmp(scheme, "https") != 0) {
		rc = fm_fail(FM_ERR_USAGE, "--notify: expected https://HOST/...");
	} else {
		(void)curl_url_get(u, CURLUPART_PORT, &port, 0);
		snprintf(out, 300, "%.250s%s%.8s", host, port == NULL ? "" : ":",
		        port == NULL ? "" : port);
		rc = FM_OK;
	}
	curl_free(scheme);
	curl_free(host);
	curl_free(port);
	curl_url_cleanup(u);
	return rc;
}

int fm_https_post_check(const char *url)
{
	char host[300];

	return host_of(url, host);
}

#define SET(option, value)                                          \
	do {                                                        \
		if (rc == CURLE_OK)                                 \
			rc = curl_easy_setopt(curl, option, value); \
	} while (0)

static CURLcode prepare(CURL *curl, const char *url, const char *json, struct curl_slist *headers)
{
	const char *bundle = getenv("CURL_CA_BUNDLE");
	CURLcode rc = fm_https_only(curl);

	SET(CURLOPT_URL, url);
	SET(CURLOPT_USERAGENT, "fleetmark/" FM_VERSION);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(CURLOPT_TIMEOUT_MS, WHOLE_MS);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_POSTFIELDSIZE, (long)strlen(json));
	SET(CURLOPT_POSTFIELDS, json);
	SET(CURLOPT_WRITEFUNCTION, drop);
	if (bundle != NULL && bundle[0] != '\0')
		SET(CURLOPT_CAINFO, bundle);
	return rc;
}

int fm_https_post(const char *url, const char *json)
{
	struct curl_slist *headers = NULL;
	CURL *curl = NULL;
	char host[300];
	long status = 0;
	CURLcode done;
	int rc = host_of(url, host);

	if (rc == FM_OK)
		rc = fm_https_start();
	if (rc != FM_OK)
		return rc;
	curl = curl_easy_init();
	headers = curl_slist_append(NULL, "Content-Type: application/json");
	if (curl == NULL || headers == NULL) {
		rc = fm_fail(FM_ERR_MEMORY, "libcurl: out of memory");
		goto out;
	}
	done = prepare(curl, url, json, headers);
	if (done == CURLE_OK)
		done = curl_easy_perform(curl);
	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (done != CURLE_OK)
		rc = fm_https_error(host, NULL, done); /* curl's own words may hold the URL */
	else if (status < 200 || status > 299)
		rc = fm_fail(
		        FM_ERR_CONNECT, "%s: the server answered with status %ld", host, status);
out:
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	return rc;
}
