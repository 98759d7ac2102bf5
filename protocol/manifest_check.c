/* manifest_check.c: compares a folder with the lines of its manifest: one thread goes along the
 * names while the others read the files. */
#include "protocol/manifest_parts.h"
#include "protocol/path.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTION   32 /* lines that a thread takes at a time */
#define FEW_FILES 256

/* What is known of a line, a byte each. */
enum { LINE_MISSING = 1, LINE_OTHER = 2, LINE_UNREAD = 4 };

struct check {
	struct fm_manifest_seen seen;
	const struct fm_manifest_source *source;
	atomic_uchar *state; /* of each line */
	fm_manifest_report *report;
	void *arg;
	int rc;      /* of the first finding */
	char *first; /* its text */
	/* along the names */
	void *pass;
	struct fm_manifest_entry line; /* that no file was compared with yet */
	bool ended;
	size_t number; /* of that line, from 0 */
	/* reading */
	pthread_mutex_t lock; /* of the six below */
	void *reading;        /* a pass */
	int lines;            /* how that pass ended: 0, or an error */
	size_t taken;         /* lines */
	uint64_t bytes;
	bool stop, found; /* nothing more is to be read; some line is not as it should be */
};

static void finding(struct check *c, const char *path, const char *what)
{
	if (c->report != NULL)
		c->report(c->arg, path, what);
	if (c->rc == FM_OK) {
		c->rc = FM_ERR_DIGEST;
		c->first = fm_sprintf("%s: %s", path, what);
	}
}

/* ---- names ---- */

/* FM_OK with the next line, or with ended. */
static int advance(struct check *c)
{
	int rc = c->source->next(c->pass, &c->line);

	c->ended = rc <= 0;
	return rc > 0 ? FM_OK : rc;
}

static int missing(struct check *c)
{
	finding(c, c->line.path, "missing");
	if (c->number < c->source->count)
		atomic_fetch_or(&c->state[c->number], LINE_MISSING);
	c->number++;
	return advance(c);
}

static int compare_name(void *arg, const char *path, const struct stat *st)
{
	struct check *c = arg;
	bool named;
	int rc = fm_manifest_judge(&c->seen, path, st, &named), order = -1;

	if (rc != FM_OK || !named)
		return rc;
	while (!c->ended && (order = strcmp(c->line.path, path)) < 0)
		if ((rc = missing(c)) != FM_OK)
			return rc;
	if (c->ended || order != 0) {
		finding(c, path, "extra");
		return FM_OK;
	}
	c->number++;
	return advance(c);
}

static int compare_names(struct check *c)
{
	int rc;

	if ((rc = advance(c)) != FM_OK ||
	        (rc = fm_manifest_walk(&c->seen, compare_name, c)) != FM_OK)
		return rc;
	while (rc == FM_OK && !c->ended)
		rc = missing(c);
	return rc;
}

/* ---- digests ---- */

struct portion {
	size_t first, count;
	struct {
		char hex[65], path[FM_PATH_MAX + 1];
	} line[PORTION];
};

/* The next lines; none at the end, which is asked for: only behind it the lines are known to be
 * those that were signed. */
static void take(struct check *c, struct portion *p)
{
	struct fm_manifest_entry e;
	int rc;

	pthread_mutex_lock(&c->lock);
	p->first = c->taken;
	p->count = 0;
	while (p->count < PORTION && !c->stop) {
		rc = c->source->next(c->reading, &e);
		if (rc > 0 && c->taken == c->source->count)
			rc = FM_ERR_DIGEST; /* there were not that many */
		if (rc <= 0) {
			c->lines = rc;
			c->stop = true;
			break;
		}
		memcpy(p->line[p->count].hex, e.hex, sizeof p->line->hex);
		(void)snprintf(p->line[p->count].path, sizeof p->line->path, "%s", e.path);
		p->count++;
		c->taken++;
	}
	pthread_mutex_unlock(&c->lock);
}

static bool too_many_bytes(const struct check *c)
{
	uint64_t most = fm_seal_limits(c->seen.kind)->all_bytes;

	return most != 0 && c->bytes > most;
}

static void put(struct check *c, uint64_t bytes, bool found)
{
	pthread_mutex_lock(&c->lock);
	c->bytes += bytes;
	c->found |= found;
	c->stop |= too_many_bytes(c);
	pthread_mutex_unlock(&c->lock);
}

static void *read_files(void *arg)
{
	struct check *c = arg;
	uint64_t most = fm_seal_limits(c->seen.kind)->file_bytes;
	struct portion p;

	for (take(c, &p); p.count > 0; take(c, &p)) {
		uint64_t bytes = 0;
		bool found = false;

		for (size_t i = 0; i < p.count; i++) {
			char hex[65];
			off_t size = 0;
			int rc = fm_fs_sha256_max(c->seen.dirfd, p.line[i].path, most, hex, &size);

			bytes += (uint64_t)size;
			if (rc == FM_OK && strcmp(hex, p.line[i].hex) == 0)
				continue;
			found = true;
			atomic_fetch_or(
			        &c->state[p.first + i], rc == FM_OK ? LINE_OTHER : LINE_UNREAD);
		}
		put(c, bytes, found);
	}
	return NULL;
}

/* One more pass over the lines, for those that are not as they should be. */
static int tell_digests(struct check *c)
{
	void *pass = c->source->begin(c->source->of);
	struct fm_manifest_entry e;
	int rc = pass == NULL ? FM_ERR_MEMORY : FM_OK, more = 1;

	for (size_t i = 0; rc == FM_OK && (more = c->source->next(pass, &e)) > 0; i++) {
		unsigned char state = i < c->source->count ? atomic_load(&c->state[i]) : 0;

		if ((state & LINE_MISSING) != 0)
			continue; /* told with the names */
		if ((state & LINE_UNREAD) != 0)
			rc = fm_manifest_repeat(c->seen.dirfd, e.path, FM_ERR_SYSTEM);
		else if ((state & LINE_OTHER) != 0)
			finding(c, e.path, "digest");
	}
	if (pass != NULL)
		c->source->end(pass);
	return rc != FM_OK ? rc : more < 0 ? more : FM_OK;
}

/* This thread goes along the names, then helps the others to read. */
static int compare(struct check *c)
{
	pthread_t thread[FM_MANIFEST_THREADS];
	size_t more = c->source->count < FEW_FILES ? 0 : fm_manifest_threads() - 1, extra = 0;
	int rc;

	while (extra < more && pthread_create(&thread[extra], NULL, read_files, c) == 0)
		extra++;
	if ((rc = compare_names(c)) == FM_OK)
		read_files(c);
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_mutex_unlock(&c->lock);
	while (extra > 0)
		pthread_join(thread[--extra], NULL);
	if (rc == FM_OK && c->lines != 0)
		rc = fm_fail(c->lines, "manifest: was changed while its files were read");
	if (rc == FM_OK && c->found)
		rc = tell_digests(c);
	if (rc == FM_OK && too_many_bytes(c))
		rc = fm_fail(FM_ERR_SIZE, "the files grew while they were read");
	return rc;
}

int fm_manifest_check_lines(int dirfd, enum fm_seal_kind kind,
        const struct fm_manifest_source *source, fm_manifest_report *report, void *arg)
{
	struct check c = {.seen = {.kind = kind, .dirfd = dirfd},
	        .source = source,
	        .state = fm_alloc_array(source->count + 1, sizeof *c.state),
	        .report = report,
	        .arg = arg,
	        .pass = source->begin(source->of),
	        .reading = source->begin(source->of)};
	int rc = FM_ERR_MEMORY;

	if (c.state != NULL && c.pass != NULL && c.reading != NULL) {
		pthread_mutex_init(&c.lock, NULL);
		rc = compare(&c);
		pthread_mutex_destroy(&c.lock);
	}
	if (rc == FM_OK && c.rc != FM_OK)
		rc = fm_fail(c.rc, "%s", c.first != NULL ? c.first : "files differ");
	if (c.pass != NULL)
		source->end(c.pass);
	if (c.reading != NULL)
		source->end(c.reading);
	free(c.first);
	free(c.state);
	return rc;
}

/* ---- the lines of a manifest in memory ---- */

struct held {
	const struct fm_manifest *m;
	size_t next;
};

static void *begin_held(const void *of)
{
	struct held *h = fm_alloc(sizeof *h);

	if (h != NULL)
		h->m = of;
	return h;
}

static int next_held(void *pass, struct fm_manifest_entry *e)
{
	struct held *h = pass;

	if (h->next == h->m->count)
		return 0;
	*e = h->m->entries[h->next++];
	return 1;
}

int fm_manifest_check(int dirfd, enum fm_seal_kind kind, const struct fm_manifest *m,
        fm_manifest_report *report, void *arg)
{
	struct fm_manifest_source source = {begin_held, next_held, free, m, m->count};

	return fm_manifest_check_lines(dirfd, kind, &source, report, arg);
}
