/* accept_samples.c: the raw samples of a bundle against what its evidence says of them. */
#include "orchestrator/accept_samples.h"
#include "orchestrator/samples.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANIFEST_MAX (16384u * (FM_PATH_MAX + 68))

static int compare_number(const char *stem, const char *what, uint64_t got, int64_t stated)
{
	if (stated >= 0 && got == (uint64_t)stated)
		return FM_OK;
	return fm_fail(FM_ERR_SAMPLES, "%s: %llu %s, evidence.json states %lld", stem,
	        (unsigned long long)got, what, (long long)stated);
}

/* The message is prescribed: byte i = (131 i + bytes) mod 256. */
static int check_message(const char *stem, const struct fm_ev_measured *m)
{
	struct fm_sha256 h;
	unsigned char byte;
	char hex[65];

	if (m->bytes < 1 || m->bytes > 16777216)
		return fm_fail(FM_ERR_SAMPLES, "%s: bytes is %lld", stem, (long long)m->bytes);
	fm_sha256_start(&h);
	for (uint64_t i = 0; i < (uint64_t)m->bytes; i++) {
		byte = (unsigned char)(131 * i + (uint64_t)m->bytes);
		fm_sha256_add(&h, &byte, 1);
	}
	fm_sha256_end(&h, hex);
	return strcmp(hex, m->message_sha256) == 0
	               ? FM_OK
	               : fm_fail(FM_ERR_SAMPLES,
	                         "%s: message_sha256 is not the prescribed message's", stem);
}

int fm_accept_samples(int dirfd, const struct fm_evidence *e, const struct fm_ev_measured *m)
{
	char stem[3 * FM_NAME_MAX + 8];
	struct fm_samples samples;
	uint64_t calls, ignored;
	int rc;

	(void)snprintf(stem, sizeof stem, "%s__%s__%s", m->instance, m->version, m->operation);
	if ((rc = check_message(stem, m)) != FM_OK)
		return rc;
	if ((rc = fm_samples_read(dirfd, stem, e->counter.label, &samples)) != FM_OK)
		return fm_error_status(rc) == 4 ? rc
		                                : fm_fail(FM_ERR_SAMPLES, "%s", fm_error_text());
	if ((rc = compare_number(stem, "accepted processes",
	             fm_samples_count(&samples, FM_STATE_ACCEPTED, &calls), m->accepted)) ==
	                FM_OK &&
	        (rc = compare_number(stem, "replaced processes",
	                 fm_samples_count(&samples, FM_STATE_REPLACED, &ignored), m->replaced)) ==
	                FM_OK &&
	        (rc = compare_number(stem, "invalid processes",
	                 fm_samples_count(&samples, FM_STATE_INVALID, &ignored), m->invalid)) ==
	                FM_OK)
		rc = compare_number(stem, "calls in accepted processes", calls, m->calls);
	fm_samples_free(&samples);
	return rc;
}

/* True if path is <folder><stem of a cell><dot><something without a dot><tail>. */
static bool of_a_cell(
        const struct fm_evidence *e, const char *path, const char *folder, const char *tail)
{
	size_t skip = strlen(folder), len = strlen(path), end = strlen(tail);

	if (strncmp(path, folder, skip) != 0 || len < skip + end ||
	        strcmp(path + len - end, tail) != 0)
		return false;
	for (size_t i = 0; i < e->cell_count; i++) {
		char stem[3 * FM_NAME_MAX + 8];
		const struct fm_ev_cell *c = &e->cells[i];
		size_t n = (size_t)snprintf(
		        stem, sizeof stem, "%s__%s__%s", c->instance, c->version, c->operation);

		if (n == len - skip - end && strncmp(path + skip, stem, n) == 0)
			return true;
	}
	return false;
}

static bool name_known(const struct fm_evidence *e, const char *path)
{
	static const char *const plain[] = {
	        "evidence.json", "build/SOURCES.sha256", "build/commands.txt", "env/host.txt"};
	static const char *const columns[] = {".process.txt", ".calls.txt", ".ns.txt",
	        ".core_cycles.txt", ".ref_ticks.txt", ".events.txt"};

	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (strcmp(path, plain[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
		if (of_a_cell(e, path, "samples/", columns[i]))
			return true;
	for (size_t i = 0; i < e->build_count; i++)
		if (strcmp(path, e->builds[i].log) == 0)
			return true;
	for (size_t i = 0; i < e->kat_count; i++)
		if (strcmp(path, e->kat[i].log) == 0)
			return true;
	return of_a_cell(e, path, "env/", ".process.tsv");
}

int fm_accept_names(int dirfd, const struct fm_evidence *e)
{
	struct fm_buf text = FM_BUF_INIT(MANIFEST_MAX);
	struct fm_manifest m = {0};
	int rc;

	if ((rc = fm_fs_read(dirfd, FM_MANIFEST_NAME, MANIFEST_MAX, &text)) == FM_OK)
		rc = fm_manifest_parse(
		        text.data, text.len, fm_seal_limits(FM_SEAL_BUNDLE)->files, &m);
	for (size_t i = 0; i < m.count && rc == FM_OK; i++)
		if (!name_known(e, m.entries[i].path))
			rc = fm_fail(FM_ERR_SAMPLES, "%s belongs to no cell of this bundle",
			        m.entries[i].path);
	fm_manifest_free(&m);
	fm_buf_free(&text);
	return rc;
}
