/* hostkey.c: decides about host keys, and adds the one the operator vouched for. */
#include "orchestrator/hostkey.h"
#include "orchestrator/keyblob.h"
#include "protocol/fs.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define KNOWN_HOSTS     "known_hosts"
#define KNOWN_HOSTS_MAX (16u << 20)
#define FIELDS          6

/* One line of known_hosts, split at blanks; marker NULL or "@revoked" and the like. */
struct entry {
	unsigned number;
	const char *marker, *names, *type, *base64;
	bool carriage_return, blank;
};

struct reader {
	char *copy, *next;
	unsigned number;
};

static int reader_open(struct reader *r, const struct fm_buf *text)
{
	memset(r, 0, sizeof *r);
	if (text == NULL || text->len == 0)
		return FM_OK;
	r->copy = fm_alloc(text->len + 1);
	if (r->copy == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < text->len; i++)
		r->copy[i] = text->data[i] != '\0' ? text->data[i] : '?';
	r->next = r->copy;
	return FM_OK;
}

static bool reader_next(struct reader *r, struct entry *e)
{
	char *line = r->next, *end, *field[FIELDS] = {NULL}, *save = NULL;
	int n = 0;

	if (line == NULL || *line == '\0')
		return false;
	end = strchr(line, '\n');
	r->next = end != NULL ? end + 1 : line + strlen(line);
	if (end != NULL)
		*end = '\0';
	*e = (struct entry){.number = ++r->number};
	e->carriage_return = line[0] != '\0' && line[strlen(line) - 1] == '\r';
	for (char *w = strtok_r(line, " \t\r", &save); w != NULL && n < FIELDS;
	        w = strtok_r(NULL, " \t\r", &save))
		field[n++] = w;
	e->blank = n == 0 || field[0][0] == '#';
	n = 0;
	if (!e->blank && field[0][0] == '@')
		e->marker = field[n++];
	e->names = field[n];
	e->type = field[n] != NULL ? field[n + 1] : NULL;
	e->base64 = e->type != NULL ? field[n + 2] : NULL;
	return true;
}

static bool readable(const struct entry *e)
{
	return e->blank || (e->base64 != NULL && (strncmp(e->type, "ssh-", 4) == 0 ||
	                                                 strncmp(e->type, "ecdsa-", 6) == 0 ||
	                                                 strncmp(e->type, "sk-", 3) == 0));
}

static bool same_key(const struct entry *e, const struct fm_hostkey *k)
{
	return e->base64 != NULL && strcmp(e->type, k->type) == 0 &&
	       strcmp(e->base64, k->base64) == 0;
}

/* Is name one of the comma separated names, word for word? */
static bool names_hold(const char *names, const char *name)
{
	size_t len = strlen(name);

	while (names != NULL && *names != '\0') {
		size_t n = strcspn(names, ",");

		if (n == len && strncasecmp(names, name, n) == 0)
			return true;
		names += n + (names[n] == ',');
	}
	return false;
}

char *fm_hostkey_name(const char *host, int port, char *out, size_t size)
{
	if (port == 22 || port == 0)
		snprintf(out, size, "%s", host);
	else
		snprintf(out, size, "[%s]:%d", host, port);
	return out;
}

/* What can be seen in the file. */
struct sight {
	unsigned revoked, garbage, carriage_return, portless; /* line numbers; 0: none */
	bool empty;
	char held[51]; /* fingerprint of a key it holds for this name, "" if none is readable */
};

/* Of the same type if there is one, else of any. */
static int see_held(
        const struct fm_hostkey *k, const struct entry *e, struct sight *s, bool *same_type)
{
	struct fm_buf blob = FM_BUF_INIT(64u << 10);
	bool same = e->base64 != NULL && strcmp(e->type, k->type) == 0;
	int rc = FM_OK;

	if (e->base64 == NULL || (s->held[0] != '\0' && (*same_type || !same)))
		return FM_OK;
	rc = fm_keyblob_decode(e->base64, &blob);
	if (rc == FM_OK && blob.len > 0) {
		fm_keyblob_print(&blob, s->held);
		*same_type = same;
	}
	fm_buf_free(&blob);
	return rc;
}

static int look(const struct fm_hostkey *k, const struct fm_buf *text, struct sight *s)
{
	struct reader r;
	struct entry e;
	char name[300];
	bool same_type = false;
	int rc = reader_open(&r, text);

	*s = (struct sight){.empty = true};
	fm_hostkey_name(k->host, k->port, name, sizeof name);
	while (rc == FM_OK && reader_next(&r, &e)) {
		if (e.blank)
			continue;
		s->empty = false;
		if (e.marker != NULL && strcmp(e.marker, "@revoked") == 0 && same_key(&e, k))
			s->revoked = e.number;
		if (!readable(&e) && s->garbage == 0)
			s->garbage = e.number;
		if (e.marker == NULL && e.carriage_return && names_hold(e.names, name))
			s->carriage_return = e.number;
		if (e.marker == NULL && !same_key(&e, k) && names_hold(e.names, name))
			rc = see_held(k, &e, s, &same_type);
		if (e.marker == NULL && k->port != 22 && names_hold(e.names, k->host) &&
		        same_key(&e, k))
			s->portless = e.number;
	}
	free(r.copy);
	return rc;
}

static int unknown(const struct fm_hostkey *k, const char *file, const struct fm_buf *text,
        const struct sight *s)
{
	char hint[400];

	if (text == NULL)
		snprintf(hint, sizeof hint, "there is no %s", file);
	else if (s->empty)
		snprintf(hint, sizeof hint, "%s is empty", file);
	else if (s->carriage_return != 0)
		snprintf(hint, sizeof hint, "%s line %u ends in a carriage return: remove it", file,
		        s->carriage_return);
	else if (s->portless != 0)
		snprintf(hint, sizeof hint,
		        "%s line %u holds this key for %s without a port: it must be [%s]:%d", file,
		        s->portless, k->host, k->host, k->port);
	else
		snprintf(hint, sizeof hint, "%s does not hold it", file);
	return fm_fail(FM_ERR_HOSTKEY_UNKNOWN,
	        "%s port %d offers host key %s (%s), which is not known: %s", k->host, k->port,
	        k->fingerprint, k->type, hint);
}

int fm_hostkey_decide(const struct fm_hostkey *k, const char *pin, enum fm_hostkey_verdict verdict,
        const char *file, const struct fm_buf *text, char *warn, size_t size)
{
	struct sight s;
	int rc = look(k, text, &s);

	warn[0] = '\0';
	if (rc != FM_OK)
		return rc;
	if (s.revoked != 0)
		return fm_fail(FM_ERR_HOSTKEY_REVOKED,
		        "%s port %d offers host key %s, which %s line %u revokes", k->host, k->port,
		        k->fingerprint, file, s.revoked);
	if (pin != NULL) {
		if (strcmp(pin, k->fingerprint) == 0)
			return FM_OK;
		return fm_fail(FM_ERR_HOSTKEY_PIN,
		        "%s port %d offers host key %s (%s), the inventory pins %s", k->host,
		        k->port, k->fingerprint, k->type, pin);
	}
	switch (verdict) {
	case FM_HOSTKEY_OK:
		if (s.garbage != 0)
			snprintf(warn, size, "%s line %u cannot be read and was passed over", file,
			        s.garbage);
		return FM_OK;
	case FM_HOSTKEY_IS_CHANGED:
		return fm_fail(FM_ERR_HOSTKEY_CHANGED,
		        "%s port %d offers host key %s, %s holds %s: the host was installed anew, "
		        "or "
		        "somebody stands in between",
		        k->host, k->port, k->fingerprint, file,
		        s.held[0] != '\0' ? s.held : "another one of this type");
	case FM_HOSTKEY_IS_OTHER:
		return fm_fail(FM_ERR_HOSTKEY_OTHER,
		        "%s port %d offers a %s key %s, %s holds only a key of another type (%s)",
		        k->host, k->port, k->type, k->fingerprint, file,
		        s.held[0] != '\0' ? s.held : "not readable");
	default:
		return unknown(k, file, text, &s);
	}
}

/* The old text without the line this one replaces, and the new line behind it. */
static int with_line(const struct fm_hostkey *k, const struct fm_buf *old, struct fm_buf *out)
{
	char name[300];
	const char *at = old->len > 0 ? old->data : "";
	struct reader r;
	struct entry e;
	int rc = reader_open(&r, old);

	fm_hostkey_name(k->host, k->port, name, sizeof name);
	while (rc == FM_OK && *at != '\0') {
		size_t n = strcspn(at, "\n");
		bool drop = reader_next(&r, &e) && !e.blank && e.marker == NULL && e.type != NULL &&
		            strcmp(e.names, name) == 0 && strcmp(e.type, k->type) == 0;

		if (!drop)
			rc = fm_buf_put(out, at, n);
		if (rc == FM_OK && !drop)
			rc = fm_buf_puts(out, "\n");
		at += n + (at[n] == '\n');
	}
	if (rc == FM_OK)
		rc = fm_buf_printf(out, "%s %s %s\n", name, k->type, k->base64);
	free(r.copy);
	return rc;
}

int fm_hostkey_add(int dirfd, const struct fm_hostkey *k)
{
	struct fm_buf old = FM_BUF_INIT(KNOWN_HOSTS_MAX), now = FM_BUF_INIT(2 * KNOWN_HOSTS_MAX);
	int lock = -1;
	int rc = fm_fs_lock(dirfd, KNOWN_HOSTS ".lock", &lock);

	if (rc == FM_OK) {
		errno = 0;
		rc = fm_fs_read(dirfd, KNOWN_HOSTS, KNOWN_HOSTS_MAX, &old);
		if (rc != FM_OK && errno == ENOENT)
			rc = FM_OK;
	}
	if (rc == FM_OK)
		rc = with_line(k, &old, &now);
	if (rc == FM_OK)
		rc = fm_fs_write(dirfd, KNOWN_HOSTS, now.data, now.len, 0644);
	if (lock >= 0)
		close(lock);
	fm_buf_free(&old);
	fm_buf_free(&now);
	return rc;
}
