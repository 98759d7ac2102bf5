/* job.c: the detached part of a campaign from lock to end line: build, gate, measure, seal, one
 * after the other. */
#include "agent/job.h"

#include "agent/clockcheck.h"
#include "agent/seal_state.h"
#include "agent/work.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BACK        3 /* descriptor on which the beginning is told */
#define SPACE_LEAST ((uint64_t)32 << 20)
#define RESERVE     65536
#define LOCK_TRIES  50

/* Tells attach how it began, once. */
static void tell(int rc)
{
	struct fm_buf text = FM_BUF_INIT(2000);

	if (rc == FM_OK)
		rc = fm_buf_puts(&text, "ok\n") == FM_OK ? FM_OK : FM_ERR_MEMORY;
	else if (fm_buf_printf(&text, "%s\n%s\n%s\n", fm_error_class(rc), fm_error_reason(rc),
	                 fm_error_text()) != FM_OK)
		text.len = 0;
	if (text.len > 0)
		(void)!fm_fs_write_all(BACK, text.data, text.len);
	close(BACK);
	fm_buf_free(&text);
}

/* jobs/<campaign>/lock, kept until the process ends. An asker may hold a shared lock for an
 * instant. */
static int take_lock(int dir)
{
	int fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fm_fail_errno("lock");
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return FM_OK;
		usleep(20000);
	}
	close(fd);
	return fm_fail(FM_ERR_BUSY, "a job of this campaign is running");
}

static int take_host(struct fm_job *j)
{
	char line[300], since[21], print[FM_FINGERPRINT];

	fm_stamp_now(since);
	fm_public_fingerprint(&j->mandate.controller, print);
	snprintf(line, sizeof line, "pid=%ld campaign=%s controller=%s since=%s", (long)getpid(),
	        j->mandate.plan.campaign, print, since);
	return fm_door_take(&j->door, line);
}

/* Room for what is coming, and a little in reserve so that a full disk can still be told. */
static int check_space(struct fm_job *j)
{
	struct statvfs disk;
	uint64_t need = SPACE_LEAST, there;
	char *reserve;
	int rc;

	for (size_t i = 0; i < j->candidate_count; i++)
		need += j->candidates[i].done ? 0
		                              : j->candidates[i].unit_count * 2000000u +
		                                        j->candidates[i].cell_count *
		                                                (j->smoke ? 4000u : 400000u);
	if (fstatvfs(j->dir, &disk) != 0)
		return fm_fail_errno("statvfs");
	there = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (there < need)
		return fm_fail(FM_ERR_NO_SPACE,
		        "%llu MB are free in %s, this job needs about %llu MB",
		        (unsigned long long)(there >> 20), j->agent->path,
		        (unsigned long long)(need >> 20));
	reserve = fm_alloc(RESERVE);
	rc = reserve == NULL ? FM_ERR_MEMORY
	                     : fm_fs_write(j->dir, "reserve", reserve, RESERVE, 0600);
	free(reserve);
	return rc;
}

static int read_mandate(struct fm_job *j, const char *campaign)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX);
	int rc = fm_fs_read(j->dir, "job.txt", FM_TEXT_MAX, &text);

	if (rc == FM_OK)
		rc = fm_mandate_load(j->agent, j->dir, campaign, text.data, text.len, &j->mandate);
	fm_buf_free(&text);
	return rc;
}

static int start_line(struct fm_job *j)
{
	char pid[24];
	int rc = fm_lines_open(&j->progress, j->dir, "progress", fm_seal_state_each, j, NULL);

	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	if (rc == FM_OK)
		rc = fm_lines_put(j->progress, "start", "boot_id", j->boot, "pid", pid, NULL);
	if (rc == FM_OK)
		rc = fm_lines_sync(j->progress);
	j->said_ns = fm_agent_now_ns();
	return rc;
}

/* From lock to the first line of progress: whatever fails here is told to the caller of start. */
static int begin(struct fm_job *j, const char *campaign)
{
	char path[FM_NAME_MAX + 8];
	int rc;

	snprintf(path, sizeof path, "jobs/%s", campaign);
	if ((rc = fm_fs_dir(j->agent->dir, path, &j->dir)) != FM_OK ||
	        (rc = take_lock(j->dir)) != FM_OK || (rc = read_mandate(j, campaign)) != FM_OK ||
	        (rc = take_host(j)) != FM_OK)
		return rc;
	j->smoke = strcmp(j->mandate.plan.profile, "smoke") == 0;
	j->rigorous = strcmp(j->mandate.plan.profile, "rigorous") == 0;
	fm_facts_boot(j->boot);
	if (j->mandate.dispatch.deadline_s != 0)
		j->deadline_ns = fm_agent_boot_ns() + j->mandate.dispatch.deadline_s * 1000000000u;
	if ((rc = fm_work_make(j)) != FM_OK || (rc = start_line(j)) != FM_OK)
		return rc;
	fm_seal_state_settle(j);
	return check_space(j);
}

/* Housekeeping stays off the measured core where there is another one. */
static void leave_core(const struct fm_job *j)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2 ||
	        !CPU_ISSET((size_t)j->cpu, &set))
		return;
	CPU_CLR((size_t)j->cpu, &set);
	(void)sched_setaffinity(0, sizeof set, &set);
}

static int work(struct fm_job *j)
{
	bool open = false;
	int rc;

	for (size_t i = 0; i < j->candidate_count; i++)
		open = open || !j->candidates[i].done;
	if (!open)
		return FM_OK;
	if ((rc = fm_job_tidy(j)) != FM_OK || (rc = fm_facts_read(j->agent, &j->facts)) != FM_OK ||
	        (rc = fm_toolchain_read(j)) != FM_OK)
		return rc;
	j->emulated = strcmp(j->facts.emulator, "none") != 0;
	j->cpu = j->mandate.plan.cpu >= 0 ? (int)j->mandate.plan.cpu : j->facts.cpu_last;
	if ((rc = fm_job_build(j)) != FM_OK || (rc = fm_job_gate(j)) != FM_OK ||
	        (rc = fm_build_finish(j)) != FM_OK ||
	        (rc = fm_hostcheck_counter(j->agent, j->cpu, j->mandate.plan.counter,
	                 j->facts.emulator, &j->counter)) != FM_OK ||
	        (rc = fm_hostcheck_run(&j->facts, j->cpu, &j->counter, &j->checks)) != FM_OK)
		return rc;
	if (!fm_child_adopts() && (rc = fm_job_note(j, "no subreaper on this host: a process that "
	                                               "leaves its group is not found")) != FM_OK)
		return rc;
	leave_core(j);
	for (size_t i = 0; rc == FM_OK && i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		if (c->done)
			continue;
		fm_clockcheck_begin(j);
		if ((rc = fm_job_measure(j, c)) == FM_OK && (rc = fm_clockcheck_take(j)) == FM_OK)
			rc = fm_job_bundle(j, c);
	}
	return rc;
}

/* The last line: done, cancelled or failed with its class. */
static void end_line(struct fm_job *j, int rc)
{
	char text[1000];
	const char *state = rc == FM_OK ? "done" : rc == FM_ERR_CANCELLED ? "cancelled" : "failed";

	rc = fm_agent_host_code(rc);
	snprintf(text, sizeof text, "%s", rc == FM_OK ? "" : fm_error_text());
	(void)!fm_fs_remove(j->dir, "reserve");
	if (j->progress == NULL ||
	        fm_lines_put(j->progress, "end", "state", state, "class", fm_error_class(rc),
	                "reason", fm_error_reason(rc), "text", text, NULL) == FM_OK)
		return;
	/* The file may hold part of a line now: open it again, which cuts that off. */
	(void)!fm_lines_close(j->progress);
	j->progress = NULL;
	if (fm_lines_open(&j->progress, j->dir, "progress", NULL, NULL, NULL) == FM_OK)
		(void)!fm_lines_put(j->progress, "end", "state", state, "class", fm_error_class(rc),
		        "reason", fm_error_reason(rc), "text", text, NULL);
}

static int job(struct fm_job *j, const char *campaign)
{
	int rc = begin(j, campaign), swept;

	tell(fm_agent_host_code(rc));
	if (rc == FM_OK) {
		fm_child_serve(j->door.fd, 5000, fm_job_serve, j);
		rc = work(j);
	}
	swept = fm_child_sweep();
	if (rc == FM_OK)
		rc = swept;
	if (j->progress != NULL) {
		end_line(j, rc);
		(void)!fm_lines_sync(j->progress);
		(void)!fm_lines_close(j->progress);
	}
	return rc;
}

int fm_job_main(const struct fm_agent *a, const char *campaign)
{
	struct fm_job j;
	int rc;

	memset(&j, 0, sizeof j);
	j.agent = a;
	j.dir = j.door.fd = -1;
	(void)signal(SIGHUP, SIG_IGN);
	rc = job(&j, campaign);
	fm_door_close(&j.door);
	fm_work_free(&j);
	fm_counter_free(&j.counter);
	fm_mandate_free(&j.mandate);
	if (j.dir >= 0)
		close(j.dir);
	return rc;
}
