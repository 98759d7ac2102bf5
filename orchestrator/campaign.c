/* campaign.c: opens a campaign: folder, lock, journal, plan sealed once and compared ever after. */
#include "orchestrator/campaign.h"
#include "orchestrator/hint.h"
#include "orchestrator/out.h"
#include "orchestrator/trust.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAN_DAYS 90

/* The plan folder: seal, plan, digest. */
static int read_plan(struct fm_campaign *c)
{
	int fd = -1;
	int rc = fm_fs_dir(c->dirfd, "plan", &fd);

	if (rc == FM_OK)
		rc = fm_seal_check(
		        fd, FM_SEAL_PLAN, fm_identity_public(c->home->id), c->plan_sha256, NULL);
	if (rc == FM_OK)
		rc = fm_plan_read(fd, &c->plan);
	if (rc == FM_OK && strcmp(c->plan.campaign, c->name) != 0)
		rc = fm_fail(
		        FM_ERR_CONFIG, "the plan there is that of campaign %s", c->plan.campaign);
	if (fd >= 0)
		close(fd);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/plan", c->path);
}

/* Keys of all planned systems from the trust store, as of now, which becomes the plan's time of
 * issue. */
static int set_keys(struct fm_campaign *c, struct fm_plan *p)
{
	struct fm_trust trust = {0};
	struct fm_buf names = FM_BUF_INIT(4096);
	char hint[1000];
	int fd = -1;
	int rc = fm_fs_dir(c->home->dirfd, "trust", &fd);

	fm_stamp_now(p->issued_at);
	if (rc == FM_OK)
		rc = fm_trust_read(fd, fm_identity_public(c->home->id), &trust);
	for (size_t i = 0; rc == FM_OK && i < p->system_count; i++) {
		const struct fm_trust_key *k =
		        fm_trust_find(&trust, p->systems[i].name, p->issued_at);

		if (k != NULL)
			p->systems[i].key = k->key;
		else
			rc = fm_buf_printf(&names, " %s", p->systems[i].name);
	}
	if (rc == FM_OK && names.len > 0)
		rc = fm_fail(FM_ERR_UNENROLLED, "not enrolled:%s; first: %s", names.data,
		        fm_hint(c->options, hint, sizeof hint, "enrol%s", names.data));
	fm_trust_free(&trust);
	fm_buf_free(&names);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int seal_plan(struct fm_campaign *c)
{
	struct fm_plan *p = &c->current;
	long long now;
	int fd = -1;
	int rc;

	fm_random_hex(32, p->nonce);
	now = fm_stamp_seconds(p->issued_at);
	fm_stamp_at(now + PLAN_DAYS * 86400ll, p->expires_at);
	rc = fm_fs_remove(c->incoming, "plan.new");
	if (rc == FM_OK)
		rc = fm_fs_mkdirs(c->incoming, "plan.new", 0755, &fd);
	if (rc == FM_OK)
		rc = fm_plan_write(p, fd, c->home->id);
	if (fd >= 0)
		close(fd);
	if (rc == FM_OK && renameat(c->incoming, "plan.new", c->dirfd, "plan") != 0)
		rc = fm_fail_errno("%s/plan", c->path);
	if (rc == FM_OK && fsync(c->dirfd) != 0)
		rc = fm_fail_errno("%s", c->path);
	return rc;
}

static void tell_change(void *arg, const char *candidate, const char *what, const char *path)
{
	(void)arg;
	fm_say("  %s %s: %s", candidate, what, path);
}

/* Its inventory was made in memory. */
static bool is_try(const struct fm_campaign *c)
{
	return c->inventory != NULL && c->inventory->path != NULL && c->inventory->path[0] == '\0';
}

/* Which files changed, and both ways on: the old sources, or a campaign of its own. */
static int tell_difference(const struct fm_campaign *c, int rc)
{
	char text[1000], fresh[FM_NAME_MAX + 1], command[600];
	size_t count;

	snprintf(text, sizeof text, "%s", fm_error_text());
	count = fm_plan_changes(&c->plan, &c->current, tell_change, NULL);
	if (count > FM_PLAN_CHANGES)
		fm_say("  and %zu more files", count - FM_PLAN_CHANGES);
	fm_campaign_fresh_name(c->options->results, c->name, fresh);
	if (is_try(c))
		snprintf(command, sizeof command, "fleetmark try --results DIR");
	else
		fm_hint(c->options, command, sizeof command, "run %s", fresh);
	return fm_fail(rc,
	        "campaign %s cannot go on: %s; put back what was planned and run it again, or, "
	        "to start anew with what is there now: %s",
	        c->name, text, command);
}

/* The plan that the sources of now would give, over the systems and candidates of the sealed one.
 */
static int make_same(struct fm_campaign *c, struct fm_inventory *inv)
{
	struct fm_options o = *c->options;
	struct fm_buf ids = FM_BUF_INIT(1u << 20), versions = FM_BUF_INIT(64);
	bool *selected = fm_alloc_array(inv->count + 1, sizeof *selected);
	bool used[FM_VERSIONS] = {false};
	int rc = selected == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; rc == FM_OK && i < c->plan.candidates.count; i++) {
		const struct fm_candidate *k = &c->plan.candidates.list[i];

		rc = fm_buf_printf(&ids, "%s%s", i > 0 ? "," : "", k->id);
		for (size_t n = 0; n < k->count; n++)
			for (int v = 0; v < FM_VERSIONS; v++)
				used[v] |= k->instances[n].version[v].exists;
	}
	for (int v = 0; rc == FM_OK && v < FM_VERSIONS; v++) {
		if (used[v])
			rc = fm_buf_printf(
			        &versions, "%s%s", versions.len > 0 ? "," : "", fm_version_name[v]);
	}
	for (size_t i = 0; rc == FM_OK && i < inv->count; i++) {
		selected[i] = inv->systems[i].selected;
		inv->systems[i].selected = fm_plan_system(&c->plan, inv->systems[i].name) != NULL;
	}
	for (size_t i = 0; rc == FM_OK && i < c->plan.system_count; i++) {
		if (fm_inventory_find(inv, c->plan.systems[i].name) == NULL)
			rc = fm_fail(FM_ERR_CONFIG,
			        "campaign %s was planned with system %s, which is not in %s any "
			        "more",
			        c->name, c->plan.systems[i].name, inv->path);
	}
	o.candidates = ids.data;
	o.versions = versions.data;
	o.profile = c->plan.profile;
	o.kat = c->plan.kat;
	if (rc == FM_OK)
		rc = fm_plan_make(&o, inv, c->name, &c->current);
	for (size_t i = 0; selected != NULL && i < inv->count; i++)
		inv->systems[i].selected = selected[i];
	if (rc == FM_OK)
		rc = fm_plan_same(&c->plan, &c->current);
	free(selected);
	fm_buf_free(&ids);
	fm_buf_free(&versions);
	return rc == FM_OK ? rc : tell_difference(c, rc);
}

/* Does the list, joined by commas, hold this word? */
static bool holds(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = list; *at != '\0'; at += strcspn(at, ",")) {
		at += *at == ',';
		if (strncmp(at, word, len) == 0 && (at[len] == ',' || at[len] == '\0'))
			return true;
	}
	return false;
}

static bool same_versions(const struct fm_plan *p, const char *list)
{
	bool used[FM_VERSIONS] = {false}, same = true;

	for (size_t i = 0; i < p->candidates.count; i++)
		for (size_t n = 0; n < p->candidates.list[i].count; n++)
			for (int v = 0; v < FM_VERSIONS; v++)
				used[v] |= p->candidates.list[i].instances[n].version[v].exists;
	for (int v = 0; v < FM_VERSIONS; v++)
		same = same && used[v] == holds(list, fm_version_name[v]);
	return same;
}

/* A campaign goes on as it was planned: what is asked for now must not differ. */
static int check_asked(const struct fm_campaign *c)
{
	const struct fm_options *o = c->options;
	const char *what = NULL, *now = NULL;
	char fresh[FM_NAME_MAX + 1], command[1000];
	bool any = false;

	if (o->said.profile && strcmp(o->profile, c->plan.profile) != 0) {
		what = "profile";
		now = o->profile;
	} else if (o->said.kat && strcmp(o->kat, c->plan.kat) != 0) {
		what = "kat";
		now = o->kat;
	} else if (o->said.versions && !same_versions(&c->plan, o->versions)) {
		what = "versions";
		now = o->versions;
	}
	if (what != NULL) {
		fm_campaign_fresh_name(o->results, c->name, fresh);
		return fm_fail(FM_ERR_USAGE,
		        "campaign %s was planned without --%s %s; leave that out to go on with "
		        "it, or start anew: %s",
		        c->name, what, now,
		        fm_hint(o, command, sizeof command, "run %s --%s %s", fresh, what, now));
	}
	for (size_t i = 0; i < c->plan.candidates.count; i++)
		any = any || fm_campaign_wants(c, c->plan.candidates.list[i].id);
	return any ? FM_OK
	           : fm_fail(FM_ERR_USAGE, "-c %s chooses nothing of campaign %s", o->candidates,
	                     c->name);
}

static int check_expiry(const struct fm_campaign *c)
{
	char now[21], fresh[FM_NAME_MAX + 1], merge[1000], run[1000];

	fm_stamp_now(now);
	if (strcmp(now, c->plan.expires_at) <= 0)
		return FM_OK;
	fm_campaign_fresh_name(c->options->results, c->name, fresh);
	return fm_fail(FM_ERR_EXPIRED,
	        "the plan of campaign %s ended at %s: no host may work by it any more. What came "
	        "is sealed by: %s; to start anew: %s",
	        c->name, c->plan.expires_at,
	        fm_hint(c->options, merge, sizeof merge, "redo merge %s", c->name),
	        fm_hint(c->options, run, sizeof run, "run %s", fresh));
}

static int open_folders(struct fm_campaign *c, const char *results)
{
	int rc;

	c->path = fm_sprintf("%s/%s", results, c->name);
	if (c->path == NULL)
		return FM_ERR_MEMORY;
	rc = fm_fs_mkdirs(AT_FDCWD, c->path, 0755, &c->dirfd);
	return rc == FM_OK ? fm_fs_mkdirs(c->dirfd, "incoming", 0755, &c->incoming) : rc;
}

static void begin(struct fm_campaign *c, const struct fm_options *o, const struct fm_inventory *inv,
        struct fm_home *home)
{
	memset(c, 0, sizeof *c);
	c->dirfd = c->incoming = -1;
	c->options = o;
	c->inventory = inv;
	c->home = home;
	pthread_mutex_init(&c->mutex, NULL);
}

int fm_campaign_open(struct fm_campaign *c, const struct fm_options *o, struct fm_inventory *inv,
        struct fm_home *home)
{
	char base[FM_NAME_MAX + 1];
	int rc;

	begin(c, o, inv, home);
	rc = fm_campaign_base(o, inv, base);
	if (rc == FM_OK)
		rc = fm_campaign_pick(o->results, base, c->name, &c->resumed);
	if (rc == FM_OK)
		rc = fm_agent_source(o->root, &c->agent);
	if (rc == FM_OK && !c->resumed) /* before anything is made: a bad plan leaves no folder */
		rc = fm_plan_make(o, inv, c->name, &c->current);
	if (rc == FM_OK && !c->resumed)
		rc = set_keys(c, &c->current);
	if (rc == FM_OK)
		rc = open_folders(c, o->results);
	if (rc == FM_OK)
		rc = fm_journal_open(&c->journal, c->incoming, c->name, false);
	if (rc == FM_OK && !c->resumed)
		rc = seal_plan(c);
	if (rc == FM_OK)
		rc = read_plan(c);
	if (rc == FM_OK && c->resumed && (rc = check_asked(c)) == FM_OK &&
	        (rc = check_expiry(c)) == FM_OK)
		rc = make_same(c, inv);
	if (rc == FM_OK && strcmp(c->plan.agent_source_sha256, c->agent.sha256) != 0)
		rc = tell_difference(
		        c, fm_fail(FM_ERR_CONFIG, "it was planned with another agent"));
	if (rc == FM_OK)
		rc = fm_journal_begin(c->journal, c->plan_sha256);
	if (rc != FM_OK)
		fm_campaign_close(c);
	return rc;
}

int fm_campaign_look(struct fm_campaign *c, const struct fm_options *o,
        const struct fm_inventory *inv, struct fm_home *home, bool lock)
{
	char base[FM_NAME_MAX + 1];
	int rc;

	begin(c, o, inv, home);
	rc = fm_campaign_base(o, inv, base);
	/* The last number that is there, finished or not. */
	for (int i = 1; rc == FM_OK; i++) {
		char next[FM_NAME_MAX + 1], path[4200];

		snprintf(next, sizeof next, i == 1 ? "%.58s" : "%.58s.%d", base, i);
		snprintf(path, sizeof path, "%.4000s/%s/plan", o->results, next);
		if (access(path, F_OK) != 0)
			break;
		snprintf(c->name, sizeof c->name, "%s", next);
	}
	if (rc == FM_OK && c->name[0] == '\0')
		rc = fm_fail(FM_ERR_USAGE, "no campaign %s in %s", base, o->results);
	if (rc == FM_OK)
		rc = open_folders(c, o->results);
	if (rc == FM_OK)
		rc = fm_agent_source(o->root, &c->agent);
	if (rc == FM_OK)
		rc = fm_journal_open(&c->journal, c->incoming, c->name, !lock);
	if (rc == FM_OK)
		rc = read_plan(c);
	c->resumed = true;
	if (rc != FM_OK)
		fm_campaign_close(c);
	return rc;
}

void fm_campaign_close(struct fm_campaign *c)
{
	if (c->journal != NULL)
		(void)!fm_journal_close(c->journal);
	c->journal = NULL;
	fm_plan_free(&c->plan);
	fm_plan_free(&c->current);
	fm_agent_source_free(&c->agent);
	free(c->machines);
	free(c->path);
	if (c->incoming >= 0)
		close(c->incoming);
	if (c->dirfd >= 0)
		close(c->dirfd);
	pthread_mutex_destroy(&c->mutex);
	memset(c, 0, sizeof *c);
	c->dirfd = c->incoming = -1;
}

void fm_campaign_progress(struct fm_campaign *c, int64_t cells)
{
	struct fm_event e = {.event = "cells", .quiet = true};

	pthread_mutex_lock(&c->mutex);
	c->cells_done =
	        cells < 0 && (uint64_t)-cells > c->cells_done ? 0 : c->cells_done + (uint64_t)cells;
	e.total = c->cells_total;
	e.done = c->cells_done < e.total ? c->cells_done : e.total;
	pthread_mutex_unlock(&c->mutex);
	fm_out_event(&e);
}

char *fm_campaign_again(const struct fm_campaign *c, char *out, size_t size)
{
	if (!is_try(c))
		return fm_hint(c->options, out, size, "run %s", c->name);
	snprintf(out, size, "the same fleetmark try");
	return out;
}

int fm_campaign_log(const struct fm_campaign *c, const char *system)
{
	char name[FM_NAME_MAX + 8];
	int dir = -1, fd;

	if (fm_fs_mkdirs(c->incoming, "logs", 0755, &dir) != FM_OK)
		return -1;
	snprintf(name, sizeof name, "%s.log", system);
	fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
	close(dir);
	return fd;
}

bool fm_campaign_wants(const struct fm_campaign *c, const char *candidate)
{
	const char *next = c->options->candidates;

	if (next == NULL || !c->resumed)
		return true;
	while (*next != '\0') {
		char pattern[256];
		size_t n = strcspn(next, ",");

		snprintf(pattern, sizeof pattern, "%.*s", (int)(n < 255 ? n : 255), next);
		if (fnmatch(pattern, candidate, 0) == 0)
			return true;
		next += n + (next[n] == ',');
	}
	return false;
}
