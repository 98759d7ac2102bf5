/* cmd_try.c: `fleetmark try [USER@HOST[:PORT]]`: first contact: one machine, the smoke profile,
 * keys and enrolment on the way. */
#include "orchestrator/command.h"
#include "orchestrator/enrol.h"
#include "orchestrator/out.h"
#include "orchestrator/run.h"
#include "orchestrator/transport_ssh.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEARN_WAIT  (60 * FM_S)
#define NUMBERS_MAX 999

static const char *own_arch(void)
{
#if defined(__x86_64__)
	return "x86_64";
#elif defined(__aarch64__)
	return "aarch64";
#else
	return "";
#endif
}

struct target {
	char user[33], host[256];
	int port;
};

/* [USER@]HOST[:PORT], HOST also [ADDRESS]. What may stand in them is checked where the inventory's
 * keys are. */
static int parse_target(const char *text, struct target *t)
{
	const char *at = strrchr(text, '@'), *host = at != NULL ? at + 1 : text;
	const char *colon = strrchr(host, ':'), *end = host + strlen(host);
	uint64_t port = 0;

	memset(t, 0, sizeof *t);
	if (at != NULL && (at == text || at - text >= (long)sizeof t->user))
		return fm_fail(FM_ERR_USAGE, "'%s': USER@HOST[:PORT]", text);
	if (at != NULL)
		memcpy(t->user, text, (size_t)(at - text));
	if (host[0] == '[') {
		const char *close = strchr(host, ']');

		if (close == NULL || (close[1] != '\0' && close[1] != ':'))
			return fm_fail(FM_ERR_USAGE, "'%s': USER@[ADDRESS][:PORT]", text);
		colon = close[1] == ':' ? close + 1 : NULL;
		host++;
		end = close;
	} else if (colon != NULL && strchr(host, ':') == colon) {
		end = colon;
	} else {
		colon = NULL; /* none, or an address of IP version 6 without brackets */
	}
	if (colon != NULL && (fm_parse_u64(colon + 1, 65535, &port) != FM_OK || port == 0))
		return fm_fail(FM_ERR_USAGE, "'%s': the port is a number from 1 to 65535", text);
	if (end == host || end - host >= (long)sizeof t->host)
		return fm_fail(FM_ERR_USAGE, "'%s': USER@HOST[:PORT]", text);
	memcpy(t->host, host, (size_t)(end - host));
	t->port = (int)port;
	return FM_OK;
}

static int learn(const struct fm_options *o, const struct fm_system *sys, struct fm_home *home)
{
	char offered[64], next[400];
	bool added = false;
	int rc = fm_ssh_learn(sys, home, o->fingerprint, fm_now_ns() + LEARN_WAIT, offered, &added);

	if (rc == FM_OK && added)
		fm_say("host key %s is now in %s/known_hosts", offered, home->path);
	if (rc == FM_ERR_HOSTKEY_UNKNOWN && offered[0] != '\0') {
		snprintf(next, sizeof next,
		        "compare it on the host (ssh-keygen -lf "
		        "/etc/ssh/ssh_host_ed25519_key.pub), then: "
		        "fleetmark try --fingerprint %s %s",
		        offered, o->argv[0]);
		fm_out_error(rc, NULL, "host key", next);
		return FM_REPORTED;
	}
	return rc;
}

/* The name it is enrolled under, else the first free <arch>_<n>. */
static int choose_name(const struct fm_home *home, const struct fm_facts *f, struct fm_system *sys)
{
	const char *prefix = strcmp(f->arch, "x86_64") == 0 ? "x86" : "arm";
	struct fm_public key;
	bool known = true;
	int rc = fm_enrol_name_of(home, f->key, sys->name);

	if (rc != FM_OK || sys->name[0] != '\0')
		return rc;
	for (int n = 1; rc == FM_OK && known && n < NUMBERS_MAX; n++) {
		snprintf(sys->name, sizeof sys->name, "%s_%d", prefix, n);
		rc = fm_enrol_known(home, sys->name, &known, &key);
	}
	return rc;
}

/* Connects once: who is it, what is it called, enrolled. */
static int get_to_know(const struct fm_options *o, struct fm_inventory *inv, struct fm_home *home)
{
	struct fm_system *sys = &inv->systems[0];
	struct fm_agent_source agent;
	struct fm_session *s = NULL;
	bool changed = false;
	int rc = fm_agent_source(o->root, &agent);

	if (rc == FM_OK && sys->transport == FM_TRANSPORT_SSH)
		rc = learn(o, sys, home);
	if (rc == FM_OK)
		rc = fm_session_open(&s, sys, home, &agent, -1, -1);
	if (rc == FM_OK) {
		const struct fm_facts *f = fm_session_facts(s);

		if (strcmp(f->arch, "x86_64") != 0 && strcmp(f->arch, "aarch64") != 0)
			rc = fm_fail(FM_ERR_ARCH, "architecture %s is not known here", f->arch);
		snprintf(sys->arch, sizeof sys->arch, "%s", f->arch);
		if (rc == FM_OK)
			rc = choose_name(home, f, sys);
	}
	if (rc == FM_OK)
		rc = fm_enrol(home, s, sys->name, true, &changed);
	fm_session_close(s);
	fm_agent_source_free(&agent);
	return rc;
}

int fm_cmd_try(const struct fm_options *given, int *status)
{
	struct fm_options o = *given;
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct target t = {0};
	char name[FM_NAME_MAX + 1];
	char *path = NULL;
	bool local = o.argc == 0;
	int rc = FM_OK;

	if (o.argc > 1)
		return fm_fail(
		        FM_ERR_USAGE, "try takes one USER@HOST, or nothing for this machine");
	if (local && own_arch()[0] == '\0')
		return fm_fail(FM_ERR_ARCH, "this machine's architecture is not known here");
	if (!local)
		rc = parse_target(o.argv[0], &t);
	if (rc == FM_OK)
		rc = fm_inventory_single(strcmp(own_arch(), "aarch64") == 0 ? "arm_1" : "x86_1",
		        own_arch(), local ? FM_TRANSPORT_LOCAL : FM_TRANSPORT_SSH,
		        t.user[0] != '\0' ? t.user : NULL, local ? NULL : t.host, t.port, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = get_to_know(&o, &inv, &home);
	if (rc == FM_OK) {
		snprintf(name, sizeof name, "try-%.50s", inv.systems[0].name);
		o.name = name;
		o.profile = "smoke";
		if (o.candidates == NULL)
			o.candidates = "hash-31,iccs";
		rc = fm_run_campaign(&o, &inv, &home, status, &path);
		if (rc == FM_ERR_CONFIG)
			rc = fm_wrap(rc, "(to start anew remove %s/%s)", o.results, name);
	}
	if (path != NULL && !o.json)
		fm_result("%s/index.html", path);
	free(path);
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc;
}
