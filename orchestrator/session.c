/* session.c: a conversation with one host's agent: calls, their data, the facts of the host. */
#include "orchestrator/session.h"
#include "orchestrator/bootstrap.h"
#include "orchestrator/hostlog.h"
#include "orchestrator/wire.h"
#include "protocol/lines.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_WAIT (60 * FM_S)
#define CALL_MAX     (1u << 20)
#define FACTS_WAIT_S 90

struct fm_session {
	const struct fm_transport_ops *ops;
	const struct fm_system *system;
	const struct fm_agent_source *agent;
	struct fm_transport *t;
	struct fm_wire wire;
	struct fm_facts facts;
	bool following; /* a follow's second reply is still to come */
	int log;
};

int fm_call_begin(struct fm_buf *b, const char *verb)
{
	int rc = fm_text_begin(b, "call");

	return rc == FM_OK ? fm_text_put(b, "verb", "%s", verb) : rc;
}

/* A frame of type reply becomes *reply behind `status ok`, or the host's error. */
static int read_reply(const struct fm_frame *frame, struct fm_text *reply)
{
	const char *status, *klass = "", *reason = "", *text = "";
	char shown[900];
	int code, rc = fm_text_open(reply, "reply", frame->payload, frame->len);

	if (rc != FM_OK)
		return fm_fail(FM_ERR_FRAME, "the agent's reply: %s", fm_error_text());
	rc = fm_text_take(reply, "status", &status);
	if (rc == FM_OK && strcmp(status, "ok") == 0)
		return FM_OK;
	if (rc == FM_OK && strcmp(status, "error") == 0)
		rc = fm_text_take(reply, "class", &klass);
	if (rc == FM_OK)
		rc = fm_text_take(reply, "reason", &reason);
	if (rc == FM_OK)
		rc = fm_text_take(reply, "text", &text);
	code = rc == FM_OK ? fm_error_lookup(klass, reason) : FM_ERR_FRAME;
	/* Codes that mean something of our own: a host cannot say them. */
	if (code == FM_ERR_INTERRUPTED || code == FM_ERR_TIMEOUT)
		code = FM_ERR_REFUSED;
	if (rc == FM_OK)
		(void)fm_fail(code, "%s", fm_escape(text, strlen(text), shown, sizeof shown));
	fm_text_free(reply);
	memset(reply, 0, sizeof *reply);
	return code;
}

/* The next reply; events of an ended follow that were still on their way are passed over (they are
 * in the file). */
static int wait_reply(struct fm_session *s, struct fm_text *reply, int timeout_s)
{
	struct fm_frame frame;
	int rc;

	for (;;) {
		rc = fm_wire_next(&s->wire, &frame, timeout_s);
		if (rc != FM_OK)
			return rc;
		if (s->following && frame.type == FM_FRAME_EVENT)
			continue;
		if (frame.type != FM_FRAME_REPLY)
			return fm_fail(
			        FM_ERR_FRAME, "frame '%c' where a reply was expected", frame.type);
		if (!s->following)
			return read_reply(&frame, reply);
		s->following = false;
	}
}

void fm_session_until(struct fm_session *s, uint64_t deadline)
{
	s->wire.until = deadline;
}

int fm_session_send(struct fm_session *s, const struct fm_buf *text)
{
	return fm_wire_send(&s->wire, FM_FRAME_CALL, text->data, text->len);
}

int fm_session_reply(struct fm_session *s, struct fm_text *reply, int timeout_s)
{
	memset(reply, 0, sizeof *reply);
	return wait_reply(s, reply, timeout_s);
}

int fm_session_stream_begin(struct fm_session *s, const struct fm_buf *text)
{
	return fm_session_send(s, text);
}

int fm_session_stream_write(struct fm_session *s, const void *bytes, size_t len)
{
	return fm_wire_send_data(&s->wire, bytes, len);
}

int fm_session_stream_end(struct fm_session *s, struct fm_text *reply, int timeout_s)
{
	int rc = fm_wire_send(&s->wire, FM_FRAME_END, NULL, 0);

	return rc == FM_OK ? wait_reply(s, reply, timeout_s) : rc;
}

int fm_session_call(struct fm_session *s, const struct fm_buf *text, const void *data, size_t len,
        struct fm_text *reply, int timeout_s)
{
	int rc = fm_session_stream_begin(s, text);

	memset(reply, 0, sizeof *reply);
	if (rc != FM_OK)
		return rc;
	if (data == NULL)
		return wait_reply(s, reply, timeout_s);
	rc = fm_session_stream_write(s, data, len);
	return rc == FM_OK ? fm_session_stream_end(s, reply, timeout_s) : rc;
}

int fm_session_data(
        struct fm_session *s, uint64_t max, fm_session_sink *sink, void *arg, int timeout_s)
{
	uint64_t got = 0;
	int failed = FM_OK;

	for (;;) {
		struct fm_frame frame;
		int rc = fm_wire_next(&s->wire, &frame, timeout_s);

		if (rc != FM_OK)
			return rc;
		if (frame.type == FM_FRAME_END)
			return failed;
		if (frame.type != FM_FRAME_DATA)
			return fm_fail(
			        FM_ERR_FRAME, "frame '%c' where data were expected", frame.type);
		got += frame.len;
		if (got > max)
			return fm_fail(FM_ERR_SIZE, "the agent sends more than %llu bytes",
			        (unsigned long long)max);
		if (failed == FM_OK)
			failed = sink(arg, frame.payload, frame.len);
	}
}

static void copy(char *out, size_t size, const char *value)
{
	snprintf(out, size, "%s", strcmp(value, "none") == 0 ? "" : value);
}

/* The text keys of a reply to facts, in the order of FORMATS.md. */
static int take_text(struct fm_text *r, const char *key, char *out, size_t size)
{
	const char *value;
	int rc = fm_text_take(r, key, &value);

	if (rc == FM_OK)
		copy(out, size, value);
	return rc;
}

static int read_facts(struct fm_text *r, struct fm_facts *f)
{
	const char *value;
	int rc;

#define TEXT(name) (rc = take_text(r, #name, f->name, sizeof f->name)) != FM_OK
#define HEX(name)  (rc = fm_text_take_hex(r, #name, f->name)) != FM_OK
	if (TEXT(agent_version) || HEX(agent_source) || HEX(agent_sha256) || HEX(worker_sha256) ||
	        TEXT(libsodium) || TEXT(arch) || HEX(machine) || HEX(boot) || TEXT(cpu_model) ||
	        TEXT(microcode) || TEXT(os) || TEXT(kernel) || TEXT(compiler) || TEXT(emulator) ||
	        (rc = fm_text_take_i64(r, "memory_kib", &f->memory_kib)) != FM_OK ||
	        (rc = fm_text_take_i64(r, "logical_cpus", &f->logical_cpus)) != FM_OK ||
	        (rc = fm_text_take_i64(r, "virtual", &f->virtual_machine)) != FM_OK ||
	        (rc = fm_text_take_i64(r, "cpu_last", &f->cpu_last)) != FM_OK ||
	        (rc = fm_text_take_i64(r, "free_kib", &f->free_kib)) != FM_OK || TEXT(key) ||
	        TEXT(controller) || TEXT(holder))
		return rc;
#undef TEXT
#undef HEX
	while (fm_text_maybe(r, "missing", &value)) {
		if (f->missing_count < sizeof f->missing / sizeof *f->missing)
			copy(f->missing[f->missing_count++], sizeof *f->missing, value);
	}
	return fm_text_close(r);
}

int fm_session_refresh(struct fm_session *s)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	struct fm_text reply = {0};
	int rc = fm_call_begin(&call, "facts");

	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(s, &call, NULL, 0, &reply, FACTS_WAIT_S);
	if (rc == FM_OK) {
		memset(&s->facts, 0, sizeof s->facts);
		rc = read_facts(&reply, &s->facts);
		if (rc != FM_OK)
			rc = fm_fail(FM_ERR_FRAME, "the agent's facts: %s", fm_error_text());
	}
	fm_text_free(&reply);
	fm_buf_free(&call);
	return rc;
}

/* A channel with an agent behind it. */
static int start_agent(struct fm_session *s)
{
	struct fm_channel *c = NULL;
	int rc = fm_bootstrap(s->ops, s->t, s->system, s->agent, s->log, &c);

	if (rc == FM_OK)
		fm_wire_start(&s->wire, s->ops, c, s->log);
	s->following = false;
	return rc;
}

int fm_session_open(struct fm_session **out, const struct fm_system *system,
        const struct fm_home *home, const struct fm_agent_source *agent, int wake, int log)
{
	struct fm_session *s = fm_alloc(sizeof *s);
	int rc;

	*out = NULL;
	if (s == NULL)
		return FM_ERR_MEMORY;
	s->ops = fm_transport_for(system);
	s->system = system;
	s->agent = agent;
	s->log = log;
	fm_wire_start(&s->wire, s->ops, NULL, log);
	fm_hostlog_say(
	        log, "connecting to %s", system->address != NULL ? system->address : system->name);
	rc = s->ops->open(&s->t, system, home, wake, fm_now_ns() + CONNECT_WAIT);
	if (rc == FM_OK)
		rc = start_agent(s);
	if (rc == FM_OK)
		rc = fm_session_refresh(s);
	if (rc == FM_OK && strcmp(s->facts.agent_source, agent->sha256) != 0)
		rc = fm_fail(FM_ERR_INTERNAL,
		        "the agent there names another source than it was built from");
	if (rc == FM_OK) {
		*out = s;
		s = NULL;
	} else {
		fm_hostlog_say(log, "%s", fm_error_text());
	}
	fm_session_close(s);
	return rc;
}

void fm_session_close(struct fm_session *s)
{
	if (s == NULL)
		return;
	fm_wire_stop(&s->wire);
	s->ops->close(s->t);
	free(s);
}

const struct fm_facts *fm_session_facts(const struct fm_session *s)
{
	return &s->facts;
}

const char *fm_session_host_key(const struct fm_session *s)
{
	return s->ops->host_key(s->t);
}

const char *fm_session_describe(const struct fm_session *s)
{
	return s->ops->describe(s->t);
}

const struct fm_system *fm_session_system(const struct fm_session *s)
{
	return s->system;
}

struct fm_session_traffic fm_session_traffic(const struct fm_session *s)
{
	return (struct fm_session_traffic){s->wire.sent, s->wire.received};
}

/* A call with the one key campaign; the reply stays open. */
static int call_campaign(struct fm_session *s, const char *verb, const char *campaign,
        const uint64_t *offset, struct fm_text *reply, int timeout_s)
{
	struct fm_buf call = FM_BUF_INIT(CALL_MAX);
	int rc = fm_call_begin(&call, verb);

	if (rc == FM_OK)
		rc = fm_text_put(&call, "campaign", "%s", campaign);
	if (rc == FM_OK && offset != NULL)
		rc = fm_text_put(&call, "offset", "%llu", (unsigned long long)*offset);
	if (rc == FM_OK)
		rc = fm_text_end(&call);
	if (rc == FM_OK)
		rc = fm_session_call(s, &call, NULL, 0, reply, timeout_s);
	fm_buf_free(&call);
	return rc;
}

static int take_state(struct fm_text *reply, char state[16])
{
	const char *value;
	int rc = fm_text_take(reply, "state", &value);

	if (rc == FM_OK)
		snprintf(state, 16, "%s", value);
	return rc;
}

int fm_session_cancel(struct fm_session *s, const char *campaign, char state[16], int timeout_s)
{
	struct fm_text reply = {0};
	int rc;

	s->ops->set_wake(s->t, -1);
	fm_wire_stop(&s->wire);
	rc = start_agent(s);
	if (rc == FM_OK)
		rc = call_campaign(s, "cancel", campaign, NULL, &reply, timeout_s);
	if (rc == FM_OK)
		rc = take_state(&reply, state);
	fm_text_free(&reply);
	return rc;
}

/* The event's line goes to each; the file's offset moves on behind it. */
static int take_event(
        const struct fm_frame *frame, uint64_t *offset, fm_session_each *each, void *arg)
{
	struct fm_line line;

	if (fm_line_parse(frame->payload, frame->len, &line) != FM_OK)
		return fm_fail(FM_ERR_FRAME, "the agent's progress: %s", fm_error_text());
	*offset += frame->len + 1;
	return each(arg, &line);
}

int fm_session_follow(struct fm_session *s, const char *campaign, uint64_t *offset,
        fm_session_each *each, void *arg, char state[16])
{
	struct fm_text reply = {0};
	struct fm_frame frame;
	int rc = call_campaign(s, "follow", campaign, offset, &reply, FM_WIRE_LOST_S);

	fm_text_free(&reply);
	state[0] = '\0';
	if (rc != FM_OK)
		return rc;
	s->following = true;
	for (;;) {
		rc = fm_wire_next(&s->wire, &frame, FM_WIRE_LOST_S);
		if (rc != FM_OK)
			return rc;
		if (frame.type == FM_FRAME_REPLY)
			break;
		if (frame.type != FM_FRAME_EVENT)
			return fm_fail(FM_ERR_FRAME, "frame '%c' while following", frame.type);
		rc = take_event(&frame, offset, each, arg);
		if (rc != FM_OK)
			return rc;
	}
	s->following = false;
	rc = read_reply(&frame, &reply);
	if (rc == FM_OK)
		rc = take_state(&reply, state);
	fm_text_free(&reply);
	return rc;
}
