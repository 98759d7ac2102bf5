/* cmd_keygen.c: `fleetmark keygen`: makes the controller's key, or shows the one that is there. */
#include "orchestrator/home.h"
#include "orchestrator/out.h"

int fm_cmd_keygen(const struct fm_options *o, int *status)
{
	char line[FM_PUBLIC_LINE + 1], shown[FM_FINGERPRINT];
	struct fm_home home;
	int rc;

	*status = 0;
	if (o->dry_run) {
		fm_result("would make the controller's key unless it is there");
		return FM_OK;
	}
	if ((rc = fm_home_open(&home)) != FM_OK)
		return rc;
	if ((rc = fm_home_key(&home)) == FM_OK) {
		fm_public_line(fm_identity_public(home.id), line);
		fm_public_fingerprint(fm_identity_public(home.id), shown);
		fm_result("%s", line);
		fm_say("fingerprint %s, in %s/controller.pub", shown, home.path);
	}
	fm_home_close(&home);
	return rc;
}
