/* attach.h: the controller's end of the line inside the agent: frames in and out, one function per
 * call (FORMATS.md section 7). */
#ifndef FM_AGENT_ATTACH_H
#define FM_AGENT_ATTACH_H

#include "agent/agent.h"
#include "protocol/frame.h"
#include "protocol/jobtext.h"

struct fm_attach {
	const struct fm_agent *agent;
	int in, out;
	struct fm_frame_reader reader;
	uint32_t number; /* of the last frame sent */
	bool data_open;  /* the running call's data have not been read to their end */
	bool follow;     /* after this reply events are sent */
	char campaign[FM_NAME_MAX + 1]; /* that is followed */
	uint64_t offset;                /* of its progress file, sent so far */
	/* The lease of that job runs on while its controller is there: CLOCK_BOOTTIME of the last
	 * byte that went either way, and of the last renewal; ns between two of them (0: no lease).
	 */
	uint64_t alive_ns, renewed_ns, renew_every_ns;
	struct fm_buf data; /* goes out behind the reply, as D frames and E, if has_data */
	bool has_data;
};

/* One call. call stands behind `verb`; reply behind `status ok`. An error becomes `status error`.
 */
typedef int fm_call(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply);
fm_call fm_call_facts, fm_call_check, fm_call_tune, fm_call_enrol, fm_call_rotate, fm_call_rotated,
        fm_call_have, fm_call_push, fm_call_plan, fm_call_start, fm_call_status, fm_call_follow,
        fm_call_get, fm_call_cancel, fm_call_remove;

/* Serves the line until it ends. FM_OK at end of file between calls. */
FM_CHECK int fm_attach_serve(const struct fm_agent *agent, int in, int out);

/* Sends one frame. */
FM_CHECK int fm_attach_send(
        struct fm_attach *at, enum fm_frame_type type, const void *bytes, size_t len);

/* The next frame that is not a ping: 1; 0 after a ping, which was answered, after timeout_ms (-1:
 * never) or when wake (-1: none) is readable; FM_ERR_DROPPED at the end of the line. */
FM_CHECK int fm_attach_next(struct fm_attach *at, struct fm_frame *frame, int timeout_ms, int wake);

/* The data frames of the running call: sink for every piece, until E. After an error of sink the
 * rest is still read. At most max bytes (FM_ERR_SIZE). */
typedef int fm_attach_sink(void *arg, const void *bytes, size_t len);
FM_CHECK int fm_attach_data(struct fm_attach *at, uint64_t max, fm_attach_sink *sink, void *arg);

/* fm_text_put for text that may hold anything: cleaned, "unknown" if nothing is left. */
FM_CHECK int fm_reply_text(struct fm_buf *reply, const char *key, const char *text);

/* jobs/<campaign> as a folder; FM_ERR_REFUSED if there is none (make: made). The caller closes *fd.
 */
FM_CHECK int fm_agent_job_dir(const struct fm_agent *a, const char *campaign, bool make, int *fd);

/* Of a job folder: does a job process hold its lock; none, running, finished or dead; bytes of its
 * progress file. */
bool fm_job_running(int jobdir);
const char *fm_job_state(int jobdir);
off_t fm_job_progress_bytes(int jobdir);

/* Takes `campaign` from the call. */
FM_CHECK int fm_call_campaign(struct fm_text *call, char name[FM_NAME_MAX + 1]);

/* Sends progress lines from at->offset on; *over tells that the job is not running any more, state
 * which way it ended. */
FM_CHECK int fm_follow_step(struct fm_attach *at, bool *over, const char **state);

#endif
