/* cmd_remove.c: `fleetmark remove SYSTEM...`: takes everything of ours off hosts, with the
 * operator's word. */
#include "orchestrator/command.h"
#include "orchestrator/home.h"
#include "orchestrator/inventory.h"
#include "orchestrator/out.h"
#include "orchestrator/select_sets.h"
#include "orchestrator/session.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CALL_MAX      4096
#define REMOVE_WAIT_S 300

static int ask(const struct fm_system *sys, bool yes)
{
	char answer[16];

	if (yes)
		return FM_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return fm_fail(FM_ERR_USAGE,
		        "deletes agent, sources, jobs and key below %s there; to do it: fleetmark "
		        "remove --yes %s",
		        sys->workdir, sys->name);
	fm_say("%s: delete agent, sources, jobs and key below %s there? [y/N]", sys->name,
	        sys->workdir);
	if (fgets(answer, sizeof answer, stdin) == NULL || (answer[0] != 'y' && answer[0] != 'Y'))
		return fm_fail(FM_ERR_USAGE, "%s: nothing removed, as you said", sys->name);
	return FM_OK;
}

static int remove_all(struct fm_session *s, const struct fm_system *sys)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	const char *left;
	bool clean = true;
	int rc = fm_call_begin(&call, "remove");

	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(s, &call, NULL, 0, &reply, REMOVE_WAIT_S);
	while (rc == FM_OK && fm_text_maybe(&reply, "left", &left)) {
		fm_say("%s: %s/%s is not ours and stays", sys->name, sys->workdir, left);
		clean = false;
	}
	if (rc == FM_OK)
		rc = fm_text_close(&reply);
	if (rc == FM_OK)
		fm_result("%s: %s", sys->name,
		        clean ? "nothing of ours is left there" : "all of ours is gone");
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

static int remove_one(const struct fm_options *o, const struct fm_system *sys,
        const struct fm_home *home, const struct fm_agent_source *agent)
{
	struct fm_session *s = NULL;
	int rc = ask(sys, o->yes);

	if (rc == FM_OK)
		rc = fm_session_open(&s, sys, home, agent, -1, -1);
	if (rc == FM_OK)
		rc = remove_all(s, sys);
	fm_session_close(s);
	if (rc == FM_OK)
		fm_out_event(
		        &(struct fm_event){.event = "removed", .system = sys->name, .quiet = true});
	return rc;
}

int fm_cmd_remove(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	struct fm_agent_source agent = {0};
	int rc;

	*status = 0;
	if (o->inventory == NULL)
		return fm_fail(FM_ERR_USAGE, "no inventory: give -i FILE or write ./fleetmark.ini");
	rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_select_operands(o, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_agent_source(o->root, &agent);
	for (size_t i = 0; rc == FM_OK && i < inv.count; i++) {
		const struct fm_system *sys = &inv.systems[i];
		int one;

		if (!sys->selected)
			continue;
		if (o->dry_run) {
			fm_result(
			        "%s: would delete what is ours below %s", sys->name, sys->workdir);
			continue;
		}
		one = remove_one(o, sys, &home, &agent);
		if (one == FM_OK)
			continue;
		fm_out_error(one, sys->name, "remove",
		        one == FM_ERR_BUSY ? "fleetmark cancel NAME, then again" : NULL);
		*status = fm_error_status(one) > *status ? fm_error_status(one) : *status;
	}
	fm_agent_source_free(&agent);
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc == FM_OK && *status != 0 ? FM_REPORTED : rc;
}
