/* https_site.c: a server that takes files by PUT: asked for sizes, written to, read back;
 * credentials stay in here. */
#include "orchestrator/https_parts.h"
#include "protocol/buf.h"
#include "protocol/digest.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECT_MS 10000L
#define SLOW_BYTES 1024L
#define SLOW_S     30L
#define WHOLE_S    600L
#define URL_MAX    2000

struct fm_https_site {
	CURL *curl;
	char *base;            /* without credentials, ends with / */
	char *user, *password; /* NULL: none in the URL */
	char *netrc;
	char said[CURL_ERROR_SIZE];
	/* the running transfer */
	int fd;
	uint64_t max, have;
	struct fm_sha256 hash;
	int failed;
};

static void wipe(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

/* A file with credentials must be readable by nobody else. */
static int check_netrc(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), rc = FM_OK;

	if (fd < 0 || fstat(fd, &st) != 0)
		rc = fm_fail(FM_ERR_USAGE, "--netrc %s: cannot be opened as a plain file", path);
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		rc = fm_fail(FM_ERR_USAGE,
		        "--netrc %s: must be a plain file of yours that nobody else can read "
		        "(chmod 600)",
		        path);
	if (fd >= 0)
		close(fd);
	return rc;
}

static char *part(CURLU *u, CURLUPart which, unsigned flags)
{
	char *text = NULL, *copy;

	if (curl_url_get(u, which, &text, flags) != CURLUE_OK || text == NULL)
		return NULL;
	copy = fm_strdup(text);
	explicit_bzero(text, strlen(text));
	curl_free(text);
	return copy;
}

/* Takes the credentials out of the URL and keeps the rest. The URL itself is never shown: an error
 * in it may be an error in its password. */
static int take_url(struct fm_https_site *s, const char *url)
{
	CURLU *u = curl_url();
	char *base = NULL, *more = NULL, *scheme = NULL;
	int rc = FM_ERR_MEMORY;

	if (u == NULL)
		return fm_fail(rc, "libcurl: out of memory");
	if (strlen(url) > URL_MAX || curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK) {
		rc = fm_fail(FM_ERR_USAGE, "not a URL; expected https://HOST/FOLDER");
		goto out;
	}
	s->user = part(u, CURLUPART_USER, CURLU_URLDECODE);
	s->password = part(u, CURLUPART_PASSWORD, CURLU_URLDECODE);
	scheme = part(u, CURLUPART_SCHEME, 0);
	more = part(u, CURLUPART_QUERY, 0);
	if (more == NULL)
		more = part(u, CURLUPART_FRAGMENT, 0);
	(void)curl_url_set(u, CURLUPART_USER, NULL, 0);
	(void)curl_url_set(u, CURLUPART_PASSWORD, NULL, 0);
	base = part(u, CURLUPART_URL, 0);
	if (base == NULL)
		goto out;
	if (scheme == NULL || strcmp(scheme, "https") != 0 || more != NULL) {
		rc = fm_fail(
		        FM_ERR_USAGE, "%s: expected https://HOST/FOLDER, without ? and #", base);
		goto out;
	}
	s->base = fm_sprintf("%s%s", base, base[strlen(base) - 1] == '/' ? "" : "/");
	rc = s->base == NULL ? FM_ERR_MEMORY : FM_OK;
out:
	free(base);
	free(scheme);
	wipe(more);
	curl_url_cleanup(u);
	return rc;
}

int fm_https_site_open(struct fm_https_site **out, const char *url, const char *netrc)
{
	struct fm_https_site *s;
	int rc;

	*out = NULL;
	if ((rc = fm_https_start()) != FM_OK || (s = fm_alloc(sizeof *s)) == NULL)
		return rc != FM_OK ? rc : FM_ERR_MEMORY;
	s->fd = -1;
	if ((rc = take_url(s, url)) == FM_OK && netrc != NULL)
		rc = (s->netrc = fm_strdup(netrc)) == NULL ? FM_ERR_MEMORY : check_netrc(netrc);
	if (rc == FM_OK && (s->curl = curl_easy_init()) == NULL)
		rc = fm_fail(FM_ERR_MEMORY, "libcurl: out of memory");
	if (rc != FM_OK) {
		fm_https_site_close(s);
		return rc;
	}
	*out = s;
	return FM_OK;
}

void fm_https_site_close(struct fm_https_site *s)
{
	if (s == NULL)
		return;
	if (s->curl != NULL)
		curl_easy_cleanup(s->curl);
	wipe(s->user);
	wipe(s->password);
	free(s->netrc);
	free(s->base);
	free(s);
}

bool fm_https_site_password(const struct fm_https_site *s)
{
	return s->user != NULL || s->password != NULL;
}

const char *fm_https_site_url(const struct fm_https_site *s)
{
	return s->base;
}

static size_t drop(char *bytes, size_t one, size_t count, void *arg)
{
	(void)bytes;
	(void)arg;
	return one * count;
}

static size_t take(char *bytes, size_t one, size_t count, void *arg)
{
	struct fm_https_site *s = arg;
	size_t len = one * count;

	if (len > s->max - s->have) {
		s->failed = FM_ERR_SIZE;
		return 0;
	}
	fm_sha256_add(&s->hash, bytes, len);
	s->have += len;
	return len;
}

static size_t give(char *bytes, size_t one, size_t count, void *arg)
{
	struct fm_https_site *s = arg;
	ssize_t n = read(s->fd, bytes, one * count);

	if (n < 0)
		s->failed = fm_fail_errno("reading what is sent");
	return n < 0 ? CURL_READFUNC_ABORT : (size_t)n;
}

/* The server may ask for the body again, after it asked for the password. */
static int rewind_file(void *arg, curl_off_t offset, int origin)
{
	const struct fm_https_site *s = arg;

	return lseek(s->fd, (off_t)offset, origin) < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

static CURLcode prepare(struct fm_https_site *s, const char *url)
{
	const char *bundle = getenv("CURL_CA_BUNDLE");
	CURL *c = s->curl;
	CURLcode rc;

	curl_easy_reset(c); /* keeps the connection */
	s->said[0] = '\0';
	s->failed = FM_OK;
	rc = fm_https_only(c);
#define SET(option, value) rc = rc != CURLE_OK ? rc : curl_easy_setopt(c, option, value)
	SET(CURLOPT_URL, url);
	SET(CURLOPT_ERRORBUFFER, s->said);
	SET(CURLOPT_USERAGENT, "fleetmark/" FM_VERSION);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
	SET(CURLOPT_LOW_SPEED_TIME, SLOW_S);
	SET(CURLOPT_TIMEOUT, WHOLE_S);
	SET(CURLOPT_WRITEFUNCTION, drop);
	SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC); /* at once, not after a refusal */
	if (s->user != NULL)
		SET(CURLOPT_USERNAME, s->user);
	if (s->password != NULL)
		SET(CURLOPT_PASSWORD, s->password);
	if (s->netrc != NULL) {
		SET(CURLOPT_NETRC, (long)CURL_NETRC_REQUIRED);
		SET(CURLOPT_NETRC_FILE, s->netrc);
	}
	if (bundle != NULL && bundle[0] != '\0')
		SET(CURLOPT_CAINFO, bundle);
#undef SET
	return rc;
}

static int perform(struct fm_https_site *s, const char *url, CURLcode rc, long *status)
{
	*status = 0;
	if (rc == CURLE_OK)
		rc = curl_easy_perform(s->curl);
	if (s->failed == FM_ERR_SIZE)
		return fm_fail(
		        FM_ERR_SIZE, "%s: more than %llu bytes", url, (unsigned long long)s->max);
	if (s->failed != FM_OK)
		return s->failed;
	if (rc != CURLE_OK)
		return fm_https_error(url, s->said, rc);
	(void)curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, status);
	if (*status == 401 || *status == 403)
		return fm_fail(FM_ERR_AUTH,
		        "%s: the server wants another user or password (status %ld); give them "
		        "with --netrc FILE",
		        url, *status);
	return FM_OK;
}

static int unexpected(const char *url, const char *what, long status)
{
	return fm_fail(
	        FM_ERR_CONNECT, "%s: %s: the server answered with status %ld", url, what, status);
}

int fm_https_site_size(struct fm_https_site *s, const char *path, int64_t *size)
{
	char *url = fm_sprintf("%s%s", s->base, path);
	curl_off_t length = -1;
	CURLcode c;
	long status;
	int rc = FM_ERR_MEMORY;

	*size = -1;
	if (url == NULL)
		return rc;
	if ((c = prepare(s, url)) == CURLE_OK)
		c = curl_easy_setopt(s->curl, CURLOPT_NOBODY, 1L);
	rc = perform(s, url, c, &status);
	if (rc == FM_OK && status == 200) {
		(void)curl_easy_getinfo(s->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
		*size = (int64_t)length;
	} else if (rc == FM_OK && status != 404 && status != 410 && status != 405) {
		rc = unexpected(url, "HEAD", status);
	}
	free(url);
	return rc;
}

int fm_https_site_digest(struct fm_https_site *s, const char *path, uint64_t max, char hex[65])
{
	char *url = fm_sprintf("%s%s", s->base, path);
	CURLcode c;
	long status;
	int rc = FM_ERR_MEMORY;

	hex[0] = '\0';
	if (url == NULL)
		return rc;
	s->max = max;
	s->have = 0;
	fm_sha256_start(&s->hash);
	if ((c = prepare(s, url)) == CURLE_OK &&
	        (c = curl_easy_setopt(s->curl, CURLOPT_WRITEFUNCTION, take)) == CURLE_OK)
		c = curl_easy_setopt(s->curl, CURLOPT_WRITEDATA, (void *)s);
	rc = perform(s, url, c, &status);
	if (rc == FM_OK && status == 200)
		fm_sha256_end(&s->hash, hex);
	else if (rc == FM_OK && status != 404 && status != 410)
		rc = unexpected(url, "GET", status);
	free(url);
	return rc;
}

int fm_https_site_put(struct fm_https_site *s, const char *path, int fd, uint64_t size)
{
	char *url = fm_sprintf("%s%s", s->base, path);
	CURLcode c;
	long status;
	int rc = FM_ERR_MEMORY;

	if (url == NULL)
		return rc;
	s->fd = fd;
	c = prepare(s, url);
#define SET(option, value) c = c != CURLE_OK ? c : curl_easy_setopt(s->curl, option, value)
	SET(CURLOPT_UPLOAD, 1L);
	SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)size);
	SET(CURLOPT_READFUNCTION, give);
	SET(CURLOPT_READDATA, (void *)s);
	SET(CURLOPT_SEEKFUNCTION, rewind_file);
	SET(CURLOPT_SEEKDATA, (void *)s);
#undef SET
	rc = perform(s, url, c, &status);
	s->fd = -1;
	if (rc == FM_OK && status != 200 && status != 201 && status != 204)
		rc = unexpected(url, "PUT", status);
	free(url);
	return rc;
}

/* 405: it is there, or the server knows no folders; 501: it does not know the word. */
int fm_https_site_mkcol(struct fm_https_site *s, const char *path)
{
	char *url = fm_sprintf("%s%s%s", s->base, path, path[0] == '\0' ? "" : "/");
	CURLcode c;
	long status;
	int rc = FM_ERR_MEMORY;

	if (url == NULL)
		return rc;
	if ((c = prepare(s, url)) == CURLE_OK)
		c = curl_easy_setopt(s->curl, CURLOPT_CUSTOMREQUEST, "MKCOL");
	rc = perform(s, url, c, &status);
	if (rc == FM_OK && status != 201 && status != 200 && status != 405 && status != 501)
		rc = unexpected(url, "MKCOL", status);
	free(url);
	return rc;
}
