/* verify.c: everything a stranger can check of a tree, offline: the seals, trust and plan here, the
 * rest in its parts. */
#include "orchestrator/verify_parts.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void fm_verify_find(struct fm_verify *v, int code, const char *where, const char *format, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (v->first == FM_OK)
		v->first = fm_fail(code, "%s: %s", where, text);
	if (v->report != NULL)
		v->report(v->arg, code, where, text);
}

void fm_verify_error(struct fm_verify *v, int code, const char *where)
{
	char text[1024];
	const char *words = fm_error_text();
	size_t len = strlen(where);

	/* the text may begin with the place that stands before it anyway */
	if (strncmp(words, where, len) == 0 && strncmp(words + len, ": ", 2) == 0)
		words += len + 2;
	(void)snprintf(text, sizeof text, "%s", words);
	if (fm_error_status(code) != 4 && code != FM_ERR_MEMORY && code != FM_ERR_INTERRUPTED)
		code = FM_ERR_FORM;
	fm_verify_find(v, code, where, "%s", text);
}

static void manifest_finding(void *arg, const char *path, const char *what)
{
	bool digest = strcmp(what, "digest") == 0;

	fm_verify_find(arg, digest ? FM_ERR_DIGEST : FM_ERR_FORM, path, "%s",
	        digest                         ? "differs from its line in " FM_MANIFEST_NAME
	        : strcmp(what, "missing") == 0 ? "is listed in " FM_MANIFEST_NAME " but not there"
	        : strcmp(what, "extra") == 0   ? "is not listed in " FM_MANIFEST_NAME
	                                       : what);
}

/* Of the folders inside, the manifest may name the three files of a seal only where one is. */
static bool inner_seal(const char *path)
{
	const char *end = strrchr(path, '/');
	size_t slashes = 0;

	if (end == NULL ||
	        (strcmp(end + 1, FM_MANIFEST_NAME) != 0 && strcmp(end + 1, FM_SIG_NAME) != 0 &&
	                strcmp(end + 1, FM_TSR_NAME) != 0))
		return true;
	for (const char *p = path; *p != '\0'; p++)
		slashes += *p == '/';
	return strncmp(path, "trust/MANIFEST", 14) == 0 ||
	       strncmp(path, "trust/handover/MANIFEST", 23) == 0 ||
	       strncmp(path, "plan/MANIFEST", 13) == 0 ||
	       (strncmp(path, "bundles/", 8) == 0 && slashes == 3);
}

/* Whoever has only the key before this one learns from trust/handover/ which one to ask for. */
static void tell_handover(struct fm_verify *v, int code)
{
	struct fm_public next;
	char line[FM_PUBLIC_LINE + 1];
	int fd = -1;

	if (fm_fs_dir(v->dirfd, "trust/handover", &fd) == FM_OK &&
	        fm_trust_successor(fd, v->anchor, &next)) {
		fm_public_line(&next, line);
		fm_verify_find(v, code, "trust/handover",
		        "the controller whose key you gave has handed over to %s; verify with that "
		        "line",
		        line);
	}
	if (fd >= 0)
		(void)close(fd);
}

void fm_verify_lines(struct fm_verify *v, fm_verify_line *one, void *arg)
{
	struct fm_manifest_source lines = fm_manifest_file_source(v->list);
	void *pass = lines.begin(lines.of);
	struct fm_manifest_entry e;
	int rc = FM_ERR_MEMORY;

	while (pass != NULL && (rc = lines.next(pass, &e)) > 0)
		one(v, &e, arg);
	if (rc != FM_OK)
		fm_verify_error(v, rc, "tree");
	lines.end(pass);
}

static void check_seal_name(struct fm_verify *v, const struct fm_manifest_entry *e, void *arg)
{
	(void)arg;
	if (!inner_seal(e->path))
		fm_verify_find(v, FM_ERR_FORM, e->path, "a name that only sealed folders have");
}

/* V1 to V4 for the tree itself: signature, grammar, types, every digest, nothing else there.
 * Findings are noted; false if nothing further can be looked at. */
static bool check_seal(struct fm_verify *v)
{
	struct fm_manifest_source lines;
	int rc = fm_seal_open(v->dirfd, FM_SEAL_TREE, v->anchor, &v->list);

	if (rc != FM_OK) {
		fm_verify_error(v, rc, "tree");
		tell_handover(v, rc);
		return false;
	}
	lines = fm_manifest_file_source(v->list);
	v->counts->files = lines.count;
	(void)snprintf(v->counts->sha256, sizeof v->counts->sha256, "%s",
	        fm_manifest_file_sha256(v->list));
	fm_verify_lines(v, check_seal_name, NULL);
	rc = fm_manifest_check_lines(v->dirfd, FM_SEAL_TREE, &lines, manifest_finding, v);
	if (rc != FM_OK && v->first == FM_OK)
		fm_verify_error(v, rc, "tree");
	return v->first == FM_OK;
}

/* V1, V5: the list of keys, its seal and the enrolment statements. */
static bool check_trust(struct fm_verify *v)
{
	int fd = -1, rc;

	if ((rc = fm_fs_dir(v->dirfd, "trust", &fd)) == FM_OK)
		rc = fm_trust_read(fd, v->anchor, &v->trust);
	if (rc != FM_OK)
		fm_verify_error(v, rc, "trust");
	if (fd >= 0)
		(void)close(fd);
	return rc == FM_OK;
}

static bool check_newer(struct fm_verify *v, int newer)
{
	int rc;

	if (newer < 0)
		return true;
	if ((rc = fm_trust_read(newer, v->anchor, &v->newer)) != FM_OK) {
		fm_verify_error(v, rc, "newer trust folder");
		return false;
	}
	v->has_newer = true;
	if (v->newer.version < v->trust.version)
		fm_verify_find(v, FM_ERR_FORM, "newer trust folder",
		        "version %lld, the tree's own has %lld", (long long)v->newer.version,
		        (long long)v->trust.version);
	return true;
}

static bool check_plan(struct fm_verify *v)
{
	int fd = -1, rc;

	if ((rc = fm_fs_dir(v->dirfd, "plan", &fd)) == FM_OK &&
	        (rc = fm_seal_check(fd, FM_SEAL_PLAN, v->anchor, v->plan_sha256, NULL)) == FM_OK)
		rc = fm_plan_read(fd, &v->plan);
	if (rc != FM_OK)
		fm_verify_error(v, rc, "plan");
	if (fd >= 0)
		(void)close(fd);
	return rc == FM_OK;
}

static bool check_tree(struct fm_verify *v)
{
	int rc = fm_tree_open(v->dirfd, &v->tree);

	v->counts->publish = v->plan.publish;
	(void)snprintf(v->counts->campaign, sizeof v->counts->campaign, "%s", v->plan.campaign);
	if (rc != FM_OK)
		fm_verify_error(v, rc, "tree.json");
	return rc == FM_OK && fm_verify_tree(v);
}

int fm_tree_verify(int dirfd, const struct fm_public *anchor, int newer_trust,
        fm_verify_report *report, void *arg, struct fm_verify_counts *counts)
{
	struct fm_verify_counts ours;
	struct fm_verify v = {.dirfd = dirfd,
	        .anchor = anchor,
	        .report = report,
	        .arg = arg,
	        .counts = counts != NULL ? counts : &ours};

	memset(v.counts, 0, sizeof *v.counts);
	if (check_seal(&v) && check_trust(&v) && check_newer(&v, newer_trust) && check_plan(&v) &&
	        check_tree(&v))
		fm_verify_bundles(&v);
	fm_tree_free(&v.tree);
	fm_plan_free(&v.plan);
	fm_trust_free(&v.trust);
	fm_trust_free(&v.newer);
	fm_manifest_file_close(v.list);
	return v.first;
}
