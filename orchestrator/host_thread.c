/* host_thread.c: one host from connect to the last bundle, top to bottom, with retries of the line.
 */
#include "orchestrator/hint.h"
#include "orchestrator/host.h"
#include "orchestrator/hostlog.h"
#include "orchestrator/notify.h"
#include "orchestrator/out.h"
#include "orchestrator/pool.h"
#include "protocol/digest.h"
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TRIES         8 /* of a line that does not come or breaks, without progress in between */
#define BACKOFF_MAX_S 60
#define BUSY_FIRST_S  5
#define BUSY_MAX_S    60
#define BUSY_WAIT     (3600 * FM_S) /* another job may hold the host so long */
#define ROUNDS        3             /* starts of a job that dies */
#define CANCEL_WAIT_S 4

void fm_host_event(const struct fm_host *h, const char *event, const char *stage,
        const char *candidate, const char *format, ...)
{
	char text[600];
	struct fm_event e = {
	        .event = event, .system = h->system->name, .stage = stage, .candidate = candidate};

	if (format != NULL) {
		va_list args;

		va_start(args, format);
		vsnprintf(text, sizeof text, format, args);
		va_end(args);
		e.text = text;
	}
	fm_out_event(&e);
}

static size_t open_jobs(const struct fm_host *h)
{
	size_t n = 0;

	for (size_t i = 0; i < h->count; i++)
		n += !h->jobs[i].done;
	return n;
}

/* A job that ended without some bundles: the journal says why, and this run does not ask again. */
static int settle(struct fm_host *h)
{
	const char *klass = "internal", *reason = "internal",
	           *text = "the job ended without a bundle";
	int rc = FM_OK;

	if (strcmp(h->end_state, "cancelled") == 0) {
		klass = "host-state";
		reason = "cancelled";
		text = h->end_text[0] != '\0' ? h->end_text : "cancelled on the host";
	} else if (strcmp(h->end_state, "failed") == 0) {
		klass = h->end_class;
		reason = h->end_reason;
		text = h->end_text;
	}
	for (size_t i = 0; rc == FM_OK && i < h->count; i++) {
		struct fm_host_job *j = &h->jobs[i];

		if (j->done || !j->issued)
			continue;
		rc = fm_journal_end(h->campaign->journal, j->job.nonce, klass, reason, text);
		j->done = true;
		fm_out_event(&(struct fm_event){.event = "failed",
		        .system = h->system->name,
		        .candidate = j->candidate->id,
		        .klass = klass,
		        .reason = reason,
		        .text = text});
		if (rc == FM_OK && h->rc == FM_OK) {
			h->rc = fm_error_lookup(klass, reason);
			snprintf(h->text, sizeof h->text, "%s", text);
		}
	}
	return rc;
}

/* Everything between a session that stands and the last bundle. */
static int work(struct fm_host *h)
{
	char state[16];
	int rc = fm_host_identity(h);

	if (rc == FM_OK)
		rc = fm_stage_status(h, state);
	if (rc != FM_OK)
		return rc;
	h->running = strcmp(state, "running") == 0;
	if (h->running)
		fm_host_event(h, "adopted", NULL, NULL, "its job runs there already");
	if (strcmp(state, "none") != 0)
		rc = fm_stage_follow(h, state);
	for (int round = 0; rc == FM_OK && open_jobs(h) > 0; round++) {
		if (round == ROUNDS) {
			snprintf(h->end_state, sizeof h->end_state, "failed");
			snprintf(h->end_class, sizeof h->end_class, "internal");
			snprintf(h->end_reason, sizeof h->end_reason, "internal");
			snprintf(h->end_text, sizeof h->end_text, "the job died %d times", ROUNDS);
			return settle(h);
		}
		rc = fm_stage_push(h);
		if (rc == FM_OK)
			rc = fm_stage_start(h);
		if (rc == FM_OK)
			rc = fm_stage_follow(h, state);
		if (rc == FM_OK && h->end_state[0] != '\0')
			return settle(h);
		if (rc == FM_OK)
			fm_host_event(
			        h, "died", NULL, NULL, "its job ended without a word (%s)", state);
	}
	return rc;
}

/* Told to stop: the remote job ends, unless we only detach. */
static void stop_remote(struct fm_host *h)
{
	char state[16] = "", command[1000];

	if (fm_pool_detached() || !h->running)
		return;
	if (h->session == NULL)
		fm_say("%s: no line to it; its job goes on until its lease ends, or until: %s",
		        h->system->name,
		        fm_hint(h->campaign->options, command, sizeof command, "cancel -l %s %s",
		                h->system->name, h->campaign->name));
	else if (fm_session_cancel(h->session, h->campaign->name, state, CANCEL_WAIT_S) == FM_OK)
		fm_host_event(h, "stopped", NULL, NULL,
		        "nothing of ours runs there any more (job %s)", state);
	else
		fm_say("%s: did not say within %d s that it stopped (%s); if it did not, its job "
		       "ends with its lease",
		        h->system->name, CANCEL_WAIT_S, fm_error_text());
}

static int once(struct fm_host *h)
{
	int rc = fm_session_open(
	        &h->session, h->system, h->campaign->home, &h->campaign->agent, h->wake, h->log);

	if (rc == FM_OK && !h->reached) {
		const struct fm_facts *f = fm_session_facts(h->session);

		fm_host_event(h, "connected", NULL, NULL, "%s, %s, %s, %lld CPUs",
		        fm_session_describe(h->session), f->os, f->cpu_model,
		        (long long)f->logical_cpus);
	}
	if (rc == FM_OK) {
		rc = work(h);
		h->reached = true;
	}
	if (rc == FM_ERR_INTERRUPTED) {
		stop_remote(h);
		rc = fm_fail(FM_ERR_INTERRUPTED, "interrupted");
	}
	fm_session_close(h->session);
	h->session = NULL;
	return rc;
}

/* Jittered 1 s x 2^n, at most a minute; ended by wake. */
static int back_off(struct fm_host *h, int attempt)
{
	struct pollfd none = {.fd = -1};
	uint64_t s = attempt < 6 ? (uint64_t)1 << attempt : BACKOFF_MAX_S;
	uint32_t random;
	uint64_t ns;
	int rc;

	fm_random(&random, sizeof random);
	ns = s * FM_S / 2 + (uint64_t)random % (s * 1000) * FM_MS;
	fm_hostlog_say(h->log, "%s; next try in %llu ms", fm_error_text(),
	        (unsigned long long)(ns / FM_MS));
	fm_host_event(h, "retry", NULL, NULL, "%s; again in %llu.%llu s", fm_error_text(),
	        (unsigned long long)(ns / FM_S), (unsigned long long)(ns / (100 * FM_MS) % 10));
	rc = fm_transport_wait(&none, 1, h->wake, fm_now_ns() + ns);
	return rc == FM_ERR_TIMEOUT ? FM_OK : rc;
}

/* Another job holds the host: asks again, more and more rarely, for an hour. */
static int wait_busy(struct fm_host *h, uint64_t *since, int *seconds)
{
	struct pollfd none = {.fd = -1};
	uint64_t now = fm_now_ns();
	int rc;

	if (*since == 0)
		*since = now;
	if (now - *since > BUSY_WAIT)
		return FM_ERR_BUSY;
	*seconds = *seconds == 0               ? BUSY_FIRST_S
	           : *seconds * 2 < BUSY_MAX_S ? *seconds * 2
	                                       : BUSY_MAX_S;
	fm_host_event(
	        h, "waiting", NULL, NULL, "%s; asked again in %d s", fm_error_text(), *seconds);
	rc = fm_transport_wait(&none, 1, h->wake, now + (uint64_t)*seconds * FM_S);
	return rc == FM_ERR_TIMEOUT ? FM_OK : rc;
}

static const char *next_step(const struct fm_host *h, int code, char out[1000])
{
	const char *klass = fm_error_class(code), *name = h->system->name;
	const struct fm_options *o = h->campaign->options;
	char command[800];

	if (strcmp(klass, "hostkey") == 0)
		snprintf(out, 1000, "check the fingerprint on the host itself, then %s",
		        fm_hint(o, command, sizeof command, "enrol %s", name));
	else if (strcmp(klass, "auth") == 0)
		snprintf(out, 1000, "put the public key into authorized_keys of that account");
	else if (code == FM_ERR_MISSING)
		snprintf(out, 1000, "install it there, then run the same command again");
	else
		snprintf(out, 1000, "%s, then run the same command again",
		        fm_hint(o, command, sizeof command, "check -l %s", name));
	return out;
}

static void told_failure(struct fm_host *h, int rc)
{
	char next[1000];

	h->rc = rc;
	snprintf(h->text, sizeof h->text, "%s", fm_error_text());
	if (rc == FM_ERR_INTERRUPTED)
		return;
	(void)!fm_journal_host(h->campaign->journal, h->system->name, "failed", fm_error_class(rc),
	        fm_error_reason(rc), h->text);
	fm_hostlog_say(h->log, "given up: %s", h->text);
	(void)fm_fail(rc, "%s", h->text);
	fm_out_error(rc, h->system->name, h->reached ? "run" : "connect", next_step(h, rc, next));
	fm_out_event(&(struct fm_event){.event = "host_failed",
	        .system = h->system->name,
	        .klass = fm_error_class(rc),
	        .reason = fm_error_reason(rc),
	        .text = h->text,
	        .quiet = true});
	fm_notify(h->campaign, "needs_someone", h->system->name, fm_error_class(rc), h->text, -1);
}

static void told_end(struct fm_host *h)
{
	(void)!fm_journal_host(h->campaign->journal, h->system->name, "up", "", "", "");
	fm_out_event(
	        &(struct fm_event){.event = "host_done", .system = h->system->name, .quiet = true});
}

void fm_host_run(void *arg, int wake)
{
	struct fm_host *h = arg;
	uint64_t busy_since = 0;
	int busy_s = 0, rc = FM_ERR_INTERNAL;

	h->wake = wake;
	h->log = fm_campaign_log(h->campaign, h->system->name);
	for (int attempt = 0; attempt < TRIES; attempt++) {
		size_t before = open_jobs(h);
		uint64_t offset = h->offset;

		rc = once(h);
		if (rc != FM_ERR_BUSY) {
			busy_since = 0;
			busy_s = 0;
		} else {
			rc = wait_busy(h, &busy_since, &busy_s);
			if (rc != FM_OK)
				break;
			attempt = -1;
			continue;
		}
		if (rc == FM_OK || strcmp(fm_error_class(rc), "transport") != 0)
			break;
		if (open_jobs(h) < before || h->offset > offset)
			attempt = 0; /* it got on: a new fault, not the old one */
		if (attempt + 1 < TRIES) {
			int waited = back_off(h, attempt);

			if (waited != FM_OK) {
				stop_remote(h);
				rc = waited;
				break;
			}
		}
	}
	if (rc != FM_OK)
		told_failure(h, rc);
	else
		told_end(h);
	if (h->log >= 0)
		close(h->log);
}
