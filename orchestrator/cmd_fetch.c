/* cmd_fetch.c: `fleetmark fetch ID...`: official packages into the cache, behind their pinned
 * digest. */
#include "orchestrator/command.h"
#include "orchestrator/https.h"
#include "orchestrator/out.h"
#include "orchestrator/package.h"
#include "orchestrator/recipe_parts.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void progress(void *arg, uint64_t have, uint64_t all)
{
	fm_out_progress(have >> 10, all >> 10, arg);
}

/* Did an earlier try get the whole file and end before it could say so? */
static bool complete(const char *sha256, int cache, const char *part)
{
	char hex[65];

	return faccessat(cache, part, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fm_fs_sha256(cache, part, hex, NULL) == FM_OK && strcmp(hex, sha256) == 0;
}

/* Downloads to the .part and keeps it if it is the right one. A beginning that came from elsewhere
 * shows in the digest; then once more from the start. */
static int download(const struct fm_candidate *c, int cache)
{
	struct fm_https h = {.url = c->archive_url,
	        .max = c->archive_bytes > 0 ? c->archive_bytes : FM_PACKAGE_BYTES,
	        .bytes = c->archive_bytes,
	        .progress = progress,
	        .arg = (void *)"KiB"};
	char part[80];
	bool resumed = false;
	int rc;

	if (c->archive_url == NULL)
		return fm_fail(FM_ERR_CONFIG,
		        "%s: its recipe has no url; fleetmark fetch %s --archive FILE takes a "
		        "package "
		        "at hand",
		        c->id, c->id);
	fm_package_part(c->archive_sha256, part);
	if (complete(c->archive_sha256, cache, part))
		return fm_package_keep(cache, c->archive_sha256, c->archive_bytes, c->archive_url);
	fm_say("%s: fetching %s", c->id, c->archive_url);
	rc = fm_https_get(&h, cache, part, &resumed);
	if (rc == FM_OK)
		rc = fm_package_keep(cache, c->archive_sha256, c->archive_bytes, c->archive_url);
	if (rc == FM_ERR_DIGEST && resumed) {
		fm_say("%s: what was there before was another file; once more from its beginning",
		        c->id);
		rc = fm_https_get(&h, cache, part, &resumed);
		if (rc == FM_OK)
			rc = fm_package_keep(
			        cache, c->archive_sha256, c->archive_bytes, c->archive_url);
	} else if (rc == FM_OK && resumed) {
		fm_say("%s: went on behind what an earlier try had left", c->id);
	}
	fm_out_progress_end();
	return rc;
}

static int copy(const struct fm_candidate *c, int cache, const char *file)
{
	int rc = fm_package_copy(cache, c->archive_sha256, file);

	return rc == FM_OK ? fm_package_keep(cache, c->archive_sha256, c->archive_bytes, file) : rc;
}

static void tell(const struct fm_candidate *c, bool had)
{
	fm_out_event(&(struct fm_event){.event = "fetched",
	        .candidate = c->id,
	        .text = had ? "was here already" : "fetched",
	        .quiet = true});
	fm_result("%s  %s  %s", c->id, had ? "was here already" : "fetched", c->folder);
	fm_say("%s: measure it with fleetmark run -c %s", c->id, c->id);
}

/* The package, then its sources: a recipe that does not fit its package is found here, not in a
 * campaign. */
static int fetch(struct fm_candidate *c, const char *file)
{
	char *path = NULL;
	bool had = false;
	int cache = -1, lock = -1;
	int rc = fm_package_cache(&path, &cache);

	if (rc == FM_OK && (rc = fm_fs_lock(cache, "lock", &lock)) == FM_ERR_LOCKED)
		rc = fm_fail(rc, "%s: another fetch is running on this machine", path);
	if (rc == FM_OK)
		rc = fm_package_tidy(cache);
	if (rc == FM_OK)
		rc = fm_package_have(cache, c->archive_sha256, &had);
	if (rc == FM_OK && !had)
		rc = file != NULL ? copy(c, cache, file) : download(c, cache);
	if (rc == FM_OK)
		rc = fm_package_tree(c);
	if (rc == FM_OK)
		rc = fm_recipe_files(c->id, c);
	if (rc == FM_OK)
		tell(c, had);
	if (lock >= 0)
		close(lock);
	if (cache >= 0)
		close(cache);
	free(path);
	return rc;
}

int fm_cmd_fetch(const struct fm_options *o, int *status)
{
	int rc = FM_OK;

	*status = 0;
	if (o->archive != NULL && o->argc != 1)
		return fm_fail(FM_ERR_USAGE, "--archive is the package of one candidate");
	for (int i = 0; rc == FM_OK && i < o->argc; i++) {
		struct fm_candidate c;

		if ((rc = fm_recipe_archive(o->root, o->argv[i], &c)) != FM_OK)
			break;
		if (o->dry_run)
			fm_result("would fetch %s from %s", c.id,
			        o->archive != NULL      ? o->archive
			        : c.archive_url != NULL ? c.archive_url
			                                : "nowhere: its recipe has no url");
		else
			rc = fetch(&c, o->archive);
		fm_candidate_free(&c);
	}
	return rc;
}
