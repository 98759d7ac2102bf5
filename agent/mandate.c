/* mandate.c: decides whether this host obeys a plan and a dispatch, and remembers which nonces it
 * has seen. */
#include "agent/mandate.h"
#include "protocol/lines.h"
#include "protocol/seal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int own_keys(const struct fm_agent *a, struct fm_public *key, struct fm_public *controller)
{
	char line[FM_PUBLIC_LINE + 1];
	int rc;

	if ((rc = fm_agent_public_line(a, FM_AGENT_CONTROLLER, line)) != FM_OK)
		return rc;
	if (strcmp(line, "none") == 0)
		return fm_fail(
		        FM_ERR_UNENROLLED, "this host obeys no controller yet: enrol it first");
	if ((rc = fm_public_parse(line, controller)) != FM_OK ||
	        (rc = fm_agent_public_line(a, FM_AGENT_KEY_PUB, line)) != FM_OK)
		return rc;
	if (strcmp(line, "none") == 0)
		return fm_fail(FM_ERR_UNENROLLED, "this host has no key: enrol it first");
	return fm_public_parse(line, key);
}

/* Reads and parses one text of the plan, after its digest was compared with the sealed manifest. */
static int read_text(int dir, const struct fm_manifest_entry *e, struct fm_jobplan *plan)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX);
	char hex[65];
	int rc = fm_fs_read(dir, e->path, FM_TEXT_MAX, &text);

	if (rc == FM_OK) {
		fm_sha256_hex(text.data == NULL ? "" : text.data, text.len, hex);
		rc = strcmp(hex, e->hex) != 0
		             ? fm_fail(FM_ERR_DIGEST, "%s is not the sealed file", e->path)
		             : fm_jobplan_parse(text.data, text.len, plan);
	}
	fm_buf_free(&text);
	return rc;
}

/* jobs/<system>.txt, or the first of jobs/ that was sent and names our key. */
static int find_text(int dir, const struct fm_manifest *m, const char *system,
        const struct fm_public *key, struct fm_jobplan *plan)
{
	char path[FM_NAME_MAX + 12];
	const struct fm_manifest_entry *e;
	int rc;

	if (system != NULL) {
		snprintf(path, sizeof path, "jobs/%s.txt", system);
		e = fm_manifest_find(m, path);
		if (e == NULL)
			return fm_fail(FM_ERR_REFUSED, "the plan has no system %s", system);
		return read_text(dir, e, plan);
	}
	for (size_t i = 0; i < m->count; i++) {
		e = &m->entries[i];
		if (strncmp(e->path, "jobs/", 5) != 0 || faccessat(dir, e->path, R_OK, 0) != 0)
			continue;
		if ((rc = read_text(dir, e, plan)) != FM_OK)
			return rc;
		if (fm_public_equal(&plan->key, key))
			return FM_OK;
		fm_jobplan_free(plan);
	}
	return fm_fail(FM_ERR_REFUSED, "no job text of the plan names this host's key");
}

static int obey(const struct fm_agent *a, const struct fm_public *key, const struct fm_jobplan *p)
{
	if (!fm_public_equal(&p->key, key))
		return fm_fail(
		        FM_ERR_REFUSED, "the plan's key for %s is not this host's key", p->system);
	if (strcmp(p->arch, FM_ARCH) != 0)
		return fm_fail(FM_ERR_ARCH, "the plan wants %s, this host is " FM_ARCH, p->arch);
	if (strcmp(p->agent_source, a->source) != 0)
		return fm_fail(FM_ERR_REFUSED,
		        "the plan wants the agent of source %.12s, this one is %.12s",
		        p->agent_source, a->source);
	return FM_OK;
}

int fm_mandate_plan(const struct fm_agent *a, int jobdir, const char *plan, const char *system,
        struct fm_mandate *out)
{
	struct fm_manifest m = {NULL, 0, NULL};
	struct fm_public key;
	int dir = -1, rc;

	memset(out, 0, sizeof *out);
	if ((rc = own_keys(a, &key, &out->controller)) != FM_OK ||
	        (rc = fm_fs_dir(jobdir, plan, &dir)) != FM_OK ||
	        (rc = fm_seal_check_manifest(
	                 dir, FM_SEAL_PLAN, &out->controller, out->plan_sha256, &m)) != FM_OK ||
	        (rc = find_text(dir, &m, system, &key, &out->plan)) != FM_OK ||
	        (rc = obey(a, &key, &out->plan)) != FM_OK)
		rc = fm_wrap(rc, "plan");
	if (dir >= 0)
		close(dir);
	fm_manifest_free(&m);
	if (rc != FM_OK)
		fm_mandate_free(out);
	return rc;
}

int fm_mandate_load(const struct fm_agent *a, int jobdir, const char *campaign,
        const void *dispatch, size_t len, struct fm_mandate *out)
{
	struct fm_dispatch d;
	int rc = fm_dispatch_parse(dispatch, len, &d);

	memset(out, 0, sizeof *out);
	if (rc != FM_OK)
		return rc;
	rc = fm_mandate_plan(a, jobdir, "plan", d.system, out);
	if (rc != FM_OK) {
		fm_dispatch_free(&d);
		return rc;
	}
	out->dispatch = d;
	if (strcmp(d.campaign, campaign) != 0 || strcmp(out->plan.campaign, campaign) != 0)
		rc = fm_fail(FM_ERR_REFUSED, "job: campaign %s, the plan's is %s, called was %s",
		        d.campaign, out->plan.campaign, campaign);
	else if (strcmp(d.plan_sha256, out->plan_sha256) != 0)
		rc = fm_fail(FM_ERR_REFUSED, "job: made for plan %.12s, here is plan %.12s",
		        d.plan_sha256, out->plan_sha256);
	for (size_t i = 0; rc == FM_OK && i < d.item_count; i++)
		if (fm_jobplan_candidate(&out->plan, d.items[i].candidate) == NULL)
			rc = fm_fail(FM_ERR_REFUSED, "job: candidate %s is not in the plan of %s",
			        d.items[i].candidate, d.system);
	if (rc != FM_OK)
		fm_mandate_free(out);
	return rc;
}

void fm_mandate_free(struct fm_mandate *m)
{
	fm_jobplan_free(&m->plan);
	fm_dispatch_free(&m->dispatch);
	memset(m, 0, sizeof *m);
}

struct ledger {
	const struct fm_mandate *m;
	bool *seen; /* per item: noted before, for exactly this */
};

static int look(void *arg, const struct fm_line *line)
{
	struct ledger *l = arg;
	const struct fm_mandate *m = l->m;
	const char *nonce = fm_line_get(line, "nonce");

	for (size_t i = 0; nonce != NULL && i < m->dispatch.item_count; i++) {
		const struct fm_dispatch_item *it = &m->dispatch.items[i];

		if (strcmp(it->nonce, nonce) != 0)
			continue;
		if (!fm_streq(fm_line_get(line, "campaign"), m->dispatch.campaign) ||
		        !fm_streq(fm_line_get(line, "plan"), m->plan_sha256) ||
		        !fm_streq(fm_line_get(line, "candidate"), it->candidate) ||
		        fm_line_u64(line, "attempt", 0) != it->attempt)
			return fm_fail(FM_ERR_REFUSED, "job: the nonce of %s was used here before",
			        it->candidate);
		l->seen[i] = true;
	}
	return FM_OK;
}

int fm_mandate_note(const struct fm_agent *a, const struct fm_mandate *m)
{
	struct ledger l = {m, fm_alloc_array(m->dispatch.item_count, sizeof(bool))};
	struct fm_lines *lines = NULL;
	char attempt[12];
	int rc = l.seen == NULL ? FM_ERR_MEMORY : FM_OK, closed;

	if (rc == FM_OK)
		rc = fm_lines_open(&lines, a->dir, "nonces", look, &l, NULL);
	for (size_t i = 0; rc == FM_OK && i < m->dispatch.item_count; i++) {
		const struct fm_dispatch_item *it = &m->dispatch.items[i];

		if (l.seen[i])
			continue;
		snprintf(attempt, sizeof attempt, "%u", it->attempt);
		rc = fm_lines_put(lines, "nonce", "nonce", it->nonce, "campaign",
		        m->dispatch.campaign, "plan", m->plan_sha256, "candidate", it->candidate,
		        "attempt", attempt, NULL);
	}
	if (rc == FM_OK)
		rc = fm_lines_sync(lines);
	closed = fm_lines_close(lines);
	free(l.seen);
	return rc != FM_OK ? rc : closed;
}
