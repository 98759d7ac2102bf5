/* accept_samples.c: the files of a bundle against its evidence: every name explained, every sample
 * file well formed, counts as stated. */
#include "orchestrator/accept_parts.h"
#include "orchestrator/samples.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_MAX (16384u * (FM_PATH_MAX + 68))

/* What file names begin with: <instance>__<version>__<operation> of a cell, or
 * <instance>__<version> of a build (cell NULL). */
struct stem {
	char name[3 * FM_NAME_MAX + 8];
	const struct fm_ev_cell *cell;
	const struct fm_ev_build *build;
	const struct fm_ev_measured *measured; /* NULL: no figures */
	bool has_files;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct stem *)a)->name, ((const struct stem *)b)->name);
}

/* All stems, sorted. Measured cells stand in the order of the cells. */
static int make_stems(const struct fm_evidence *e, struct stem **out, size_t *count)
{
	size_t n = 0, measured = 0;
	struct stem *s = fm_alloc_array(e->cell_count + e->build_count + 1, sizeof *s);

	if (s == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < e->cell_count; i++, n++) {
		const struct fm_ev_cell *c = &e->cells[i];

		(void)snprintf(s[n].name, sizeof s[n].name, "%s__%s__%s", c->instance, c->version,
		        c->operation);
		s[n].cell = c;
		if (strcmp(c->status, "measured") == 0)
			s[n].measured = &e->measured[measured++];
	}
	for (size_t i = 0; i < e->build_count; i++, n++) {
		s[n].build = &e->builds[i];
		(void)snprintf(s[n].name, sizeof s[n].name, "%s__%s", s[n].build->instance,
		        s[n].build->version);
	}
	qsort(s, n, sizeof *s, by_name);
	*out = s;
	*count = n;
	return FM_OK;
}

/* The stem in <folder><stem><tail>, which must be one of a cell, or of a build. */
static struct stem *stem_of(struct stem *list, size_t count, const char *path, const char *folder,
        const char *tail, bool cell)
{
	size_t skip = strlen(folder), len = strlen(path), end = strlen(tail);
	struct stem key, *found;

	if (len <= skip + end || len - skip - end >= sizeof key.name ||
	        strncmp(path, folder, skip) != 0 || strcmp(path + len - end, tail) != 0)
		return NULL;
	memcpy(key.name, path + skip, len - skip - end);
	key.name[len - skip - end] = '\0';
	found = bsearch(&key, list, count, sizeof key, by_name);
	return found != NULL && (found->cell != NULL) == cell ? found : NULL;
}

static bool plain_name(const char *path)
{
	static const char *const plain[] = {
	        "evidence.json", "build/SOURCES.sha256", "build/commands.txt", "env/host.txt"};

	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (strcmp(path, plain[i]) == 0)
			return true;
	return false;
}

/* One file of the manifest; false if nothing explains it. */
static bool name_known(struct stem *list, size_t count, const char *path)
{
	static const char *const columns[] = {".process.txt", ".calls.txt", ".ns.txt",
	        ".core_cycles.txt", ".ref_ticks.txt", ".events.txt"};
	struct stem *s = stem_of(list, count, path, "env/", ".process.tsv", true);

	for (size_t i = 0; s == NULL && i < sizeof columns / sizeof *columns; i++)
		s = stem_of(list, count, path, "samples/", columns[i], true);
	if (s != NULL)
		return s->has_files = true;
	if (stem_of(list, count, path, "build/", ".log", false) != NULL || plain_name(path))
		return true;
	s = stem_of(list, count, path, "kat/", ".log", false);
	return s != NULL && strcmp(s->build->status, "ok") == 0;
}

/* Every name of the bundle is explained, and what every bundle has is there. */
static int check_names(struct fm_accept *c, struct stem *list, size_t count)
{
	struct fm_buf text = FM_BUF_INIT(MANIFEST_MAX);
	struct fm_manifest m = {0};
	size_t plain = 0, logs = 0;
	int rc;

	if ((rc = fm_fs_read(c->dirfd, FM_MANIFEST_NAME, MANIFEST_MAX, &text)) != FM_OK ||
	        (rc = fm_manifest_parse(
	                 text.data, text.len, fm_seal_limits(FM_SEAL_BUNDLE)->files, &m)) != FM_OK)
		goto out;
	for (size_t i = 0; i < m.count; i++) {
		if (!name_known(list, count, m.entries[i].path))
			fm_accept_find(c, FM_ERR_SAMPLES, m.entries[i].path,
			        "belongs to no cell or build of this bundle");
		plain += plain_name(m.entries[i].path);
		logs += strncmp(m.entries[i].path, "build/", 6) == 0;
	}
	/* of build/ two are plain names, the others logs, one a build */
	if (c->first == FM_OK && (plain != 4 || logs != c->e->build_count + 2))
		fm_accept_find(c, FM_ERR_SAMPLES, FM_MANIFEST_NAME,
		        "build/commands.txt, env/host.txt or the log of a build is missing");
out:
	fm_manifest_free(&m);
	fm_buf_free(&text);
	return rc;
}

/* The message is prescribed: byte i = (131 i + bytes) mod 256. */
static bool message_ok(const struct fm_ev_measured *m)
{
	unsigned char block[256];
	struct fm_sha256 h;
	char hex[65];

	for (unsigned i = 0; i < sizeof block; i++)
		block[i] = (unsigned char)(131 * i + (uint64_t)m->bytes);
	fm_sha256_start(&h);
	for (uint64_t left = (uint64_t)m->bytes; left > 0;) {
		size_t n = left < sizeof block ? (size_t)left : sizeof block;

		fm_sha256_add(&h, block, n);
		left -= n;
	}
	fm_sha256_end(&h, hex);
	return strcmp(hex, m->message_sha256) == 0;
}

static void compare(
        struct fm_accept *c, const char *where, const char *what, uint64_t got, int64_t stated)
{
	if (stated < 0 || got != (uint64_t)stated)
		fm_accept_find(c, FM_ERR_SAMPLES, where, "%llu %s, evidence.json states %lld",
		        (unsigned long long)got, what, (long long)stated);
}

static void check_counts(
        struct fm_accept *c, const struct stem *s, const struct fm_samples *samples)
{
	const struct fm_ev_measured *m = s->measured;
	char where[sizeof s->name + 24];
	uint64_t calls;

	(void)snprintf(where, sizeof where, "env/%s.process.tsv", s->name);
	compare(c, where, "accepted processes",
	        fm_samples_count(samples, FM_STATE_ACCEPTED, &calls), m->accepted);
	compare(c, where, "replaced processes", fm_samples_count(samples, FM_STATE_REPLACED, NULL),
	        m->replaced);
	compare(c, where, "invalid processes", fm_samples_count(samples, FM_STATE_INVALID, NULL),
	        m->invalid);
	compare(c, where, "calls in accepted processes", calls, m->calls);
}

static int check_stem(struct fm_accept *c, const struct stem *s)
{
	struct fm_samples samples;
	char where[sizeof s->name + 12], text[512];
	int rc;

	if (s->measured == NULL && !s->has_files)
		return FM_OK;
	(void)snprintf(where, sizeof where, "samples/%s", s->name);
	rc = fm_samples_read(c->dirfd, s->name, c->e->counter.label, &samples);
	if (rc == FM_ERR_MEMORY)
		return rc;
	if (rc != FM_OK) {
		(void)snprintf(text, sizeof text, "%s", fm_error_text());
		fm_accept_find(c, FM_ERR_SAMPLES, where, "%s", text);
		return FM_OK;
	}
	if (s->measured != NULL) {
		check_counts(c, s, &samples);
		if (!message_ok(s->measured))
			fm_accept_find(c, FM_ERR_SAMPLES, where,
			        "message_sha256 in evidence.json is not the prescribed message's");
	}
	fm_samples_free(&samples);
	return FM_OK;
}

int fm_accept_samples(struct fm_accept *c)
{
	struct stem *list = NULL;
	size_t count = 0;
	int rc = make_stems(c->e, &list, &count);

	if (rc == FM_OK)
		rc = check_names(c, list, count);
	for (size_t i = 0; rc == FM_OK && i < count; i++)
		if (list[i].cell != NULL)
			rc = check_stem(c, &list[i]);
	free(list);
	return rc;
}
