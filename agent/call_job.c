/* call_job.c: the calls about a campaign's job: start, status, follow, get, cancel. */
#include "agent/attach.h"
#include "agent/door.h"
#include "agent/mandate.h"
#include "protocol/lines.h"
#include "protocol/seal.h"

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
static bool lock_held(int jobdir)
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
static const char *job_state(int jobdir)
{
	const char *state = "none";

	if (lock_held(jobdir))
		return "running";
	return fm_lines_read(jobdir, "progress", last_word, &state) == FM_OK ? state : "dead";
}

static off_t progress_bytes(int jobdir)
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
	if ((rc = fm_text_put(reply, "state", "%s", job_state(dir))) == FM_OK)
		rc = fm_text_put(reply, "progress_bytes", "%lld", (long long)progress_bytes(dir));
	close(dir);
	return rc;
}

/* The job's own process: out of this session, its parent gone, a pipe back to us as descriptor 3.
 */
static void detach(const struct fm_agent *a, const char *campaign, int dir, int back)
{
	const char *argv[] = {
	        a->self, "job", "--workdir", a->path, "--source", a->source, campaign, NULL};
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
	if (lock_held(dir)) {
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
	if (offset > (uint64_t)progress_bytes(dir))
		rc = fm_fail(FM_ERR_REFUSED, "follow: offset %llu lies behind the progress file",
		        (unsigned long long)offset);
	if (rc == FM_OK && lock_held(dir))
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
	running = lock_held(dir);
	rc = send_lines(at, dir);
	if (rc == FM_OK && !running) {
		*over = true;
		*state = job_state(dir);
	}
	close(dir);
	return rc;
}

/* Opens a file of a bundle part by part, never through a link. */
static int open_below(int dir, const char *path, int *out)
{
	char part[FM_PART_MAX + 1];
	int at = dir, next, rc = FM_OK;

	*out = -1;
	for (;;) {
		size_t len = strcspn(path, "/");
		bool last = path[len] == '\0';

		if (len == 0 || len > FM_PART_MAX) {
			rc = fm_fail(FM_ERR_NAME, "get: bad path");
			break;
		}
		memcpy(part, path, len);
		part[len] = '\0';
		next = openat(at, part,
		        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (last ? 0 : O_DIRECTORY));
		if (next < 0)
			rc = fm_fail_errno("get: %s", part);
		if (at != dir)
			close(at);
		at = dir;
		if (rc != FM_OK)
			break;
		if (last) {
			*out = next;
			break;
		}
		at = next;
		path += len + 1;
	}
	return rc;
}

static bool listed(int bundle, const char *path)
{
	struct fm_buf text = FM_BUF_INIT(16u << 20);
	struct fm_manifest m = {NULL, 0, NULL};
	bool found = strcmp(path, FM_MANIFEST_NAME) == 0 || strcmp(path, FM_SIG_NAME) == 0;

	if (!found && fm_path_ok(path) &&
	        fm_fs_read(bundle, FM_MANIFEST_NAME, 16u << 20, &text) == FM_OK &&
	        fm_manifest_parse(text.data, text.len, fm_seal_limits(FM_SEAL_BUNDLE)->files, &m) ==
	                FM_OK)
		found = fm_manifest_find(&m, path) != NULL;
	fm_manifest_free(&m);
	fm_buf_free(&text);
	return found;
}

static int read_plain(int fd, const char *path, uint64_t max, struct fm_buf *out)
{
	struct stat st;
	ssize_t n = 0;

	if (fstat(fd, &st) != 0)
		return fm_fail_errno("get: %s", path);
	if (!S_ISREG(st.st_mode))
		return fm_fail(FM_ERR_FORM, "get: %s is no plain file", path);
	if ((uint64_t)st.st_size > max || (size_t)st.st_size > out->max)
		return fm_fail(FM_ERR_SIZE, "get: %s has %lld bytes, asked for at most %llu", path,
		        (long long)st.st_size, (unsigned long long)max);
	while (out->len < (size_t)st.st_size) {
		char *room = fm_buf_room(out, (size_t)st.st_size - out->len);

		if (room == NULL)
			return FM_ERR_MEMORY;
		n = read(fd, room, (size_t)st.st_size - out->len);
		if (n <= 0)
			return fm_fail(FM_ERR_SYSTEM, "get: %s became shorter", path);
		out->len += (size_t)n;
	}
	return FM_OK;
}

int fm_call_get(struct fm_attach *at, struct fm_text *call, struct fm_buf *reply)
{
	char campaign[FM_NAME_MAX + 1], candidate[FM_NAME_MAX + 1], below[FM_NAME_MAX + 12];
	const char *path;
	uint64_t max = 0;
	int dir = -1, bundle = -1, fd = -1, rc;

	if ((rc = fm_call_campaign(call, campaign)) != FM_OK ||
	        (rc = fm_text_take_name(call, "candidate", candidate)) != FM_OK ||
	        (rc = fm_text_take(call, "path", &path)) != FM_OK ||
	        (rc = fm_text_take_u64(call, "max", INT64_MAX, &max)) != FM_OK ||
	        (rc = fm_text_close(call)) != FM_OK ||
	        (rc = fm_agent_job_dir(at->agent, campaign, false, &dir)) != FM_OK)
		return rc;
	snprintf(below, sizeof below, "bundles/%s", candidate);
	if ((rc = fm_fs_dir(dir, below, &bundle)) != FM_OK)
		rc = fm_fail(FM_ERR_REFUSED, "get: no bundle of %s", candidate);
	else if (!listed(bundle, path))
		rc = fm_fail(FM_ERR_NAME, "get: '%.100s' is no file of the bundle", path);
	else if ((rc = open_below(bundle, path, &fd)) == FM_OK &&
	         (rc = read_plain(fd, path, max, &at->data)) == FM_OK)
		rc = fm_text_put(reply, "bytes", "%zu", at->data.len);
	at->has_data = rc == FM_OK;
	if (fd >= 0)
		close(fd);
	if (bundle >= 0)
		close(bundle);
	close(dir);
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
	if (lock_held(dir) && (rc = fm_door_tell(campaign, "cancel")) == FM_OK)
		for (int i = 0; i < 500 && lock_held(dir); i++)
			(void)poll(NULL, 0, 20);
	if (rc == FM_OK || !lock_held(dir))
		rc = fm_text_put(reply, "state", "%s", job_state(dir));
	close(dir);
	return rc;
}
