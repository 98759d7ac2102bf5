/* https.c: one file over https, with limits, to go on where it broke off; the only place that sees
 * libcurl. */
#include "orchestrator/https_parts.h"
#include "protocol/buf.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDIRECTS     5L
#define CONNECT_MS    10000L
#define SLOW_BYTES    1024L /* per second, */
#define SLOW_S        30L   /* this long: given up */
#define WHOLE_S       120   /* the whole transfer: this, and the time its bytes take at */
#define WHOLE_BYTES_S 20480 /* so many per second */

struct transfer {
	const struct fm_https *h;
	CURL *curl;
	int fd, failed;
	uint64_t from, have; /* bytes that were there, bytes that are there */
	char said[CURL_ERROR_SIZE];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

static void start(void)
{
	ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

int fm_https_start(void)
{
	if (pthread_once(&once, start) != 0 || !ready)
		return fm_fail(FM_ERR_INTERNAL, "libcurl does not start");
	return FM_OK;
}

static long status_of(CURL *curl)
{
	long status = 0;

	(void)curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	return status;
}

/* Body bytes. Only those of an answer that is the file, or the rest of it, are written. */
static size_t take(char *bytes, size_t one, size_t count, void *arg)
{
	struct transfer *t = arg;
	long status = status_of(t->curl);
	size_t len = one * count;

	if (status != 200 && status != 206)
		t->failed = fm_fail(FM_ERR_CONNECT, "%s: the server answered with status %ld",
		        t->h->url, status);
	else if (len > t->h->max || t->have > t->h->max - len)
		t->failed = fm_fail(FM_ERR_SIZE, "%s: more than %llu bytes", t->h->url,
		        (unsigned long long)t->h->max);
	else
		t->failed = fm_fs_write_all(t->fd, bytes, len);
	if (t->failed != FM_OK)
		return 0;
	t->have += len;
	return len;
}

static int tell(void *arg, curl_off_t all, curl_off_t now, curl_off_t up_all, curl_off_t up_now)
{
	struct transfer *t = arg;

	(void)now;
	(void)up_all;
	(void)up_now;
	if (t->h->progress != NULL)
		t->h->progress(t->h->arg, t->have,
		        t->h->bytes > 0 ? t->h->bytes
		        : all > 0       ? (uint64_t)all + t->from
		                        : 0);
	return 0;
}

CURLcode fm_https_only(CURL *curl)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	CURLcode rc = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https");

	return rc != CURLE_OK ? rc : curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "https");
#else
	CURLcode rc = curl_easy_setopt(curl, CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTPS);

	return rc != CURLE_OK
	               ? rc
	               : curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS, (long)CURLPROTO_HTTPS);
#endif
}

/* The options; the first one that libcurl does not take ends the attempt. */
static CURLcode prepare(struct transfer *t)
{
	const char *bundle = getenv("CURL_CA_BUNDLE");
	uint64_t most = t->h->bytes > 0 ? t->h->bytes : t->h->max;
	CURL *c = t->curl;
	CURLcode rc = fm_https_only(c);

#define SET(option, value) rc = rc != CURLE_OK ? rc : curl_easy_setopt(c, option, value)
	SET(CURLOPT_URL, t->h->url);
	SET(CURLOPT_ERRORBUFFER, t->said);
	SET(CURLOPT_USERAGENT, "fleetmark/" FM_VERSION);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FAILONERROR, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 1L);
	SET(CURLOPT_MAXREDIRS, REDIRECTS);
	SET(CURLOPT_UNRESTRICTED_AUTH, 0L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
	SET(CURLOPT_LOW_SPEED_TIME, SLOW_S);
	SET(CURLOPT_TIMEOUT, (long)(WHOLE_S + most / WHOLE_BYTES_S));
	SET(CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)(t->h->max - t->from));
	SET(CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t->from);
	SET(CURLOPT_WRITEFUNCTION, take);
	SET(CURLOPT_WRITEDATA, (void *)t);
	SET(CURLOPT_NOPROGRESS, 0L);
	SET(CURLOPT_XFERINFOFUNCTION, tell);
	SET(CURLOPT_XFERINFODATA, (void *)t);
	if (bundle != NULL && bundle[0] != '\0')
		SET(CURLOPT_CAINFO, bundle);
#undef SET
	return rc;
}

int fm_https_error(const char *url, const char *said, CURLcode rc)
{
	const char *hint = "";
	int code = FM_ERR_DROPPED;
	char text[600];

	if (said == NULL || said[0] == '\0')
		said = curl_easy_strerror(rc);
	switch (rc) {
	case CURLE_OK:
		return FM_OK;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		code = FM_ERR_RESOLVE;
		break;
	case CURLE_OPERATION_TIMEDOUT:
		code = FM_ERR_TIMEOUT;
		break;
	case CURLE_FILESIZE_EXCEEDED:
		code = FM_ERR_SIZE;
		break;
	case CURLE_UNSUPPORTED_PROTOCOL:
		code = FM_ERR_REFUSED;
		hint = "; only https is followed, also where a server sends us on";
		break;
	case CURLE_URL_MALFORMAT:
		code = FM_ERR_CONFIG;
		break;
	case CURLE_OUT_OF_MEMORY:
		code = FM_ERR_MEMORY;
		break;
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
		hint = "; what came is kept, the same command goes on there";
		break;
	default:
		code = FM_ERR_CONNECT;
	}
	return fm_fail(
	        code, "%s: %s%s", url, fm_escape(said, strlen(said), text, sizeof text), hint);
}

/* Our code for a transfer that ended in rc. */
static int translate(const struct transfer *t, CURLcode rc)
{
	return t->failed != FM_OK ? t->failed : fm_https_error(t->h->url, t->said, rc);
}

static bool cannot_resume(const struct transfer *t, CURLcode rc)
{
	return t->from > 0 &&
	       (rc == CURLE_RANGE_ERROR || rc == CURLE_BAD_DOWNLOAD_RESUME ||
	               (rc == CURLE_HTTP_RETURNED_ERROR && status_of(t->curl) == 416));
}

static int once_from(struct transfer *t, bool *again)
{
	CURLcode rc;

	*again = false;
	t->have = t->from;
	t->said[0] = '\0';
	t->failed = FM_OK;
	if ((t->curl = curl_easy_init()) == NULL)
		return fm_fail(FM_ERR_MEMORY, "libcurl: out of memory");
	if ((rc = prepare(t)) == CURLE_OK)
		rc = curl_easy_perform(t->curl);
	*again = cannot_resume(t, rc);
	if (!*again)
		t->failed = translate(t, rc);
	curl_easy_cleanup(t->curl);
	return t->failed;
}

int fm_https_get(const struct fm_https *h, int dirfd, const char *name, bool *resumed)
{
	struct transfer t = {.h = h, .fd = -1};
	bool again = false;
	off_t there;
	int rc;

	*resumed = false;
	if ((rc = fm_https_start()) != FM_OK)
		return rc;
	t.fd = openat(dirfd, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (t.fd < 0 || (there = lseek(t.fd, 0, SEEK_END)) < 0) {
		rc = fm_fail_errno("%s", name);
		goto out;
	}
	if ((uint64_t)there >= h->max || (h->bytes > 0 && (uint64_t)there >= h->bytes))
		again = true; /* cannot be its beginning */
	else
		t.from = (uint64_t)there;
	rc = again ? FM_OK : once_from(&t, &again);
	if (rc == FM_OK && again) {
		t.from = 0;
		rc = ftruncate(t.fd, 0) != 0 ? fm_fail_errno("%s", name) : once_from(&t, &again);
	}
	*resumed = rc == FM_OK && t.from > 0;
	if (rc == FM_OK && fsync(t.fd) != 0)
		rc = fm_fail_errno("%s", name);
	if (rc == FM_ERR_SIZE)
		(void)unlinkat(dirfd, name, 0);
out:
	if (t.fd >= 0)
		close(t.fd);
	return rc;
}
