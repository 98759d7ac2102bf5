/* attach.c: the loop between controller and agent: one call, one reply, events of a followed job in
 * between. */
#include "agent/attach.h"
#include "agent/spawn.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define CALL_MAX (1u << 20)

static const struct {
	const char *verb;
	fm_call *run;
	bool data; /* the call is followed by data */
} calls[] = {
        {"facts", fm_call_facts, false},
        {"check", fm_call_check, false},
        {"tune", fm_call_tune, false},
        {"enrol", fm_call_enrol, false},
        {"rotate", fm_call_rotate, false},
        {"rotated", fm_call_rotated, false},
        {"have", fm_call_have, false},
        {"push", fm_call_push, true},
        {"plan", fm_call_plan, true},
        {"start", fm_call_start, true},
        {"status", fm_call_status, false},
        {"follow", fm_call_follow, false},
        {"get", fm_call_get, false},
        {"cancel", fm_call_cancel, false},
        {"remove", fm_call_remove, false},
};

int fm_attach_send(struct fm_attach *at, enum fm_frame_type type, const void *bytes, size_t len)
{
	struct fm_buf out = FM_BUF_INIT(FM_FRAME_MAX + FM_FRAME_HEADER);
	int rc = fm_frame_put(&out, &at->number, type, bytes, len);

	if (rc == FM_OK)
		rc = fm_fs_write_all(at->out, out.data, out.len);
	if (rc == FM_OK)
		at->alive_ns = fm_agent_boot_ns();
	else
		rc = fm_wrap(FM_ERR_DROPPED, "writing to the controller");
	fm_buf_free(&out);
	return rc;
}

/* Waits for bytes and feeds them. 1: fed; 0: nothing in time, or wake. */
static int feed(struct fm_attach *at, int timeout_ms, int wake)
{
	struct pollfd p[2] = {{at->in, POLLIN, 0}, {wake, POLLIN, 0}};
	char piece[65536];
	ssize_t n;
	int rc;

	if (poll(p, 2, timeout_ms) <= 0 || p[0].revents == 0)
		return 0;
	n = read(at->in, piece, sizeof piece);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0)
		return fm_fail(FM_ERR_DROPPED, "the controller closed the line");
	at->alive_ns = fm_agent_boot_ns();
	rc = fm_frame_feed(&at->reader, piece, (size_t)n);
	return rc != FM_OK ? rc : 1;
}

int fm_attach_next(struct fm_attach *at, struct fm_frame *frame, int timeout_ms, int wake)
{
	for (;;) {
		int rc = fm_frame_next(&at->reader, frame);

		if (rc == 1 && frame->type == FM_FRAME_PING) {
			/* the caller looks around: pings may come faster than its time-outs */
			rc = fm_attach_send(at, FM_FRAME_PONG, frame->payload, frame->len);
			return rc != FM_OK ? rc : 0;
		}
		if (rc != 0)
			return rc;
		rc = feed(at, timeout_ms, wake);
		if (rc <= 0)
			return rc;
	}
}

int fm_attach_data(struct fm_attach *at, uint64_t max, fm_attach_sink *sink, void *arg)
{
	struct fm_frame frame;
	uint64_t sum = 0;
	int result = FM_OK, rc;

	while (at->data_open) {
		rc = fm_attach_next(at, &frame, -1, -1);
		if (rc < 0)
			return rc;
		if (rc == 0)
			continue;
		if (frame.type == FM_FRAME_END) {
			at->data_open = false;
		} else if (frame.type != FM_FRAME_DATA) {
			return fm_fail(
			        FM_ERR_FRAME, "frame '%c' where data were expected", frame.type);
		} else {
			sum += frame.len;
			if (result == FM_OK && sum > max)
				result = fm_fail(FM_ERR_SIZE, "more than %llu bytes of data",
				        (unsigned long long)max);
			if (result == FM_OK && sink != NULL)
				result = sink(arg, frame.payload, frame.len);
		}
	}
	return result;
}

int fm_reply_text(struct fm_buf *reply, const char *key, const char *text)
{
	char clean[FM_HOST_TEXT];

	fm_agent_clean(text, strlen(text), clean);
	return fm_text_put(reply, key, "%s", clean[0] == '\0' ? "unknown" : clean);
}

int fm_call_campaign(struct fm_text *call, char name[FM_NAME_MAX + 1])
{
	return fm_text_take_name(call, "campaign", name);
}

static int error_reply(struct fm_buf *reply, int code)
{
	char text[900], shown[900];
	int rc;

	code = fm_agent_host_code(code);
	/* The words were set by whoever failed; the writer below may change them. */
	snprintf(text, sizeof text, "%s", fm_error_text());
	fm_escape(text, strlen(text), shown, sizeof shown);
	for (size_t n = strlen(shown); n > 0 && shown[n - 1] == ' '; n--)
		shown[n - 1] = '\0';
	for (char *c = shown; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e)
			*c = '?';
	reply->len = 0;
	if ((rc = fm_text_begin(reply, "reply")) != FM_OK ||
	        (rc = fm_text_put(reply, "status", "error")) != FM_OK ||
	        (rc = fm_text_put(reply, "class", "%s", fm_error_class(code))) != FM_OK ||
	        (rc = fm_text_put(reply, "reason", "%s", fm_error_reason(code))) != FM_OK ||
	        (rc = fm_text_put(reply, "text", "%s",
	                 shown[strspn(shown, " ")] == '\0' ? "no words"
	                                                   : shown + strspn(shown, " "))) != FM_OK)
		return rc;
	return fm_text_end(reply);
}

/* Runs the call whose text this is; reply gets what goes back. Only a broken line is an error here.
 */
static int run_call(struct fm_attach *at, const struct fm_frame *frame, struct fm_buf *reply)
{
	struct fm_text call;
	const char *verb;
	size_t n = sizeof calls / sizeof calls[0], i = 0;
	int rc = fm_text_open(&call, "call", frame->payload, frame->len), drained;

	at->data_open = false;
	if (rc != FM_OK)
		return error_reply(reply, rc);
	rc = fm_text_take(&call, "verb", &verb);
	while (rc == FM_OK && i < n && strcmp(calls[i].verb, verb) != 0)
		i++;
	if (rc == FM_OK && i == n)
		rc = fm_fail(FM_ERR_FORM, "call: unknown verb '%.40s'", verb);
	if (rc == FM_OK) {
		at->data_open = calls[i].data;
		rc = fm_text_begin(reply, "reply");
	}
	if (rc == FM_OK)
		rc = fm_text_put(reply, "status", "ok");
	if (rc == FM_OK)
		rc = calls[i].run(at, &call, reply);
	if (rc == FM_OK)
		rc = fm_text_end(reply);
	fm_text_free(&call);
	if (rc != FM_OK) {
		at->has_data = at->follow = false;
		if (error_reply(reply, rc) != FM_OK)
			return rc;
	}
	if (rc == FM_ERR_DROPPED || rc == FM_ERR_FRAME)
		return rc;
	drained = fm_attach_data(at, UINT64_MAX, NULL, NULL);
	return drained;
}

static int send_data(struct fm_attach *at)
{
	int rc = FM_OK;

	for (size_t done = 0; rc == FM_OK && done < at->data.len;) {
		size_t piece = at->data.len - done;

		if (piece > 256u << 10)
			piece = 256u << 10;
		rc = fm_attach_send(at, FM_FRAME_DATA, at->data.data + done, piece);
		done += piece;
	}
	return rc != FM_OK ? rc : fm_attach_send(at, FM_FRAME_END, NULL, 0);
}

static int answer(struct fm_attach *at, const struct fm_frame *frame)
{
	struct fm_buf reply = FM_BUF_INIT(CALL_MAX);
	int rc;

	at->has_data = false;
	fm_buf_free(&at->data);
	at->data = FM_BUF_INIT(256u << 20);
	rc = run_call(at, frame, &reply);
	if (rc == FM_OK)
		rc = fm_attach_send(at, FM_FRAME_REPLY, reply.data, reply.len);
	if (rc == FM_OK && at->has_data)
		rc = send_data(at);
	fm_buf_free(&reply);
	return rc;
}

/* The reply that ends a follow. */
static int end_follow(struct fm_attach *at, const char *state)
{
	struct fm_buf reply = FM_BUF_INIT(4096);
	int rc;

	at->follow = false;
	if ((rc = fm_text_begin(&reply, "reply")) == FM_OK &&
	        (rc = fm_text_put(&reply, "status", "ok")) == FM_OK &&
	        (rc = fm_text_put(&reply, "state", "%s", state)) == FM_OK &&
	        (rc = fm_text_put(&reply, "offset", "%llu", (unsigned long long)at->offset)) ==
	                FM_OK &&
	        (rc = fm_text_end(&reply)) == FM_OK)
		rc = fm_attach_send(at, FM_FRAME_REPLY, reply.data, reply.len);
	fm_buf_free(&reply);
	return rc;
}

/* Wakes when the progress file grows, so that a measured host is not polled; -1 where inotify is
 * not there. */
static int watch_progress(const struct fm_attach *at)
{
	char *path = fm_sprintf("%s/jobs/%s/progress", at->agent->path, at->campaign);
	int fd = path == NULL ? -1 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd >= 0 && inotify_add_watch(fd, path, IN_MODIFY) < 0) {
		close(fd);
		fd = -1;
	}
	free(path);
	return fd;
}

/* Sends events until the job is over or the controller calls; then frame holds that call (1). */
static int follow(struct fm_attach *at, struct fm_frame *frame)
{
	int wake = watch_progress(at), rc = FM_OK;
	const char *state = "running";
	bool over = false;

	while (rc == FM_OK && !over) {
		char events[4096];

		while (wake >= 0 && read(wake, events, sizeof events) > 0)
			;
		rc = fm_follow_step(at, &over, &state);
		if (rc != FM_OK || over)
			break;
		rc = fm_attach_next(at, frame, wake >= 0 ? 1000 : 200, wake);
	}
	if (wake >= 0)
		close(wake);
	if (rc < 0 && rc != FM_ERR_DROPPED && rc != FM_ERR_FRAME)
		state = "dead";
	if (rc == FM_ERR_DROPPED || rc == FM_ERR_FRAME)
		return rc;
	return end_follow(at, state) == FM_OK ? (rc == 1 ? 1 : 0) : FM_ERR_DROPPED;
}

int fm_attach_serve(const struct fm_agent *agent, int in, int out)
{
	struct fm_attach at = {.agent = agent, .in = in, .out = out};
	struct fm_frame frame;
	int rc = FM_OK;

	fm_frame_reader_init(&at.reader);
	at.data = FM_BUF_INIT(256u << 20);
	while (rc >= 0) {
		rc = at.follow ? follow(&at, &frame) : fm_attach_next(&at, &frame, -1, -1);
		if (rc != 1)
			continue;
		rc = frame.type == FM_FRAME_CALL
		             ? answer(&at, &frame)
		             : fm_fail(FM_ERR_FRAME, "frame '%c' where a call was expected",
		                       frame.type);
	}
	fm_frame_reader_free(&at.reader);
	fm_buf_free(&at.data);
	return rc == FM_ERR_DROPPED ? FM_OK : rc;
}
