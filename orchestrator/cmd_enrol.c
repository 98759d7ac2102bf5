/* cmd_enrol.c: `fleetmark enrol SYSTEM...`: host key and signing key of hosts become trusted, with
 * the operator's word. */
#include "orchestrator/command.h"
#include "orchestrator/enrol.h"
#include "orchestrator/out.h"
#include "orchestrator/select_sets.h"
#include "orchestrator/transport_ssh.h"
#include <stdio.h>
#include <string.h>

#define LEARN_WAIT (60 * FM_S)

static int learn(const struct fm_options *o, const struct fm_system *sys, struct fm_home *home)
{
	char offered[64], next[300];
	bool added = false;
	int rc = fm_ssh_learn(sys, home, o->fingerprint, fm_now_ns() + LEARN_WAIT, offered, &added);

	if (rc == FM_OK && added)
		fm_say("%s: host key %s is now in %s/known_hosts", sys->name, offered, home->path);
	if (rc == FM_ERR_HOSTKEY_UNKNOWN && offered[0] != '\0') {
		snprintf(next, sizeof next,
		        "compare it on the host (ssh-keygen -lf "
		        "/etc/ssh/ssh_host_ed25519_key.pub), then: "
		        "fleetmark enrol --fingerprint %s %s",
		        offered, sys->name);
		fm_out_error(rc, sys->name, "host key", next);
		return FM_REPORTED;
	}
	return rc;
}

static int enrol_one(const struct fm_options *o, const struct fm_system *sys, struct fm_home *home,
        const struct fm_agent_source *agent)
{
	struct fm_session *s = NULL;
	bool local = sys->transport == FM_TRANSPORT_LOCAL, changed = false;
	int rc = local ? FM_OK : learn(o, sys, home);

	if (rc == FM_OK)
		rc = fm_session_open(&s, sys, home, agent, -1, -1);
	if (rc == FM_OK && strcmp(fm_session_facts(s)->arch, sys->arch) != 0)
		rc = fm_fail(FM_ERR_ARCH, "the inventory says arch = %s, the host runs %s programs",
		        sys->arch, fm_session_facts(s)->arch);
	if (rc == FM_OK)
		rc = (o->lost ? fm_enrol_lost : fm_enrol)(
		        home, s, sys->name, o->yes || local, &changed);
	if (rc == FM_OK && !changed)
		fm_say("%s: enrolled already, nothing to do", sys->name);
	if (rc == FM_OK)
		fm_out_event(&(struct fm_event){
		        .event = "enrolled", .system = sys->name, .quiet = true});
	fm_session_close(s);
	return rc;
}

static size_t selected(const struct fm_inventory *inv)
{
	size_t n = 0;

	for (size_t i = 0; i < inv->count; i++)
		n += inv->systems[i].selected;
	return n;
}

int fm_cmd_enrol(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_agent_source agent = {0};
	int rc;

	if (o->argc == 0)
		return fm_fail(FM_ERR_USAGE, "enrol whom? fleetmark enrol SYSTEM...");
	if (o->inventory == NULL)
		return fm_fail(FM_ERR_USAGE, "no inventory: give -i FILE or write ./fleetmark.ini");
	rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_select_operands(o, &inv);
	if (rc == FM_OK && o->fingerprint != NULL && selected(&inv) != 1)
		rc = fm_fail(FM_ERR_USAGE, "--fingerprint belongs to one system");
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_agent_source(o->root, &agent);
	*status = 0;
	for (size_t i = 0; rc == FM_OK && i < inv.count; i++) {
		int one = inv.systems[i].selected ? enrol_one(o, &inv.systems[i], &home, &agent)
		                                  : FM_OK;
		int exit_code =
		        one == FM_REPORTED || one == FM_ERR_USAGE ? 2 : fm_error_status(one);

		if (one != FM_OK && one != FM_REPORTED)
			fm_out_error(one, inv.systems[i].name, "enrol", NULL);
		if (exit_code > *status)
			*status = exit_code;
	}
	fm_agent_source_free(&agent);
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc == FM_OK && *status != 0 ? FM_REPORTED : rc;
}
