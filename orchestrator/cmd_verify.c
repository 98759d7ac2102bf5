/* cmd_verify.c: `fleetmark verify TREE`: offline, any tree; one line per finding, exit 4 if there
 * is one. */
#include "orchestrator/anchor.h"
#include "orchestrator/command.h"
#include "orchestrator/out.h"
#include "orchestrator/report.h"
#include "orchestrator/tree.h"
#include "protocol/fs.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct findings {
	size_t count;
	bool json; /* then an event is all */
};

static void print_finding(void *arg, int code, const char *where, const char *text)
{
	struct findings *f = arg;
	char shown_where[FM_PATH_MAX * 2], shown[1200];
	struct fm_event e = {.event = "finding",
	        .klass = fm_error_class(code),
	        .reason = fm_error_reason(code),
	        .quiet = true};

	f->count++;
	(void)fm_escape(where, strlen(where), shown_where, sizeof shown_where);
	(void)fm_escape(text, strlen(text), shown, sizeof shown);
	if (!f->json)
		fm_result("FAIL: %s: %s: %s", fm_error_reason(code), shown_where, shown);
	e.where = where;
	e.text = text;
	fm_out_event(&e);
}

static void print_summary(const struct fm_verify_counts *c, const struct fm_public *anchor)
{
	char fingerprint[FM_FINGERPRINT];

	fm_public_fingerprint(anchor, fingerprint);
	fm_result(
	        "PASS %s %s%s", c->campaign, c->sha256, c->publish ? "" : " (not for publication)");
	fm_result("  %zu files, %zu bundles; cells: %zu accepted, %zu failed, %zu missing, %zu "
	          "rejected",
	        c->files, c->bundles, c->cells_accepted, c->cells_failed, c->cells_missing,
	        c->cells_rejected);
	fm_result("  signed by controller %s", fingerprint);
}

static void event_summary(const struct fm_verify_counts *c, int code)
{
	struct fm_event e = {.event = code == FM_OK ? "verified" : "refused",
	        .text = c->sha256,
	        .done = c->cells_accepted,
	        .quiet = true,
	        .total =
	                c->cells_accepted + c->cells_failed + c->cells_missing + c->cells_rejected};

	if (code != FM_OK) {
		e.klass = fm_error_class(code);
		e.reason = fm_error_reason(code);
	}
	fm_out_event(&e);
}

/* A tree of any age: what another version wrote differs from what this one would write. Its bytes
 * are sealed and the samples hold, so that is said, not refused; the version that wrote them can
 * compare them. */
static bool another_form(int dirfd, int *rc)
{
	char program[FM_REPORT_PROGRAM_MAX], text[900];
	struct fm_event e = {.event = "note", .text = text, .quiet = true};

	if (*rc != FM_ERR_DIGEST || !fm_report_other_program(dirfd, program))
		return false;
	(void)snprintf(text, sizeof text,
	        "data/ and pages were not compared: %s wrote them, in another form than this "
	        "fleetmark " FM_VERSION " (%s)",
	        program, fm_error_text());
	fm_result("note: %s", text);
	fm_out_event(&e);
	*rc = FM_OK;
	return true;
}

static int verify_tree(
        int dirfd, const struct fm_options *o, const struct fm_public *anchor, int newer)
{
	struct fm_verify_counts counts;
	char print[FM_FINGERPRINT];
	struct findings findings = {.json = o->json};
	int rc = fm_tree_verify(dirfd, anchor, newer, print_finding, &findings, &counts);

	/* data/ and pages follow from the samples: only a good tree's are worth computing again */
	if (rc == FM_OK && (rc = fm_report_tree(dirfd, o->base, true)) != FM_OK &&
	        !another_form(dirfd, &rc))
		print_finding(&findings, rc, "derived files", fm_error_text());
	if (rc == FM_OK && !o->json)
		print_summary(&counts, anchor);
	event_summary(&counts, rc);
	if (rc != FM_OK) {
		fm_public_fingerprint(anchor, print);
		fm_say("verify: checked with the controller's key %s; another controller's key is "
		       "given with --key FILE",
		        print);
	}
	return rc == FM_OK ? FM_OK
	                   : fm_fail(FM_ERR_SIGNATURE, "%zu finding%s", findings.count,
	                             findings.count == 1 ? "" : "s");
}

int fm_cmd_verify(const struct fm_options *o, int *status)
{
	struct fm_public anchor;
	int rc, dirfd = -1, newer = -1;

	if (o->argc != 1) {
		rc = fm_fail(FM_ERR_USAGE,
		        "verify takes one tree, for example: fleetmark verify results/NAME");
		goto out;
	}
	if ((rc = fm_anchor_read(o, &anchor)) != FM_OK)
		goto out;
	if ((rc = fm_fs_dir(AT_FDCWD, o->argv[0], &dirfd)) != FM_OK ||
	        (o->trust != NULL && (rc = fm_fs_dir(AT_FDCWD, o->trust, &newer)) != FM_OK)) {
		rc = fm_wrap(FM_ERR_USAGE, "verify");
		goto out;
	}
	rc = verify_tree(dirfd, o, &anchor, newer);
out:
	if (dirfd >= 0)
		(void)close(dirfd);
	if (newer >= 0)
		(void)close(newer);
	*status = fm_error_status(rc);
	return rc;
}
