/* plan.c: receives a sealed plan and keeps it only if this host obeys it. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/mandate.h"
#include "protocol/seal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILES 4096
#define PLAN_MAX  (256u << 20)
#define FILE_MAX  (64u << 20)

struct plan_file {
	const char *path; /* in the call's text */
	size_t bytes;
};
struct incoming {
	struct plan_file *files;
	size_t count, bytes;
	struct fm_buf data;
};

/* "<bytes> <path>" */
static int take_files(struct incoming *in, struct fm_text *call)
{
	const char *value;

	while (fm_text_maybe(call, "file", &value)) {
		struct plan_file *f = fm_grow(&in->files, &in->count, sizeof *f);
		const char *space = strchr(value, ' ');
		char number[24] = "";
		uint64_t bytes = 0;

		if (f == NULL)
			return FM_ERR_MEMORY;
		if (space != NULL && space - value < (long)sizeof number)
			snprintf(number, sizeof number, "%.*s", (int)(space - value), value);
		if (in->count > MAX_FILES || space == NULL || !fm_path_ok(space + 1) ||
		        fm_parse_u64(number, FILE_MAX, &bytes) != FM_OK)
			return fm_fail(FM_ERR_FORM,
			        "plan: read file '%.100s', allowed is <bytes> <path>", value);
		f->path = space + 1;
		f->bytes = (size_t)bytes;
		in->bytes += f->bytes;
		if (in->bytes > PLAN_MAX)
			return fm_fail(FM_ERR_SIZE, "plan: more than %u bytes", PLAN_MAX);
	}
	return fm_text_close(call);
}

static int collect(void *arg, const void *bytes, size_t len)
{
	struct incoming *in = arg;

	return fm_buf_put(&in->data, bytes, len);
}

static int write_files(const struct incoming *in, int dir)
{
	const char *at = in->data.data == NULL ? "" : in->data.data;
	int rc = FM_OK;

	if (in->data.len != in->bytes)
		return fm_fail(FM_ERR_SIZE, "plan: %zu bytes came, %zu were announced",
		        in->data.len, in->bytes);
	for (size_t i = 0; rc == FM_OK && i < in->count; i++) {
		rc = fm_fs_write_deep(dir, in->files[i].path, at, in->files[i].bytes, 0644);
		at += in->files[i].bytes;
	}
	return rc;
}

/* Every received file but the seal itself is one that the seal names, unchanged; the vectors of the
 * plan are all there. */
static int check_files(const struct incoming *in, int dir, const struct fm_mandate *m)
{
	struct fm_manifest list = {NULL, 0, NULL};
	const struct fm_manifest_entry *e;
	char hex[65];
	int rc = fm_seal_check_manifest(dir, FM_SEAL_PLAN, &m->controller, NULL, &list);

	for (size_t i = 0; rc == FM_OK && i < in->count; i++) {
		const char *path = in->files[i].path;

		if (strcmp(path, FM_MANIFEST_NAME) == 0 || strcmp(path, FM_SIG_NAME) == 0 ||
		        strcmp(path, FM_TSR_NAME) == 0)
			continue;
		e = fm_manifest_find(&list, path);
		if (e == NULL)
			rc = fm_fail(FM_ERR_DIGEST, "plan: %s is not in the sealed list", path);
		else if ((rc = fm_fs_sha256(dir, path, hex, NULL)) == FM_OK &&
		         strcmp(hex, e->hex) != 0)
			rc = fm_fail(FM_ERR_DIGEST, "plan: %s is not the sealed file", path);
	}
	for (size_t i = 0; rc == FM_OK && i < m->plan.candidate_count; i++) {
		const char *path = m->plan.candidates[i].vectors_file;

		if (path != NULL && (fm_manifest_find(&list, path) == NULL ||
		                            faccessat(dir, path, R_OK, 0) != 0))
			rc = fm_fail(FM_ERR_REFUSED, "plan: %s is not there", path);
	}
	fm_manifest_free(&list);
	return rc;
}

/* Digest of the plan in a job folder, "" where there is none. */
static void plan_of(int jobs, const char *name, char hex[65])
{
	char path[FM_NAME_MAX + 40];

	snprintf(path, sizeof path, "%s/plan/%s", name, FM_MANIFEST_NAME);
	if (fm_fs_sha256(jobs, path, hex, NULL) != FM_OK)
		hex[0] = '\0';
}

/* The same plan is already there: nothing to do. Another one under this name (a controller works
 * from another results folder): its job folder steps aside, whole, and comes back when its plan
 * does; until then it is an old job like others to fm_job_tidy. */
static int install(int jobs, const char *temporary, const char *campaign, const char *plan_sha256)
{
	char hex[65], aside[FM_NAME_MAX + 1], path[FM_NAME_MAX + 40];
	int rc;

	plan_of(jobs, campaign, hex);
	if (strcmp(hex, plan_sha256) == 0)
		return FM_OK;
	if ((rc = fm_door_refuse_busy("plan")) != FM_OK)
		return rc;
	snprintf(aside, sizeof aside, "aside-%.32s", hex);
	if (hex[0] == '\0')
		rc = fm_fs_remove(jobs, campaign);
	else if ((rc = fm_fs_remove(jobs, aside)) == FM_OK)
		rc = fm_fs_rename(jobs, campaign, aside);
	if (rc != FM_OK)
		return rc;
	snprintf(aside, sizeof aside, "aside-%.32s", plan_sha256);
	plan_of(jobs, aside, hex);
	if (strcmp(hex, plan_sha256) == 0)
		return fm_fs_rename(jobs, aside, campaign);
	if (mkdirat(jobs, campaign, 0700) != 0)
		return fm_fail_errno("jobs/%s", campaign);
	snprintf(path, sizeof path, "%s/plan", campaign);
	return fm_fs_rename(jobs, temporary, path);
}

int fm_call_plan(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct incoming in = {NULL, 0, 0, FM_BUF_INIT(PLAN_MAX)};
	struct fm_mandate m;
	char campaign[FM_NAME_MAX + 1], want[65], temporary[40] = "", random[17];
	int jobs = -1, dir = -1, rc;

	(void)reply;
	memset(&m, 0, sizeof m);
	if ((rc = fm_call_campaign(call, campaign)) != FM_OK ||
	        (rc = fm_text_take_hex(call, "plan_sha256", want)) != FM_OK ||
	        (rc = take_files(&in, call)) != FM_OK ||
	        (rc = fm_attach_data(at, PLAN_MAX, collect, &in)) != FM_OK ||
	        (rc = fm_fs_mkdirs(at->agent->dir, "jobs", 0700, &jobs)) != FM_OK)
		goto out;
	fm_random_hex(8, random);
	snprintf(temporary, sizeof temporary, ".plan-%s", random);
	if ((rc = fm_fs_mkdirs(jobs, temporary, 0755, &dir)) != FM_OK ||
	        (rc = write_files(&in, dir)) != FM_OK ||
	        (rc = fm_mandate_plan(at->agent, jobs, temporary, NULL, &m)) != FM_OK ||
	        (rc = check_files(&in, dir, &m)) != FM_OK)
		goto out;
	if (strcmp(m.plan_sha256, want) != 0)
		rc = fm_fail(FM_ERR_REFUSED, "plan: called for %.12s, sealed is %.12s", want,
		        m.plan_sha256);
	else if (strcmp(m.plan.campaign, campaign) != 0)
		rc = fm_fail(FM_ERR_REFUSED, "plan: called for campaign %s, sealed is %s", campaign,
		        m.plan.campaign);
	else
		rc = install(jobs, temporary, campaign, want);
out:
	if (jobs >= 0 && temporary[0] != '\0')
		(void)!fm_fs_remove(jobs, temporary);
	fm_mandate_free(&m);
	if (dir >= 0)
		close(dir);
	if (jobs >= 0)
		close(jobs);
	fm_buf_free(&in.data);
	free(in.files);
	return rc;
}
