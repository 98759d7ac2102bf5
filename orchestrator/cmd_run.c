/* cmd_run.c: `fleetmark run [NAME]`: the whole campaign; resumes an unfinished one. */
#include "orchestrator/command.h"
#include "orchestrator/out.h"
#include "orchestrator/run.h"
#include "orchestrator/select_sets.h"
#include <stdlib.h>

int fm_cmd_run(const struct fm_options *o, int *status)
{
	struct fm_inventory inv = {0};
	struct fm_home home = {.dirfd = -1};
	char *path = NULL;
	int rc;

	if (o->dry_run)
		return fm_cmd_plan(o, status);
	if (o->inventory == NULL)
		return fm_fail(FM_ERR_USAGE,
		        "no inventory: give -i FILE or write ./fleetmark.ini; to measure only this "
		        "machine: fleetmark try");
	rc = fm_inventory_load(o->inventory, &inv);
	if (rc == FM_OK)
		rc = fm_home_open(&home);
	if (rc == FM_OK)
		rc = fm_home_key(&home);
	if (rc == FM_OK)
		rc = fm_select_systems(o, &inv, &home);
	if (rc == FM_OK)
		rc = fm_run_campaign(o, &inv, &home, status, &path);
	free(path);
	fm_home_close(&home);
	fm_inventory_free(&inv);
	return rc;
}
