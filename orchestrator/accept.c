/* accept.c: decides whether one bundle is what the plan asked for: identity and sources here, the
 * rest in its parts. */
#include "orchestrator/accept_parts.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include <stdio.h>
#include <string.h>

#define SOURCES_MAX (64u << 20)

void fm_accept_find(struct fm_accept *c, int code, const char *where, const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	(void)vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (c->first == FM_OK)
		c->first = fm_fail(code, "%s: %s", where, text);
	if (c->report != NULL)
		c->report(c->arg, code, where, text);
}

static void same(
        struct fm_accept *c, int code, const char *field, const char *got, const char *wanted)
{
	char shown[120];

	if (strcmp(got, wanted) != 0)
		fm_accept_find(c, code, "evidence.json", "%s is '%s', planned was '%s'", field,
		        fm_escape(got, strlen(got), shown, sizeof shown), wanted);
}

/* V11: made for this plan, this dispatch, this system. */
static void check_identity(struct fm_accept *c)
{
	const struct fm_expect *w = c->want;
	const struct fm_evidence *e = c->e;
	const struct fm_plan_system *system = fm_plan_system(w->plan, w->system);

	same(c, FM_ERR_IDENTITY, "campaign", e->campaign, w->plan->campaign);
	same(c, FM_ERR_IDENTITY, "system", e->system, w->system);
	same(c, FM_ERR_IDENTITY, "candidate", e->candidate, w->candidate);
	same(c, FM_ERR_REPLAY, "plan_sha256", e->plan_sha256, w->plan_sha256);
	same(c, FM_ERR_REPLAY, "nonce", e->nonce, w->plan->nonce);
	same(c, FM_ERR_REPLAY, "job_nonce", e->job_nonce, w->job_nonce);
	if (e->attempt != w->attempt)
		fm_accept_find(c, FM_ERR_REPLAY, "evidence.json",
		        "attempt is %lld, dispatched was %lld", (long long)e->attempt,
		        (long long)w->attempt);
	same(c, FM_ERR_IDENTITY, "measure.profile", e->measure.profile, w->plan->profile);
	if (system == NULL)
		fm_accept_find(c, FM_ERR_IDENTITY, "evidence.json", "the plan has no system %s",
		        w->system);
	else
		same(c, FM_ERR_IDENTITY, "host.arch", e->host.arch, system->arch);
	same(c, FM_ERR_SOURCE, "agent.source_sha256", e->agent.source_sha256,
	        w->plan->agent_source_sha256);
	same(c, FM_ERR_IDENTITY, "test_world", e->test_world == NULL ? "" : e->test_world,
	        w->plan->test_world);
}

/* V12: the sources on the host were the planned ones. The plan's own list of the candidate has the
 * planned digest: the plan's reader saw to that. */
static int check_sources(struct fm_accept *c)
{
	struct fm_buf got = FM_BUF_INIT(SOURCES_MAX);
	char hex[65];
	int rc;

	if ((rc = fm_fs_read(c->dirfd, "build/SOURCES.sha256", SOURCES_MAX, &got)) != FM_OK) {
		if (rc != FM_ERR_MEMORY)
			fm_accept_find(c, FM_ERR_SOURCE, "build/SOURCES.sha256",
			        "cannot be read: it is missing, too large or no plain file");
		return rc == FM_ERR_MEMORY ? rc : FM_OK;
	}
	fm_sha256_hex(got.data == NULL ? "" : got.data, got.len, hex);
	if (strcmp(hex, c->candidate->source_sha256) != 0)
		fm_accept_find(c, FM_ERR_SOURCE, "build/SOURCES.sha256",
		        "differs from the plan's list for %s", c->want->candidate);
	same(c, FM_ERR_SOURCE, "source_sha256", c->e->source_sha256, c->candidate->source_sha256);
	fm_buf_free(&got);
	return FM_OK;
}

static int check_all(struct fm_accept *c)
{
	int rc;

	check_identity(c);
	if (c->first != FM_OK) /* made for something else: nothing further would make sense */
		return FM_OK;
	if ((rc = check_sources(c)) != FM_OK)
		return rc;
	fm_accept_cells(c);
	if (c->first != FM_OK) /* the rest leans on what was checked so far */
		return FM_OK;
	if ((rc = fm_accept_logs(c)) != FM_OK)
		return rc;
	return fm_accept_samples(c);
}

int fm_accept_check(int dirfd, const struct fm_expect *want, fm_accept_report *report, void *arg,
        struct fm_evidence *evidence)
{
	struct fm_evidence e;
	struct fm_accept c = {.dirfd = dirfd, .want = want, .e = &e, .report = report, .arg = arg};
	int rc = fm_evidence_read(dirfd, &e);

	if (evidence != NULL)
		memset(evidence, 0, sizeof *evidence);
	if (rc != FM_OK) {
		const char *text = fm_error_text();

		if (report != NULL)
			report(arg, rc, "evidence.json",
			        strncmp(text, "evidence.json: ", 15) == 0 ? text + 15 : text);
		return rc;
	}
	if ((c.candidate = fm_plan_candidate(want->plan, want->candidate)) == NULL)
		rc = fm_fail(FM_ERR_IDENTITY, "the plan has no candidate %s", want->candidate);
	else
		rc = check_all(&c);
	if (rc == FM_OK)
		rc = c.first;
	else if (report != NULL)
		report(arg, rc, want->candidate, fm_error_text());
	if (rc == FM_OK && evidence != NULL)
		*evidence = e;
	else
		fm_evidence_free(&e);
	return rc;
}
