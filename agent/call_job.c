/* call_job.c: the calls about a campaign's job: start, status, follow, get, cancel. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/mandate.h"
#include "protocol/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

int fm_agent_job_dir(const struct fm_agent *a, const char *campaign, bool make, int *fd)
{
	int jobs = -1, rc;

	*fd = -1;
	rc = fm_fs_mkdirs(a->dir, "jobs", 0700, &jobs);
	if (rc == FM_OK)
		rc = make ? fm_fs_mkdirs(jobs, campaign, 0700, fd) : fm_fs_dir(jobs, campaign, fd);
	if (rc != FM_OK && !make)
		rc = fm_fail(FM_ERR_REFUSED, "this host has no campaign %s", campaign);
	if (jobs >= 0)
		close(jobs);
	return rc;
}

/* Does a job process hold the lock of this job folder? A shared lock is tried, so that two askers
 * do not see each other. */
bool fm_job_running(int jobdir)
{
	int fd = openat(jobdir, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return held;
}

static int last_word(void *arg, const struct fm_line *line)
{
	const char **state = arg;

	if (strcmp(line->kind, "start") == 0)
		*state = "dead";
	else if (strcmp(line->kind, "end") == 0)
		*state = "finished";
	return FM_OK;
}

/* none, running, finished, dead */
const char *fm_job_state(int jobdir)
{
	const char *state = "none";

	if (fm_job_running(jobdir))
		return "running";
	return fm_lines_read(jobdir, "progress", last_word, &state) == FM_OK ? state : "dead";
}

off_t fm_job_progress_bytes(int jobdir)
{
	struct stat st;

	return fstatat(jobdir, "progress", &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_size : 0;
}

int fm_call_status(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	char campaign[FM_NAME_MAX + 1];
	int dir = -1, rc;

	if ((rc = fm_call_campaign(call, campaign)) != FM_OK || (rc = fm_text_close(call)) != FM_OK)
		return rc;
	if (fm_agent_job_dir(at->agent, campaign, false, &dir) != FM_OK) {
		if ((rc = fm_text_put(reply, "state", "none")) != FM_OK)
			return rc;
		return fm_text_put(reply, "progress_bytes", "0");
	}
	if ((rc = fm_text_put(reply, "state", "%s", fm_job_state(dir))) == FM_OK)
		rc = fm_text_put(
		        reply, "progress_bytes", "%lld", (long long)fm_job_progress_bytes(dir));
	close(dir);
	return rc;
}

/* The job's own process: out of this session, its parent gone, a pipe back to us as descriptor 3.
 */
static void detach(const struct fm_agent *a, const char *campaign, int dir, int back)
{
	const char *argv[10] = {
	        a->self, "job", "--workdir", a->path, "--source", a->source, campaign};
	const char *env[] = {NULL, NULL};
	char *door = NULL;
	int null, log;

	setsid();
	if (fork() != 0)
		_exit(0);
	null = open("/dev/null", O_RDWR);
	log = openat(dir, "job.log", O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	if (null < 0 || log < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(log, 2) < 0 ||
	        dup2(back, 3) < 0)
		_exit(126);
#ifdef FLEETMARK_TESTING
	if (a->world != NULL) {
		argv[7] = "--world";
		argv[8] = a->world;
	}
	if (getenv("FLEETMARK_TEST_DOOR") != NULL)
		door = fm_sprintf("FLEETMARK_TEST_DOOR=%s", getenv("FLEETMARK_TEST_DOOR"));
#endif
	env[0] = door;
	if (chdir("/") != 0)
		_exit(126);
	execve(a->self, (char *const *)(uintptr_t)argv, (char *const *)(uintptr_t)env);
	_exit(127);
}

/* What the job said of its beginning: "ok", or class, reason, text in lines. */
static int begun(char *text)
{
	char *klass = text, *reason = strchr(text, '\n'), *words;

	if (strcmp(text, "ok\n") == 0)
		return FM_OK;
	words = reason == NULL ? NULL : strchr(reason + 1, '\n');
	if (words == NULL)
		return fm_fail(FM_ERR_INTERNAL, "the job ended before it began");
	*reason++ = '\0';
	*words++ = '\0';
	words[strcspn(words, "\n")] = '\0';
	return fm_fail(fm_error_lookup(klass, reason), "%s", words);
}

static int start_job(const struct fm_agent *a, const char *campaign, int dir)
{
	char text[2000];
	size_t used = 0;
	ssize_t n;
	int fd[2], status;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC) != 0)
		return fm_fail_errno("starting the job");
	pid = fork();
	if (pid == 0)
		detach(a, campaign, dir, fd[1]);
	close(fd[1]);
	if (pid < 0) {
		close(fd[0]);
		return fm_fail_errno("starting the job");
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	while (used < sizeof text - 1) {
		n = read(fd[0], text + used, sizeof text - 1 - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	close(fd[0]);
	text[used] = '\0';
	return begun(text);
}

static int collect(void *arg, const void *bytes, size_t len)
{
	return fm_buf_put(arg, bytes, len);
}

int fm_call_start(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX);
	struct fm_mandate m;
	char campaign[FM_NAME_MAX + 1];
	int dir = -1, rc;

	memset(&m, 0, sizeof m);
	if ((rc = fm_call_campaign(call, campaign)) != FM_OK ||
	        (rc = fm_text_close(call)) != FM_OK ||
	        (rc = fm_attach_data(at, FM_TEXT_MAX, collect, &text)) != FM_OK ||
	        (rc = fm_agent_job_dir(at->agent, campaign, false, &dir)) != FM_OK ||
	        (rc = fm_mandate_load(at->agent, dir, campaign, text.data, text.len, &m)) != FM_OK)
		goto out;
	if (fm_job_running(dir)) {
		(void)!fm_door_tell(campaign, "renew");
		rc = fm_text_put(reply, "state", "running");
		goto out;
	}
	if ((rc = fm_door_refuse_busy("start")) != FM_OK ||
	        (rc = fm_mandate_note(at->agent, &m)) != FM_OK ||
	        (rc = fm_fs_write(dir, "job.txt", text.data, text.len, 0600)) != FM_OK ||
	        (rc = start_job(at->agent, campaign, dir)) != FM_OK)
		goto out;
	rc = fm_text_put(reply, "state", "started");
out:
	fm_mandate_free(&m);
	if (dir >= 0)
		close(dir);
	fm_buf_free(&text);
	return rc;
}

int fm_call_cancel(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	char campaign[FM_NAME_MAX + 1];
	int dir = -1, rc;

	if ((rc = fm_call_campaign(call, campaign)) != FM_OK || (rc = fm_text_close(call)) != FM_OK)
		return rc;
	if (fm_agent_job_dir(at->agent, campaign, false, &dir) != FM_OK)
		return fm_text_put(reply, "state", "none");
	if (fm_job_running(dir) && (rc = fm_door_tell(campaign, "cancel")) == FM_OK)
		for (int i = 0; i < 500 && fm_job_running(dir); i++)
			(void)poll(NULL, 0, 20);
	if (rc == FM_OK || !fm_job_running(dir))
		rc = fm_text_put(reply, "state", "%s", fm_job_state(dir));
	close(dir);
	return rc;
}
