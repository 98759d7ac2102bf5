/* call_follow.c: sends a job's progress lines as they appear. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/jobplan.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

/* Keeps the followers of a job off the core that measures, where there is another one. */
static void leave_measured_core(void)
{
	cpu_set_t set;
	int last = -1, count = 0;

	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, &set)) {
			last = i;
			count++;
		}
	if (count < 2)
		return;
	CPU_CLR((size_t)last, &set);
	(void)sched_setaffinity(0, sizeof set, &set);
}

#define RENEWALS 4 /* in the time of a lease */

/* A follow may last as long as the campaign, so the lease is renewed under way. */
static int read_lease(struct fm_attach *at, int dir)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX);
	struct fm_dispatch d;
	int rc = fm_fs_read(dir, "job.txt", FM_TEXT_MAX, &text);

	at->renew_every_ns = 0;
	at->renewed_ns = fm_agent_boot_ns();
	if (rc == FM_OK && (rc = fm_dispatch_parse(text.data, text.len, &d)) == FM_OK) {
		at->renew_every_ns = d.lease_s * 1000000000u / RENEWALS;
		fm_dispatch_free(&d);
	}
	fm_buf_free(&text);
	return rc;
}

static void renew(struct fm_attach *at)
{
	uint64_t now = fm_agent_boot_ns();

	if (at->renew_every_ns == 0 || now - at->renewed_ns < at->renew_every_ns ||
	        at->alive_ns < at->renewed_ns)
		return;
	at->renewed_ns = now;
	(void)!fm_door_tell(at->campaign, "renew");
}

int fm_call_follow(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	static bool left;
	uint64_t offset = 0;
	int dir = -1, rc;

	(void)reply;
	if ((rc = fm_call_campaign(call, at->campaign)) != FM_OK ||
	        (rc = fm_text_take_u64(call, "offset", INT64_MAX, &offset)) != FM_OK ||
	        (rc = fm_text_close(call)) != FM_OK ||
	        (rc = fm_agent_job_dir(at->agent, at->campaign, false, &dir)) != FM_OK)
		return rc;
	if (offset > (uint64_t)fm_job_progress_bytes(dir))
		rc = fm_fail(FM_ERR_REFUSED, "follow: offset %llu lies behind the progress file",
		        (unsigned long long)offset);
	if (rc == FM_OK && fm_job_running(dir) && (rc = read_lease(at, dir)) == FM_OK)
		(void)!fm_door_tell(at->campaign, "renew");
	if (!left)
		leave_measured_core();
	left = true;
	at->offset = offset;
	at->follow = rc == FM_OK;
	close(dir);
	return rc;
}

/* Sends the complete lines that stand in the file behind at->offset. */
static int send_lines(struct fm_attach *at, int dir)
{
	int fd = openat(dir, "progress", O_RDONLY | O_NOFOLLOW | O_CLOEXEC), rc = FM_OK;
	char text[65536];
	ssize_t n;

	if (fd < 0)
		return FM_OK;
	while (rc == FM_OK && (n = pread(fd, text, sizeof text, (off_t)at->offset)) > 0) {
		size_t used = 0;
		char *lf;

		while (rc == FM_OK && (lf = memchr(text + used, '\n', (size_t)n - used)) != NULL) {
			size_t len = (size_t)(lf - text) - used;

			rc = fm_attach_send(at, FM_FRAME_EVENT, text + used, len);
			used += len + 1;
			at->offset += len + 1;
		}
		if (used == 0)
			break;
	}
	close(fd);
	return rc;
}

int fm_follow_step(struct fm_attach *at, bool *over, const char **state)
{
	bool running;
	int dir = -1, rc = fm_agent_job_dir(at->agent, at->campaign, false, &dir);

	if (rc != FM_OK) {
		*over = true;
		*state = "none";
		return FM_OK;
	}
	running = fm_job_running(dir);
	rc = send_lines(at, dir);
	if (rc == FM_OK && running)
		renew(at);
	if (rc == FM_OK && !running) {
		*over = true;
		*state = fm_job_state(dir);
	}
	close(dir);
	return rc;
}
