/* host_identity.c: is this the machine the plan means, and has no other system of this run the same
 * one? */
#include "orchestrator/host.h"
#include "orchestrator/install_hint.h"
#include "orchestrator/out.h"
#include "protocol/identity.h"
#include <stdio.h>
#include <string.h>

static int check_enrolled(struct fm_host *h, const struct fm_facts *f)
{
	char planned[FM_PUBLIC_LINE + 1], ours[FM_PUBLIC_LINE + 1];
	const char *name = h->system->name;

	fm_public_line(&h->planned->key, planned);
	fm_public_line(fm_identity_public(h->campaign->home->id), ours);
	if (f->key[0] == '\0')
		return fm_fail(FM_ERR_UNENROLLED,
		        "the host has no key (work folder emptied, or another machine?); run: "
		        "fleetmark enrol %s, then name a new campaign",
		        name);
	if (strcmp(f->key, planned) != 0)
		return fm_fail(FM_ERR_UNENROLLED,
		        "the host's key is not the one in the plan; after fleetmark enrol %s only "
		        "a "
		        "new campaign can use it",
		        name);
	if (strcmp(f->controller, ours) != 0)
		return fm_fail(FM_ERR_UNENROLLED,
		        f->controller[0] == '\0'
		                ? "the host knows no controller; run: fleetmark enrol %s"
		                : "the host obeys another controller; its owner can remove "
		                  "controller.pub there, then: fleetmark enrol %s",
		        name);
	return FM_OK;
}

int fm_facts_fit(const struct fm_facts *f, const char *arch)
{
	char names[520] = "", hint[400];
	size_t used = 0;

	if (strcmp(f->arch, arch) != 0)
		return fm_fail(FM_ERR_ARCH,
		        "the inventory says arch = %s, the host runs %s programs; correct the "
		        "inventory",
		        arch, f->arch);
	for (size_t i = 0; i < f->missing_count && used < sizeof names - 70; i++)
		used += (size_t)snprintf(
		        names + used, sizeof names - used, "%s%s", i > 0 ? " " : "", f->missing[i]);
	if (used > 0)
		return fm_fail(FM_ERR_MISSING,
		        "the host lacks %s; install there: %s", names,
		        fm_install_hint(f->os, names, hint, sizeof hint));
	return FM_OK;
}

/* Compares with who has been seen; enters this one. A system that connects again compares with
 * itself last. */
static int check_machine(struct fm_host *h, const struct fm_facts *f)
{
	struct fm_campaign *c = h->campaign;
	struct fm_machine *m = NULL;
	const char *key = fm_session_host_key(h->session);
	char clone[FM_NAME_MAX + 1] = "", shared[FM_NAME_MAX + 1] = "";
	int rc = FM_OK;

	pthread_mutex_lock(&c->mutex);
	for (size_t i = 0; rc == FM_OK && i < c->machine_count; i++) {
		const struct fm_machine *o = &c->machines[i];

		if (strcmp(o->system, h->system->name) == 0)
			m = &c->machines[i];
		else if (strcmp(o->boot, f->boot) == 0)
			rc = fm_fail(FM_ERR_SAME_MACHINE,
			        "%s and %s are one machine (same boot-id); take one of them out of "
			        "the inventory",
			        h->system->name, o->system);
		else if (strcmp(o->machine, f->machine) == 0)
			snprintf(clone, sizeof clone, "%s", o->system);
		else if (strcmp(o->host_key, key) == 0 && strcmp(key, "local") != 0)
			snprintf(shared, sizeof shared, "%s", o->system);
	}
	if (rc == FM_OK && m == NULL) {
		m = fm_grow(&c->machines, &c->machine_count, sizeof *m);
		rc = m == NULL ? FM_ERR_MEMORY : FM_OK;
	}
	if (rc == FM_OK) {
		snprintf(m->system, sizeof m->system, "%s", h->system->name);
		snprintf(m->machine, sizeof m->machine, "%s", f->machine);
		snprintf(m->boot, sizeof m->boot, "%s", f->boot);
		snprintf(m->host_key, sizeof m->host_key, "%s", key);
	}
	pthread_mutex_unlock(&c->mutex);
	if (rc == FM_OK && clone[0] != '\0')
		fm_say("%s: warning: same machine-id as %s, other boot: a cloned image?",
		        h->system->name, clone);
	if (rc == FM_OK && shared[0] != '\0')
		fm_say("%s: warning: shares its SSH host key with %s", h->system->name, shared);
	return rc;
}

int fm_host_identity(struct fm_host *h)
{
	const struct fm_facts *f = fm_session_facts(h->session);
	int rc = fm_facts_fit(f, h->system->arch);

	if (rc == FM_OK)
		rc = check_machine(h, f);
	if (rc == FM_OK)
		rc = check_enrolled(h, f);
	if (rc == FM_OK && f->emulator[0] != '\0' && !h->reached)
		fm_say("%s: EMULATED (%s): its times are not comparable with others",
		        h->system->name, f->emulator);
	return rc;
}
