/* session.h: a live conversation with the agent of one host: bootstrap, agent pushed and built if
 * it is absent, then calls. */
#ifndef FM_SESSION_H
#define FM_SESSION_H

#include "orchestrator/transport.h"
#include "protocol/frame.h"
#include "protocol/jobtext.h"

struct fm_session;

/* What the host says of itself (reply to `facts`, FORMATS.md section 7); "none" has become "". */
struct fm_facts {
	char agent_source[65], agent_sha256[65], worker_sha256[65], machine[65], boot[65];
	char arch[16], emulator[32], key[FM_PUBLIC_LINE + 1], controller[FM_PUBLIC_LINE + 1];
	char agent_version[64], libsodium[64], cpu_model[201], microcode[64], os[201], kernel[201],
	        compiler[201], holder[201];
	int64_t memory_kib, logical_cpus, virtual_machine, cpu_last, free_kib;
	char missing[8][64];
	size_t missing_count;
};

/* What the line carried (for status and the cost of an unchanged push). */
struct fm_session_traffic {
	uint64_t sent, received; /* bytes of frames */
};

/* Where the agent's source lies and what it is called: made once per command by fm_agent_source. */
struct fm_agent_source {
	const char *root;
	char sha256[65];       /* digest of sources: agent/<digest>/ */
	struct fm_buf sources; /* SOURCES.sha256 lines of agent/ and protocol/ */
	struct fm_buf tar;     /* the stream the bootstrap unpacks (FORMATS.md section 7): SOURCES.sha256 and the files it names */
};
FM_CHECK int fm_agent_source(const char *root, struct fm_agent_source *out);
void fm_agent_source_free(struct fm_agent_source *a);

/* Connects and gets the agent to answer. log gets raw bytes (capped), may be -1. Errors have class
 * and words for people; a host without compiler or libsodium is FM_ERR_MISSING with the install
 * line. */
FM_CHECK int fm_session_open(struct fm_session **out, const struct fm_system *system,
        const struct fm_home *home, const struct fm_agent_source *agent, int wake, int log);
void fm_session_close(struct fm_session *s);                         /* NULL allowed */
const struct fm_facts *fm_session_facts(const struct fm_session *s); /* asked for in open */
FM_CHECK int fm_session_refresh(struct fm_session *s);               /* asks for the facts again */
const char *fm_session_host_key(const struct fm_session *s);
const char *fm_session_describe(const struct fm_session *s);

/* One call: text is the whole job text of kind call. Data (may be empty) goes behind it as D frames
 * and E. *reply is positioned behind `status ok`; the caller frees it with fm_text_free. A reply
 * `status error` becomes its code with the host's (escaped) text. timeout_s is for silence on the
 * line, not for the whole call. */
FM_CHECK int fm_session_call(struct fm_session *s, const struct fm_buf *text, const void *data,
        size_t len, struct fm_text *reply, int timeout_s);

/* The data frames behind the last reply: sink is called with pieces until E; more than max bytes is
 * FM_ERR_SIZE. */
typedef int fm_session_sink(void *arg, const void *bytes, size_t len);
FM_CHECK int fm_session_data(
        struct fm_session *s, uint64_t max, fm_session_sink *sink, void *arg, int timeout_s);

/* From now on everything waited for ends with FM_ERR_TIMEOUT at this fm_now_ns, whatever the host
 * sends; 0: only silence ends it. */
void fm_session_until(struct fm_session *s, uint64_t deadline);

/* The halves of a call without data, so that several can be under way (only `get`): each send is
 * answered by one reply, in order. */
FM_CHECK int fm_session_send(struct fm_session *s, const struct fm_buf *text);
FM_CHECK int fm_session_reply(struct fm_session *s, struct fm_text *reply, int timeout_s);

/* A call whose data is streamed: begin, any number of writes, end (which waits for the reply). */
FM_CHECK int fm_session_stream_begin(struct fm_session *s, const struct fm_buf *text);
FM_CHECK int fm_session_stream_write(struct fm_session *s, const void *bytes, size_t len);
FM_CHECK int fm_session_stream_end(struct fm_session *s, struct fm_text *reply, int timeout_s);

/* Follows a job's progress: each(arg, line) per V frame until the agent says that the job is over
 * (*state gets "finished", "dead" ...), each returns non-zero (handed through), the line is silent
 * for 35 s despite pings (FM_ERR_DROPPED), or wake is raised (FM_ERR_INTERRUPTED). */
struct fm_line;
typedef int fm_session_each(void *arg, const struct fm_line *line);
FM_CHECK int fm_session_follow(struct fm_session *s, const char *campaign, uint64_t *offset,
        fm_session_each *each, void *arg, char state[16]);

/* The text of a call with this verb is begun in b; the caller puts keys and ends it with
 * fm_text_end. */
FM_CHECK int fm_call_begin(struct fm_buf *b, const char *verb);

/* Tells the job of this campaign to end, whatever the session was doing: on a channel of its own,
 * not ended by wake. *state as the agent tells it. Afterwards the session can only be closed. */
FM_CHECK int fm_session_cancel(
        struct fm_session *s, const char *campaign, char state[16], int timeout_s);

const struct fm_system *fm_session_system(const struct fm_session *s);
struct fm_session_traffic fm_session_traffic(const struct fm_session *s);

#endif
