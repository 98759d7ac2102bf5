/* select_sets.c: which systems a command is about: -l with the sets of the campaign's journal, or
 * its operands. */
#include "orchestrator/select_sets.h"
#include "orchestrator/campaign.h"
#include "protocol/buf.h"
#include <stdlib.h>
#include <string.h>

static bool accepted_all(struct fm_campaign *c, const char *system)
{
	for (size_t i = 0; i < c->plan.candidates.count; i++) {
		struct fm_job job;
		bool found = false;

		if (fm_journal_accepted_job(c->journal, system, c->plan.candidates.list[i].id, &job,
		            &found) != FM_OK ||
		        !found)
			return false;
	}
	return true;
}

int fm_select_systems(const struct fm_options *o, struct fm_inventory *inv, struct fm_home *home)
{
	struct fm_campaign c;
	const char **failed = NULL, **away = NULL;
	size_t f = 0, a = 0;
	int rc;

	if (o->limit == NULL)
		return FM_OK;
	if (strchr(o->limit, '@') == NULL)
		return fm_inventory_select(inv, o->limit, NULL, NULL);
	rc = fm_campaign_look(&c, o, inv, home, false);
	if (rc != FM_OK)
		return fm_wrap(rc, "-l %s", o->limit);
	failed = fm_alloc_array(c.plan.system_count + 1, sizeof *failed);
	away = fm_alloc_array(c.plan.system_count + 1, sizeof *away);
	rc = failed == NULL || away == NULL ? FM_ERR_MEMORY : FM_OK;
	for (size_t i = 0; rc == FM_OK && i < c.plan.system_count; i++) {
		const char *name = c.plan.systems[i].name;
		char klass[24], reason[24], text[256];

		fm_journal_host_state(c.journal, name, klass, reason, text);
		if (strcmp(klass, "transport") == 0)
			away[a++] = name;
		if (!accepted_all(&c, name))
			failed[f++] = name;
	}
	if (rc == FM_OK)
		rc = fm_inventory_select(inv, o->limit, failed, away);
	free(failed);
	free(away);
	fm_campaign_close(&c);
	return rc;
}

int fm_select_operands(const struct fm_options *o, struct fm_inventory *inv)
{
	struct fm_buf pattern = FM_BUF_INIT(1u << 16);
	int rc = FM_OK;

	for (int i = 0; rc == FM_OK && i < o->argc; i++)
		rc = fm_buf_printf(&pattern, "%s%s", i > 0 ? "," : "", o->argv[i]);
	if (rc == FM_OK)
		rc = fm_inventory_select(inv, pattern.data, NULL, NULL);
	fm_buf_free(&pattern);
	return rc;
}
