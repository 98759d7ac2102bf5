/* cmd_trust.c: `fleetmark trust list | rotate SYSTEM | revoke SYSTEM`: who may sign, and the end of
 * that. */
#include "orchestrator/command.h"
#include "orchestrator/enrol.h"
#include "orchestrator/journal.h"
#include "orchestrator/out.h"
#include "orchestrator/trust.h"
#include "protocol/fs.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- list ---- */

static const char *state_of(const struct fm_trust *t, const struct fm_trust_key *k, const char *now)
{
	const struct fm_trust_key *valid = fm_trust_find(t, k->system, now);

	if (fm_trust_revoked(t, &k->key))
		return "stolen";
	return valid == k ? "valid" : k->before[0] != '\0' ? "ended" : "not yet";
}

/* YYYYMMDDHHMMSSZ as people and events read it. */
static const char *stamp_of(const char *c, char out[24])
{
	if (c[0] == '\0')
		return NULL;
	snprintf(out, 24, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", c, c + 4, c + 6, c + 8, c + 10, c + 12);
	return out;
}

static void show_key(const struct fm_trust *t, const struct fm_trust_key *k, const char *now)
{
	char print[FM_FINGERPRINT], line[FM_PUBLIC_LINE + 1], after[24], before[24];
	const char *begin = stamp_of(k->after, after), *end = stamp_of(k->before, before);
	const char *state = state_of(t, k, now);

	fm_public_fingerprint(&k->key, print);
	fm_public_line(&k->key, line);
	fm_out_event(&(struct fm_event){.event = "key",
	        .system = k->system,
	        .state = state,
	        .fingerprint = print,
	        .key = line,
	        .after = begin,
	        .before = end,
	        .quiet = true});
	fm_result("%-16s %-8s %s  from %s%s%s", k->system, state, print,
	        begin == NULL ? "?" : begin, end == NULL ? "" : " to ", end == NULL ? "" : end);
}

static int read_trust(const struct fm_home *home, struct fm_trust *out)
{
	int fd = -1, rc = fm_fs_dir(home->dirfd, "trust", &fd);

	memset(out, 0, sizeof *out);
	if (rc == FM_OK)
		rc = fm_trust_read(fd, fm_identity_public(home->id), out);
	if (fd >= 0)
		close(fd);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s/trust", home->path);
}

static int list(const struct fm_home *home)
{
	char now[21], print[FM_FINGERPRINT], line[FM_PUBLIC_LINE + 1], version[24], after[24];
	struct fm_trust t;
	int rc = read_trust(home, &t);

	if (rc != FM_OK)
		return rc;
	fm_stamp_now(now);
	fm_public_fingerprint(&t.controller, print);
	fm_public_line(&t.controller, line);
	snprintf(version, sizeof version, "%lld", (long long)t.version);
	fm_out_event(&(struct fm_event){.event = "trust",
	        .fingerprint = print,
	        .key = line,
	        .after = stamp_of(t.controller_after, after),
	        .text = version,
	        .quiet = true});
	fm_result("%-16s %-8s %s  trust version %s of %s", "controller", "anchor", print, version,
	        t.issued_at);
	for (size_t i = 0; i < t.count; i++)
		show_key(&t, &t.keys[i], now);
	fm_trust_free(&t);
	return FM_OK;
}

/* ---- open dispatches ---- */

/* system NULL: any. */
static int find_open(int results, const char *campaign, const char *system, bool *open)
{
	struct fm_journal *j = NULL;
	struct fm_job *jobs = NULL;
	size_t count = 0;
	char path[FM_NAME_MAX + 20];
	int fd = -1, rc;

	*open = false;
	snprintf(path, sizeof path, "%s/incoming", campaign);
	if (fm_fs_dir(results, path, &fd) != FM_OK)
		return FM_OK; /* not one of ours */
	if ((rc = fm_journal_open(&j, fd, campaign, true)) == FM_OK)
		rc = fm_journal_jobs(j, &jobs, &count);
	for (size_t i = 0; i < count; i++)
		*open |= (system == NULL || strcmp(jobs[i].system, system) == 0) &&
		         (jobs[i].state == FM_JOB_ISSUED || jobs[i].state == FM_JOB_RECEIVED);
	free(jobs);
	(void)!fm_journal_close(j);
	close(fd);
	return rc == FM_OK ? rc : fm_wrap(rc, "campaign %s", campaign);
}

/* What a campaign has asked for must be signed by the keys it was planned with. system NULL: any.
 */
static int check_open(const struct fm_options *o, const char *system)
{
	DIR *dir = opendir(o->results);
	const struct dirent *e;
	bool open = false;
	int rc = FM_OK;

	while (dir != NULL && rc == FM_OK && (e = readdir(dir)) != NULL) {
		if (!fm_name_ok(e->d_name))
			continue;
		rc = find_open(dirfd(dir), e->d_name, system, &open);
		if (rc == FM_OK && open)
			rc = fm_fail(FM_ERR_BUSY,
			        "campaign %s waits for results of %s, signed by the key it has "
			        "now; finish it first: fleetmark run %s",
			        e->d_name, system == NULL ? "its systems" : system, e->d_name);
	}
	if (dir != NULL)
		closedir(dir);
	return rc;
}

/* ---- rotate ---- */

static int rotate(const struct fm_options *o, struct fm_home *home, const char *name)
{
	struct fm_inventory inv = {0};
	struct fm_agent_source agent = {0};
	struct fm_session *s = NULL;
	const struct fm_system *sys = NULL;
	int rc = o->inventory != NULL
	                 ? fm_inventory_load(o->inventory, &inv)
	                 : fm_fail(FM_ERR_USAGE,
	                           "no inventory: give -i FILE or write ./fleetmark.ini");

	if (rc == FM_OK && (sys = fm_inventory_find(&inv, name)) == NULL)
		rc = fm_fail(FM_ERR_USAGE, "%s has no system %s", o->inventory, name);
	if (rc == FM_OK)
		rc = check_open(o, name);
	if (rc == FM_OK)
		rc = fm_agent_source(o->root, &agent);
	if (rc == FM_OK)
		rc = fm_session_open(&s, sys, home, &agent, -1, -1);
	if (rc == FM_OK)
		rc = fm_rotate(home, s, name, o->yes || sys->transport == FM_TRANSPORT_LOCAL);
	if (rc == FM_OK)
		fm_out_event(&(struct fm_event){.event = "rotated", .system = name, .quiet = true});
	fm_session_close(s);
	fm_agent_source_free(&agent);
	fm_inventory_free(&inv);
	return rc == FM_OK ? rc : fm_wrap(rc, "%s", name);
}

/* The controller's own key: the old one names the new one, and every system is enrolled again. */
static int hand_over(const struct fm_options *o, struct fm_home *home)
{
	struct fm_public old = *fm_identity_public(home->id);
	char before[FM_FINGERPRINT], print[FM_FINGERPRINT];
	int rc;

	if (!o->yes)
		return fm_fail(FM_ERR_USAGE,
		        "a new controller's key must be published like the old one, and every "
		        "system must be enrolled again, after %s was removed on it; if that is "
		        "what you want: fleetmark trust rotate controller --yes",
		        "~/.fleetmark/controller.pub");
	if ((rc = check_open(o, NULL)) != FM_OK || (rc = fm_trust_handover(home)) != FM_OK)
		return rc;
	fm_public_fingerprint(&old, before);
	fm_public_fingerprint(fm_identity_public(home->id), print);
	fm_say("controller: key %s follows %s; trust/handover, sealed by the old one, says so",
	        print, before);
	fm_say("publish %s/controller.pub the way the old one was, keep key.until-* offline or "
	       "destroy it (trees it sealed stay good), and on every system remove "
	       "~/.fleetmark/controller.pub, then: fleetmark enrol SYSTEM...",
	        home->path);
	fm_out_event(&(struct fm_event){.event = "rotated", .system = "controller", .quiet = true});
	return FM_OK;
}

/* ---- revoke ---- */

static int kind_of(const struct fm_options *o, enum fm_revocation *kind)
{
	if (o->retired + o->stolen + (o->stolen_since != NULL) != 1)
		return fm_fail(FM_ERR_USAGE,
		        "revoke says why: --retired (it counts until now), --stolen-since STAMP "
		        "(it counts until then) or --stolen (nothing it ever signed counts)");
	if (o->stolen_since != NULL && !fm_stamp_ok(o->stolen_since))
		return fm_fail(FM_ERR_USAGE,
		        "--stolen-since: read '%.40s', expected YYYY-MM-DDTHH:MM:SSZ (UTC)",
		        o->stolen_since);
	*kind = o->retired ? FM_RETIRED : o->stolen ? FM_STOLEN : FM_STOLEN_SINCE;
	return FM_OK;
}

static void tell_revoked(
        const struct fm_home *home, const struct fm_trust_key *k, enum fm_revocation kind)
{
	char print[FM_FINGERPRINT], end[24];

	fm_public_fingerprint(&k->key, print);
	if (kind == FM_STOLEN)
		fm_say("%s: nothing that the key %s signed counts any more", k->system, print);
	else
		fm_say("%s: the key %s counts until %s", k->system, print,
		        stamp_of(k->before, end));
	if (kind != FM_RETIRED)
		fm_say("sealed trees do not know that yet: give their readers %s/trust (verify "
		       "--trust), and seal those you have again: fleetmark redo merge NAME",
		        home->path);
	fm_say("a new key for it: fleetmark trust rotate %s, or, where the old one is gone, "
	       "fleetmark enrol %s",
	        k->system, k->system);
}

static int revoke_key(const struct fm_options *o, struct fm_home *home, const char *name)
{
	enum fm_revocation kind = FM_RETIRED;
	struct fm_trust_key which;
	bool changed = false;
	int rc = kind_of(o, &kind);

	if (rc == FM_OK)
		rc = fm_trust_revoke(
		        home, name, o->fingerprint, kind, o->stolen_since, &which, &changed);
	if (rc != FM_OK)
		return rc;
	if (!changed)
		fm_say("%s: it was so already, nothing to do", name);
	else
		tell_revoked(home, &which, kind);
	fm_out_event(&(struct fm_event){.event = "revoked",
	        .system = name,
	        .state = kind == FM_STOLEN ? "stolen" : "ended",
	        .quiet = true});
	return FM_OK;
}

int fm_cmd_trust(const struct fm_options *o, int *status)
{
	const char *action = o->argv[0], *name = o->argc > 1 ? o->argv[1] : NULL;
	bool lists = strcmp(action, "list") == 0, rotates = strcmp(action, "rotate") == 0, anchor;
	struct fm_home home = {.dirfd = -1};
	int rc;

	*status = 0;
	if (!lists && !rotates && strcmp(action, "revoke") != 0)
		return fm_fail(FM_ERR_USAGE,
		        "trust: read '%.40s', allowed are list, rotate, revoke", action);
	if (lists != (name == NULL))
		return fm_fail(FM_ERR_USAGE,
		        lists ? "trust list takes no system" : "trust %s needs a system", action);
	anchor = rotates && strcmp(name, "controller") == 0;
	if (!lists && !anchor && (rc = fm_name_check("system", name)) != FM_OK)
		return rc;
	if (o->dry_run && !lists) {
		fm_result("would %s the key of %s", action, name);
		return FM_OK;
	}
	if ((rc = fm_home_open(&home)) == FM_OK && (rc = fm_home_key(&home)) == FM_OK)
		rc = lists     ? list(&home)
		     : anchor  ? hand_over(o, &home)
		     : rotates ? rotate(o, &home, name)
		               : revoke_key(o, &home, name);
	fm_home_close(&home);
	*status = fm_error_status(rc);
	return rc;
}
