/* data.c: derives the rest of data/<system>/: KAT log copies, build.json, campaign.json. */
#include "orchestrator/report_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX (4u << 20)

/* How the published records name versions and flags. */
static const char *variant_of(const struct fm_side *s, int version)
{
	if (strcmp(s->candidate->id, "iccs") == 0)
		return "iccs-baseline";
	return fm_version_name[version];
}

static const char *flags_of(const char *kind, int version)
{
	static const char *const guide[FM_VERSIONS] = {
	        "guide", "guide-performance", "guide-resource"};
	return strcmp(kind, "fallback") == 0 ? "harness-default" : guide[version];
}

static const struct fm_ev_kat *find_kat(const struct fm_evidence *e, const struct fm_ev_build *b)
{
	for (size_t i = 0; i < e->kat_count; i++)
		if (strcmp(e->kat[i].instance, b->instance) == 0 &&
		        strcmp(e->kat[i].version, b->version) == 0)
			return &e->kat[i];
	return NULL;
}

/* Copies the KAT log to data/, reads from it which files agreed. */
static int take_log(struct fm_report *r, const struct fm_side *s, const struct fm_ev_kat *k,
        struct fm_build_fig *f)
{
	struct fm_buf log;
	char *path;
	int rc;

	if ((rc = fm_fs_read(s->dirfd, k->log, LOG_MAX, &log)) != FM_OK)
		return rc;
	rc = FM_ERR_MEMORY;
	path = fm_sprintf(
	        "data/%s/kat/%s/%s.log", s->system->plan->name, s->candidate->id, f->label);
	f->kat_log = fm_sprintf("kat/%s/%s.log", s->candidate->id, f->label);
	f->kat_log_sha256 = fm_alloc(65);
	if (path == NULL || f->kat_log == NULL || f->kat_log_sha256 == NULL)
		goto out;
	fm_sha256_hex(log.data, log.len, f->kat_log_sha256);
	if ((rc = fm_sink_put(&r->sink, path, log.data, log.len)) == FM_OK)
		rc = fm_data_kat(s, &log, f);
out:
	free(path);
	fm_buf_free(&log);
	return rc;
}

static int put_entry(struct fm_report_system *s, const struct fm_side *side,
        const struct fm_build_fig *f, const struct fm_ev_build *b)
{
	struct fm_buf text = FM_BUF_INIT(65536);
	struct fm_jsonp w;
	char *key = fm_sprintf("%s/%s", side->candidate->id, f->label);
	int rc = FM_ERR_MEMORY;

	if (key == NULL)
		return rc;
	fm_jsonp_start(&w, &text);
	fm_jsonp_object(&w, "instances");
	fm_jsonp_object(&w, key);
	fm_jsonp_str(&w, "candidate", side->candidate->id);
	fm_jsonp_str(&w, "label", f->label);
	fm_jsonp_str(&w, "instance", f->instance);
	fm_jsonp_str(&w, "variant", f->variant);
	fm_jsonp_str(&w, "flags", f->flags);
	fm_jsonp_str(&w, "kat", f->kat);
	fm_jsonp_null(&w, "library");
	fm_jsonp_str(&w, "library_sha256", f->library_sha256);
	if (f->elf_bytes >= 0)
		fm_jsonp_int(&w, "elf_load_bytes", f->elf_bytes);
	fm_jsonp_str(&w, "kat_log", f->kat_log);
	fm_jsonp_str(&w, "kat_log_sha256", f->kat_log_sha256);
	fm_jsonp_str(&w, "build_flags", b->flags);
	fm_jsonp_close(&w);
	fm_jsonp_close(&w);
	if ((rc = fm_jsonp_end(&w)) == FM_OK) { /* only the entry itself: between its key's line and
		                                   the two closing lines */
		const char *from = strstr(text.data, "\n  \""), *to = strstr(text.data, "\n }\n}");
		if (s->any_build)
			rc = fm_sink_add(&s->builds, ",", 1);
		if (rc == FM_OK)
			rc = fm_sink_add(&s->builds, from, (size_t)(to - from));
		s->any_build = true;
	}
	free(key);
	fm_buf_free(&text);
	return rc;
}

int fm_data_build(struct fm_report *r, struct fm_side *s, const struct fm_ev_build *b)
{
	struct fm_build_fig *f = fm_builds_add(&s->builds);
	const struct fm_ev_kat *k = find_kat(&s->evidence, b);
	const struct fm_manifest_entry *log = fm_manifest_find(&s->manifest, b->log);
	int version = fm_version_index(b->version), rc;

	if (f == NULL)
		return FM_ERR_MEMORY;
	if (version < 0)
		return fm_fail(FM_ERR_FORM, "evidence.json: builds: version %.40s", b->version);
	f->version = version;
	fm_side_label(b->instance, version, f->label);
	snprintf(f->instance, sizeof f->instance, "%s", b->instance);
	f->variant = fm_strdup(variant_of(s, version));
	f->flags = fm_strdup(flags_of(b->flags_kind, version));
	f->kat = fm_strdup(k != NULL                      ? k->status
	                   : strcmp(b->status, "ok") == 0 ? "NORESULT"
	                                                  : "BUILDFAIL");
	f->library_sha256 = b->library_sha256[0] == '\0' ? NULL : fm_strdup(b->library_sha256);
	f->build_log = fm_strdup(b->log);
	f->build_log_sha256 = log == NULL ? NULL : fm_strdup(log->hex);
	f->reason = strcmp(b->status, "ok") == 0 ? NULL : fm_strdup(b->reason);
	f->elf_bytes = strcmp(b->status, "ok") == 0 ? b->load_bytes : -1;
	if (f->variant == NULL || f->flags == NULL || f->kat == NULL || f->build_log == NULL)
		return FM_ERR_MEMORY;
	if (k != NULL) {
		f->kat_checked = k->passed;
		f->kat_listed = k->files;
		f->vectors = k->vectors;
		if ((rc = take_log(r, s, k, f)) != FM_OK)
			return fm_wrap(
			        rc, "bundles/%s/%s", s->system->plan->name, s->candidate->id);
	}
	return put_entry(s->system, s, f, b);
}

int fm_data_begin(struct fm_report *r)
{
	static const char head[] = "{\n \"instances\": {";
	char path[FM_NAME_MAX + 32];
	int rc = FM_OK;

	for (size_t i = 0; i < r->system_count && rc == FM_OK; i++) {
		struct fm_report_system *s = &r->systems[i];
		snprintf(path, sizeof path, "data/%s/build.json", s->plan->name);
		if ((rc = fm_sink_begin(&r->sink, path, &s->builds)) == FM_OK)
			rc = fm_sink_add(&s->builds, head, strlen(head));
	}
	return rc;
}

static int end_build_json(struct fm_report_system *s)
{
	const char *end = s->any_build ? "\n }\n}\n" : "}\n}\n";
	int rc = fm_sink_add(&s->builds, end, strlen(end)), last = fm_sink_end(&s->builds);

	return rc == FM_OK ? last : rc;
}

int fm_data_system(struct fm_report *r, struct fm_report_system *s)
{
	struct fm_buf out = FM_BUF_INIT(1u << 20);
	struct fm_jsonp w;
	char path[FM_NAME_MAX + 32], stamp[40];
	int rc;

	fm_jsonp_start(&w, &out);
	fm_jsonp_str(&w, "system_id", s->plan->name);
	fm_jsonp_str(&w, "started_utc", s->any ? fm_data_stamp(s->started, 0, stamp) : NULL);
	if (s->any)
		fm_env_write(&w, "environment_at_start", &s->environment);
	fm_jsonp_object(&w, "arch_config");
	for (size_t i = 0; i < r->plan.flags.count; i++)
		if (strcmp(r->plan.flags.list[i].arch, s->plan->arch) == 0)
			fm_jsonp_str(&w, fm_version_name[r->plan.flags.list[i].version],
			        r->plan.flags.list[i].flags);
	fm_jsonp_close(&w);
	fm_jsonp_str(&w, "harness_additions", r->plan.flags.additions);
	fm_jsonp_str(&w, "ended_utc", s->any ? fm_data_stamp(s->ended, 0, stamp) : NULL);
	fm_jsonp_object(&w, "fleetmark");
	fm_jsonp_int(&w, "form", 1);
	fm_jsonp_str(&w, "campaign", r->plan.campaign);
	fm_jsonp_str(&w, "profile", r->plan.profile);
	fm_jsonp_str(&w, "kat", r->plan.kat);
	fm_jsonp_str(&w, "plan_sha256", r->tree.plan_sha256);
	fm_jsonp_object(&w, "cells");
	fm_jsonp_int(&w, "accepted", (int64_t)s->accepted);
	fm_jsonp_int(&w, "failed", (int64_t)s->failed);
	fm_jsonp_int(&w, "missing", (int64_t)s->missing);
	fm_jsonp_int(&w, "rejected", (int64_t)s->rejected);
	fm_jsonp_close(&w);
	fm_jsonp_close(&w);
	snprintf(path, sizeof path, "data/%s/campaign.json", s->plan->name);
	if ((rc = fm_jsonp_end(&w)) == FM_OK)
		rc = fm_sink_put(&r->sink, path, out.data, out.len);
	fm_buf_free(&out);
	return rc == FM_OK ? end_build_json(s) : rc;
}
