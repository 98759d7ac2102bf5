/* accept.c: compares one bundle with the plan: identity, sources, cells, builds, known answers. */
#include "orchestrator/accept.h"
#include "orchestrator/accept_samples.h"
#include "protocol/digest.h"
#include "protocol/fs.h"
#include "protocol/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_MAX     (4u << 20)
#define SOURCES_MAX (64u << 20)

struct check {
	int dirfd;
	const struct fm_expect *want;
	const struct fm_candidate *candidate;
	struct fm_evidence *e;
	fm_accept_report *report;
	void *arg;
	int first; /* code of the first finding */
};

/* Notes a finding; the first one becomes the result, all are reported. */
static void find(struct check *c, int code, const char *where, const char *format, ...)
        FM_PRINTF(4, 5);
static void find(struct check *c, int code, const char *where, const char *format, ...)
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

static void same(struct check *c, int code, const char *field, const char *got, const char *wanted)
{
	char shown[120];

	if (strcmp(got, wanted) != 0)
		find(c, code, "evidence.json", "%s is '%s', planned was '%s'", field,
		        fm_escape(got, strlen(got), shown, sizeof shown), wanted);
}

/* V11: made for this plan, this dispatch, this system. */
static void check_identity(struct check *c)
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
		find(c, FM_ERR_REPLAY, "evidence.json", "attempt is %lld, dispatched was %lld",
		        (long long)e->attempt, (long long)w->attempt);
	same(c, FM_ERR_IDENTITY, "measure.profile", e->measure.profile, w->plan->profile);
	if (system != NULL)
		same(c, FM_ERR_IDENTITY, "host.arch", e->host.arch, system->arch);
	same(c, FM_ERR_SOURCE, "agent.source_sha256", e->agent.source_sha256,
	        w->plan->agent_source_sha256);
	same(c, FM_ERR_IDENTITY, "test_world", e->test_world == NULL ? "" : e->test_world,
	        w->plan->test_world);
}

/* The lines of text that begin with "<hex>  <candidate>/", with the prefix taken off. */
static int planned_sources(const char *text, const char *candidate, struct fm_buf *out)
{
	size_t prefix = strlen(candidate);
	int rc = FM_OK;

	for (const char *line = text; *line != '\0' && rc == FM_OK;) {
		size_t len = strcspn(line, "\n");

		if (len > 67 + prefix && strncmp(line + 66, candidate, prefix) == 0 &&
		        line[66 + prefix] == '/' && (rc = fm_buf_put(out, line, 66)) == FM_OK)
			rc = fm_buf_printf(
			        out, "%.*s\n", (int)(len - 67 - prefix), line + 67 + prefix);
		line += len + (line[len] == '\n');
	}
	return rc;
}

/* V12: the sources on the host were the planned ones. */
static int check_sources(struct check *c)
{
	struct fm_buf got = FM_BUF_INIT(SOURCES_MAX), wanted = FM_BUF_INIT(SOURCES_MAX);
	char hex[65];
	int rc;

	if ((rc = fm_fs_read(c->dirfd, "build/SOURCES.sha256", SOURCES_MAX, &got)) != FM_OK ||
	        (rc = planned_sources(c->want->plan_sources, c->want->candidate, &wanted)) != FM_OK)
		goto out;
	fm_sha256_hex(got.data, got.len, hex);
	if (got.len != wanted.len || memcmp(got.data, wanted.data, got.len) != 0)
		find(c, FM_ERR_SOURCE, "build/SOURCES.sha256",
		        "differs from the plan's list for %s", c->want->candidate);
	same(c, FM_ERR_SOURCE, "source_sha256", c->e->source_sha256, hex);
	same(c, FM_ERR_SOURCE, "source_sha256", c->e->source_sha256, c->candidate->source_sha256);
out:
	fm_buf_free(&got);
	fm_buf_free(&wanted);
	return rc;
}

static const struct fm_ev_build *find_build(
        const struct fm_evidence *e, const char *instance, const char *version)
{
	for (size_t i = 0; i < e->build_count; i++)
		if (strcmp(e->builds[i].instance, instance) == 0 &&
		        strcmp(e->builds[i].version, version) == 0)
			return &e->builds[i];
	return NULL;
}

static const struct fm_ev_kat *find_kat(
        const struct fm_evidence *e, const char *instance, const char *version)
{
	for (size_t i = 0; i < e->kat_count; i++)
		if (strcmp(e->kat[i].instance, instance) == 0 &&
		        strcmp(e->kat[i].version, version) == 0)
			return &e->kat[i];
	return NULL;
}

static size_t count_measured(const struct fm_evidence *e, const struct fm_ev_cell *cell)
{
	size_t n = 0;

	for (size_t i = 0; i < e->measured_count; i++)
		n += strcmp(e->measured[i].instance, cell->instance) == 0 &&
		     strcmp(e->measured[i].version, cell->version) == 0 &&
		     strcmp(e->measured[i].operation, cell->operation) == 0;
	return n;
}

/* One cell: its words belong together, and what is called measured has its numbers exactly once. */
static void check_cell(struct check *c, const struct fm_ev_cell *cell)
{
	bool measured = strcmp(cell->status, "measured") == 0;
	const struct fm_ev_build *build = find_build(c->e, cell->instance, cell->version);
	char where[300];

	(void)snprintf(where, sizeof where, "evidence.json: %s/%s/%s", cell->instance,
	        cell->version, cell->operation);
	if (!measured && strcmp(cell->status, "failed") != 0 &&
	        strcmp(cell->status, "missing") != 0)
		find(c, FM_ERR_FORM, where, "unknown status word");
	if (measured != (cell->klass[0] == '\0') || measured != (cell->reason[0] == '\0'))
		find(c, FM_ERR_FORM, where,
		        "a measured cell has no class and reason, every other has both");
	if (count_measured(c->e, cell) != (measured ? 1u : 0u))
		find(c, FM_ERR_SAMPLES, where, "%s, but measure.cells has %zu entries",
		        cell->status, count_measured(c->e, cell));
	if (build == NULL)
		find(c, FM_ERR_FORM, where, "no entry in builds");
	else if (measured && strcmp(build->status, "ok") != 0)
		find(c, FM_ERR_FORM, where, "measured without a good build");
}

/* V13: the cells of the evidence are the planned ones, in the plan's order. */
static void check_cells(struct check *c)
{
	char prefix[2 * FM_NAME_MAX + 4];
	const struct fm_plan *plan = c->want->plan;
	size_t n = 0, len, i;

	len = (size_t)snprintf(
	        prefix, sizeof prefix, "%s/%s/", c->want->system, c->want->candidate);
	for (i = 0; i < plan->cell_count; i++) {
		const struct fm_ev_cell *cell;
		char name[300];

		if (strncmp(plan->cells[i], prefix, len) != 0)
			continue;
		if (n == c->e->cell_count) {
			find(c, FM_ERR_SAMPLES, "evidence.json", "planned cell %s is missing",
			        plan->cells[i]);
			return;
		}
		cell = &c->e->cells[n++];
		(void)snprintf(name, sizeof name, "%s/%s/%s", cell->instance, cell->version,
		        cell->operation);
		if (strcmp(name, plan->cells[i] + len) != 0) {
			find(c, FM_ERR_SAMPLES, "evidence.json", "cell %s where %s was planned",
			        name, plan->cells[i] + len);
			return;
		}
		check_cell(c, cell);
	}
	if (n != c->e->cell_count)
		find(c, FM_ERR_SAMPLES, "evidence.json", "%zu cells, planned were %zu",
		        c->e->cell_count, n);
}

static bool has_line(const char *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)) != NULL; at++)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return true;
	return false;
}

/* Every planned line of the instance stands in the log, word for word; *lines counts them. */
static int check_log(struct check *c, const struct fm_ev_kat *kat,
        const struct fm_instance *instance, size_t *lines)
{
	struct fm_buf log = FM_BUF_INIT(LOG_MAX);
	char line[FM_PATH_MAX + 100];
	int rc;

	if ((rc = fm_fs_read(c->dirfd, kat->log, LOG_MAX, &log)) != FM_OK)
		return rc;
	*lines = 0;
	for (size_t i = 0; i < instance->kat_count; i++, ++*lines) {
		const struct fm_kat_line *k = &instance->kat_lines[i];

		(void)snprintf(line, sizeof line, "manifest %s %s %s", k->sha256, k->mode, k->file);
		if (strcmp(kat->status, "PASS") == 0 &&
		        !has_line(log.len > 0 ? log.data : "", line))
			find(c, FM_ERR_KAT_LINES, kat->log, "no line '%s'", line);
	}
	if (instance->vectors > 0) {
		(void)snprintf(line, sizeof line, "manifest %s vectors:%zu vectors.txt",
		        instance->vectors_sha256, instance->vectors);
		if (strcmp(kat->status, "PASS") == 0 &&
		        !has_line(log.len > 0 ? log.data : "", line))
			find(c, FM_ERR_KAT_LINES, kat->log, "no line '%s'", line);
		++*lines;
	}
	fm_buf_free(&log);
	return rc;
}

/* V15 for one instance and version. */
static int check_kat(struct check *c, const struct fm_ev_kat *kat)
{
	const struct fm_instance *instance = fm_candidate_instance(c->candidate, kat->instance);
	char log[2 * FM_NAME_MAX + 20];
	size_t lines = 0;
	int rc;

	(void)snprintf(log, sizeof log, "kat/%s__%s.log", kat->instance, kat->version);
	if (instance == NULL || strcmp(log, kat->log) != 0) {
		find(c, FM_ERR_KAT_LINES, "evidence.json", "kat entry for '%s' with log '%s'",
		        kat->instance, kat->log);
		return FM_OK;
	}
	if ((rc = check_log(c, kat, instance, &lines)) != FM_OK)
		return rc;
	if (strcmp(kat->status, "PASS") == 0 && lines == 0)
		find(c, FM_ERR_KAT_LINES, kat->log, "PASS without a planned reference");
	if (strcmp(kat->status, "NOKAT") == 0 && lines > 0)
		find(c, FM_ERR_KAT_LINES, kat->log, "NOKAT although the plan has %zu references",
		        lines);
	return FM_OK;
}

/* A timed cell needs PASS (or NOKAT), and the very library that was built and checked. */
static void check_measured(struct check *c, const struct fm_ev_measured *m)
{
	const struct fm_ev_build *build = find_build(c->e, m->instance, m->version);
	const struct fm_ev_kat *kat = find_kat(c->e, m->instance, m->version);
	char where[300], operation[40];

	(void)snprintf(where, sizeof where, "evidence.json: %s/%s/%s", m->instance, m->version,
	        m->operation);
	(void)snprintf(operation, sizeof operation, "hash_%lld", (long long)m->bytes);
	if (strcmp(operation, m->operation) != 0)
		find(c, FM_ERR_SAMPLES, where, "bytes is %lld", (long long)m->bytes);
	if (kat == NULL || (strcmp(kat->status, "PASS") != 0 && strcmp(kat->status, "NOKAT") != 0))
		find(c, FM_ERR_KAT_LINES, where, "timed although the known answers say %s",
		        kat == NULL ? "nothing" : kat->status);
	if (build == NULL || strcmp(build->library_sha256, m->library_sha256) != 0)
		find(c, FM_ERR_KAT_LINES, where,
		        "timed another library than the one that was built and checked");
}

static int check_all(struct check *c)
{
	size_t i;
	int rc;

	check_identity(c);
	if (c->first != FM_OK) /* made for something else: nothing further would make sense */
		return FM_OK;
	if ((rc = check_sources(c)) != FM_OK)
		return rc;
	check_cells(c);
	for (i = 0; i < c->e->kat_count; i++)
		if ((rc = check_kat(c, &c->e->kat[i])) != FM_OK)
			return rc;
	for (i = 0; i < c->e->measured_count; i++) {
		check_measured(c, &c->e->measured[i]);
		if ((rc = fm_accept_samples(c->dirfd, c->e, &c->e->measured[i])) != FM_OK)
			find(c, rc, c->e->measured[i].instance, "%s", fm_error_text());
	}
	if ((rc = fm_accept_names(c->dirfd, c->e)) != FM_OK)
		find(c, rc, FM_MANIFEST_NAME, "%s", fm_error_text());
	return FM_OK;
}

int fm_accept_check(int dirfd, const struct fm_expect *want, fm_accept_report *report, void *arg,
        struct fm_evidence *evidence)
{
	struct fm_evidence e;
	struct check c = {.dirfd = dirfd, .want = want, .e = &e, .report = report, .arg = arg};
	int rc = fm_evidence_read(dirfd, &e);

	if (evidence != NULL)
		memset(evidence, 0, sizeof *evidence);
	if (rc != FM_OK) {
		if (report != NULL)
			report(arg, rc, "evidence.json", fm_error_text());
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
