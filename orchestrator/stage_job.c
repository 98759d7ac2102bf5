/* stage_job.c: the job of a host: plan sent, dispatches issued and started, progress followed. */
#include "orchestrator/evidence.h"
#include "orchestrator/host.h"
#include "orchestrator/hostlog.h"
#include "orchestrator/out.h"
#include "protocol/fs.h"
#include "protocol/lines.h"
#include "protocol/manifest.h"
#include "protocol/seal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_MAX     (1u << 20)
#define JOB_MAX      (1u << 20)
#define FILE_MAX     (64u << 20)
#define PLAN_MAX     (256u << 20)
#define PLAN_WAIT_S  120
#define START_WAIT_S 120
#define LEASE_S      259200 /* 72 h */

/* A file the host needs: its own order, the vectors, and the seal over all. */
static bool host_needs(const struct fm_host *h, const char *path)
{
	char own[FM_NAME_MAX + 16];

	snprintf(own, sizeof own, "jobs/%s.txt", h->system->name);
	return strcmp(path, own) == 0 || strncmp(path, "vectors/", 8) == 0;
}

static int add_file(int dirfd, const char *path, struct fm_buf *call, struct fm_buf *data)
{
	struct fm_buf bytes = FM_BUF_INIT(FILE_MAX);
	int rc = fm_fs_read(dirfd, path, FILE_MAX, &bytes);

	if (rc == FM_OK)
		rc = fm_text_put(call, "file", "%zu %s", bytes.len, path);
	if (rc == FM_OK && bytes.len > 0)
		rc = fm_buf_put(data, bytes.data, bytes.len);
	fm_buf_free(&bytes);
	return rc;
}

static int gather_plan(struct fm_host *h, struct fm_buf *call, struct fm_buf *data)
{
	struct fm_manifest m = {0};
	char seen[65];
	int fd = -1;
	int rc = fm_fs_dir(h->campaign->dirfd, "plan", &fd);

	if (rc == FM_OK)
		rc = fm_seal_check_manifest(
		        fd, FM_SEAL_PLAN, fm_identity_public(h->campaign->home->id), seen, &m);
	if (rc == FM_OK)
		rc = add_file(fd, FM_MANIFEST_NAME, call, data);
	if (rc == FM_OK)
		rc = add_file(fd, FM_SIG_NAME, call, data);
	for (size_t i = 0; rc == FM_OK && i < m.count; i++) {
		if (host_needs(h, m.entries[i].path))
			rc = add_file(fd, m.entries[i].path, call, data);
	}
	fm_manifest_free(&m);
	if (fd >= 0)
		close(fd);
	return rc;
}

static int send_plan(struct fm_host *h)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX), data = FM_BUF_INIT(PLAN_MAX);
	struct fm_text reply = {0};
	int rc = fm_call_begin(&call, "plan");

	if (rc == FM_OK)
		rc = fm_text_put(&call, "campaign", "%s", h->campaign->name);
	if (rc == FM_OK)
		rc = fm_text_put(&call, "plan_sha256", "%s", h->campaign->plan_sha256);
	if (rc == FM_OK)
		rc = gather_plan(h, &call, &data);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(h->session, &call, data.data, data.len, &reply, PLAN_WAIT_S);
	fm_text_free(&reply);
	fm_buf_free(&call);
	fm_buf_free(&data);
	return rc;
}

/* Nonces in the journal, on disk, before the order that carries them leaves. */
static int issue(struct fm_host *h, struct fm_buf *order)
{
	int rc = fm_text_begin(order, "job");

	if (rc == FM_OK)
		rc = fm_text_put(order, "campaign", "%s", h->campaign->name);
	if (rc == FM_OK)
		rc = fm_text_put(order, "system", "%s", h->system->name);
	if (rc == FM_OK)
		rc = fm_text_put(order, "plan_sha256", "%s", h->campaign->plan_sha256);
	if (rc == FM_OK)
		rc = fm_text_put(order, "lease_s", "%d", LEASE_S);
	if (rc == FM_OK)
		rc = fm_text_put(order, "deadline_s", "0");
	for (size_t i = 0; rc == FM_OK && i < h->count; i++) {
		struct fm_host_job *j = &h->jobs[i];

		if (j->done)
			continue;
		if (!j->issued)
			rc = fm_journal_issue(
			        h->campaign->journal, h->system->name, j->candidate->id, &j->job);
		j->issued = rc == FM_OK;
		if (rc == FM_OK)
			rc = fm_text_put(order, "job", "%s %d %s", j->candidate->id, j->job.attempt,
			        j->job.nonce);
	}
	return rc == FM_OK ? fm_text_end(order) : rc;
}

int fm_stage_start(struct fm_host *h)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX), order = FM_BUF_INIT(JOB_MAX);
	struct fm_text reply = {0};
	const char *state = "";
	char before[16];
	int rc = send_plan(h);

	/* The plan may have taken the place of another one's job: then progress begins anew. */
	if (rc == FM_OK)
		rc = fm_stage_status(h, before);
	if (rc == FM_OK)
		rc = issue(h, &order);
	if (rc == FM_OK)
		rc = fm_call_begin(&call, "start");
	if (rc == FM_OK)
		rc = fm_text_put(&call, "campaign", "%s", h->campaign->name);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK) {
		h->running = true; /* from here on it may run, whatever we hear */
		rc = fm_session_call(
		        h->session, &call, order.data, order.len, &reply, START_WAIT_S);
	}
	if (rc == FM_OK)
		rc = fm_text_take(&reply, "state", &state);
	if (rc == FM_OK) {
		h->end_state[0] = '\0';
		fm_host_event(h, "started", "build", NULL, "job %s",
		        strcmp(state, "running") == 0 ? "runs already" : "started");
	}
	fm_text_free(&reply);
	fm_buf_free(&call);
	fm_buf_free(&order);
	return rc;
}

int fm_stage_status(struct fm_host *h, char state[16])
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	const char *value;
	uint64_t bytes;
	int rc = fm_call_begin(&call, "status");

	state[0] = '\0';
	if (rc == FM_OK)
		rc = fm_text_put(&call, "campaign", "%s", h->campaign->name);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(h->session, &call, NULL, 0, &reply, START_WAIT_S);
	if (rc == FM_OK)
		rc = fm_text_take(&reply, "state", &value);
	if (rc == FM_OK) {
		snprintf(state, 16, "%s", value);
		rc = fm_text_take_u64(&reply, "progress_bytes", UINT64_MAX, &bytes);
	}
	if (rc == FM_OK && bytes < h->offset)
		h->offset = 0; /* another job's file */
	if (rc == FM_OK && !h->reached)
		h->history = bytes;
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

static const char *text_of(const struct fm_line *l, const char *key)
{
	const char *value = fm_line_get(l, key);

	return value != NULL ? value : "";
}

static void tell_stage(struct fm_host *h, const struct fm_line *l)
{
	struct fm_event e = {.event = "stage",
	        .system = h->system->name,
	        .stage = text_of(l, "stage"),
	        .candidate = text_of(l, "candidate"),
	        .done = fm_line_u64(l, "done", 0),
	        .total = fm_line_u64(l, "total", 0),
	        .eta_s = fm_line_u64(l, "eta_s", UINT64_MAX),
	        .quiet = true};
	char now[sizeof h->told];

	e.has_eta = e.eta_s != UINT64_MAX && e.eta_s > 0; /* 0: the host does not know yet */
	if (!e.has_eta)
		e.eta_s = 0;
	/* A line of its own when a stage begins; how far it is shows in the live line. */
	snprintf(now, sizeof now, "%.30s %.64s", e.stage, e.candidate);
	e.quiet = strcmp(now, h->told) == 0;
	memcpy(h->told, now, sizeof now);
	fm_out_event(&e);
}

/* A cell of what this run waits for; those of bundles that are here already were never in its
 * total. */
static void count_cell(struct fm_host *h, const struct fm_line *l)
{
	for (size_t i = 0; i < h->count; i++) {
		if (strcmp(h->jobs[i].candidate->id, text_of(l, "candidate")) == 0)
			fm_campaign_progress(h->campaign, 1);
	}
}

static void tell_cell(struct fm_host *h, const struct fm_line *l)
{
	char cell[400];
	const char *state = text_of(l, "state");
	struct fm_event e = {.event = "cell",
	        .system = h->system->name,
	        .stage = "measure",
	        .candidate = text_of(l, "candidate"),
	        .cell = cell,
	        .text = state};

	snprintf(cell, sizeof cell, "%s/%s/%s/%s/%s", h->system->name, text_of(l, "candidate"),
	        text_of(l, "instance"), text_of(l, "version"), text_of(l, "operation"));
	e.quiet = strcmp(state, "measured") == 0;
	if (!e.quiet) {
		e.klass = text_of(l, "class");
		e.reason = text_of(l, "reason");
	}
	fm_out_event(&e);
	count_cell(h, l);
}

#define OFFERED 1 /* a bundle waits and may be fetched now */

static int take_bundle(struct fm_host *h, const struct fm_line *l)
{
	for (size_t i = 0; i < h->count; i++) {
		struct fm_host_job *j = &h->jobs[i];

		if (j->done || !j->issued || strcmp(j->job.nonce, text_of(l, "job_nonce")) != 0 ||
		        strcmp(j->candidate->id, text_of(l, "candidate")) != 0)
			continue;
		j->offered = true;
		/* Nothing is pulled from a host while it measures; where times are not for
		 * publication the pages may come sooner. */
		return h->campaign->plan.publish ? FM_OK : OFFERED;
	}
	return FM_OK;
}

/* The plan of every single library is for the log and for programs, not for a screen. */
static void tell_note(const struct fm_host *h, const char *text)
{
	fm_out_event(&(struct fm_event){.event = "note",
	        .system = h->system->name,
	        .text = text,
	        .quiet = strncmp(text, "plan ", 5) == 0});
}

static int on_line(void *arg, const struct fm_line *l)
{
	struct fm_host *h = arg;
	bool old = h->offset <= h->history;

	if (strcmp(l->kind, "cell") == 0) {
		if (old)
			count_cell(h, l);
		else
			tell_cell(h, l);
	} else if (old && (strcmp(l->kind, "stage") == 0 || strcmp(l->kind, "note") == 0)) {
		return FM_OK;
	} else if (strcmp(l->kind, "stage") == 0) {
		tell_stage(h, l);
	} else if (strcmp(l->kind, "bundle") == 0) {
		return take_bundle(h, l);
	} else if (strcmp(l->kind, "note") == 0) {
		tell_note(h, text_of(l, "text"));
	} else if (strcmp(l->kind, "end") == 0) {
		/* These words go into tree.json: no word of a host's own. */
		int code = fm_error_lookup(text_of(l, "class"), text_of(l, "reason"));

		snprintf(h->end_state, sizeof h->end_state, "%s", text_of(l, "state"));
		snprintf(h->end_class, sizeof h->end_class, "%s", fm_error_class(code));
		snprintf(h->end_reason, sizeof h->end_reason, "%s", fm_error_reason(code));
		snprintf(h->end_text, sizeof h->end_text, "%s", text_of(l, "text"));
	} else if (strcmp(l->kind, "start") == 0) {
		h->end_state[0] = '\0';
	}
	return FM_OK;
}

int fm_stage_follow(struct fm_host *h, char state[16])
{
	for (;;) {
		int rc = fm_session_follow(
		        h->session, h->campaign->name, &h->offset, on_line, h, state);

		if (rc != FM_OK && rc != OFFERED)
			return rc;
		for (size_t i = 0; i < h->count; i++) {
			int got = h->jobs[i].offered && !h->jobs[i].done
			                  ? fm_stage_collect(h, &h->jobs[i])
			                  : FM_OK;

			if (got != FM_OK)
				return got;
		}
		if (rc == FM_OK && strcmp(state, "running") != 0) {
			h->running = false;
			return FM_OK;
		}
	}
}
