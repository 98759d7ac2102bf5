/* cmd_report.c: `fleetmark report`: pages and data/ of a tree again, or pages of a published data
 * set. */
#include "orchestrator/command.h"
#include "orchestrator/out.h"
#include "orchestrator/report.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int report_data(const struct fm_options *o, bool *differs)
{
	int rc;

	if (o->argc != 0)
		return fm_fail(FM_ERR_USAGE, "report: a tree and --data DIR exclude each other");
	if (o->output == NULL)
		return fm_fail(
		        FM_ERR_USAGE, "report --data DIR: -o FOLDER says where the pages go");
	rc = fm_report_data(o->data, o->root, o->layout, o->output, o->check);
	*differs = rc == FM_ERR_DIGEST;
	return rc;
}

/* A sealed tree in which a file is missing, extra or changed gets no pages. Whether the right key
 * sealed it is what `verify` tells. */
static int check_files(int tree, const char *name)
{
	int rc = fm_seal_check_files(tree, FM_SEAL_TREE);

	return rc == FM_OK ? FM_OK
	                   : fm_wrap(rc,
	                             "%s is not what was sealed, so it gets no pages "
	                             "(fleetmark verify lists all that is wrong)",
	                             name);
}

static int report_tree(const struct fm_options *o, bool *differs)
{
	int tree = -1, out = -1, rc;
	bool sealed;

	if (o->argc != 1)
		return fm_fail(FM_ERR_USAGE,
		        "report: one tree (a folder results/CAMPAIGN), or --data DIR -o FOLDER");
	if (o->layout != NULL && strcmp(o->layout, "fleetmark") != 0)
		return fm_fail(FM_ERR_USAGE,
		        "--layout: read %.40s, allowed for a tree is fleetmark", o->layout);
	if ((rc = fm_fs_dir(AT_FDCWD, o->argv[0], &tree)) != FM_OK)
		return rc;
	if (faccessat(tree, "plan", F_OK, 0) != 0) {
		close(tree);
		return fm_fail(FM_ERR_USAGE,
		        "report: %s is no tree (a folder results/CAMPAIGN); a data set of the "
		        "published harness is read by --data",
		        o->argv[0]);
	}
	sealed = faccessat(tree, FM_SIG_NAME, F_OK, 0) == 0;
	if (sealed && (rc = check_files(tree, o->argv[0])) != FM_OK)
		goto out;
	if (o->output == NULL) {
		/* a sealed tree is never written into: its pages are compared */
		rc = fm_report_tree_to(tree, tree, o->base, o->check || sealed, true);
		if (rc == FM_OK)
			fm_say(o->check || sealed
			                ? "report: every derived file follows from the samples"
			                : "report: data/ and pages written");
		else if (rc == FM_ERR_DIGEST && sealed)
			fm_wrap(rc, "the sealed tree keeps its pages; -o FOLDER writes these ones "
			            "elsewhere");
	} else if ((rc = o->check ? fm_fs_dir(AT_FDCWD, o->output, &out)
	                          : fm_fs_mkdirs(AT_FDCWD, o->output, 0755, &out)) == FM_OK) {
		rc = fm_report_tree_to(tree, out, o->base, o->check, true);
		close(out);
		if (rc == FM_OK && !o->check)
			fm_say("report: data/ and pages written to %s", o->output);
	}
	*differs = rc == FM_ERR_DIGEST;
out:
	close(tree);
	return rc;
}

int fm_cmd_report(const struct fm_options *o, int *status)
{
	bool differs = false;
	int rc = fm_crypto_init();

	if (rc == FM_OK)
		rc = o->data != NULL ? report_data(o, &differs) : report_tree(o, &differs);
	if (!differs)
		return rc;
	fm_out_error(rc, NULL, "report",
	        NULL); /* a difference found: exit status 1, as `cmp` and `diff` have it */
	*status = 1;
	return FM_REPORTED;
}
