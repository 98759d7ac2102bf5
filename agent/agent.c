/* agent.c: opens the work folder and gives the small helpers that every part of the agent uses. */
#include "agent/agent.h"
#include "protocol/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = {0, 0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t fm_agent_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC_RAW);
}

uint64_t fm_agent_boot_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

int fm_agent_host_code(int rc)
{
	return rc == FM_ERR_DISK ? FM_ERR_NO_SPACE : rc;
}

char *fm_agent_clean(const char *text, size_t len, char out[FM_HOST_TEXT])
{
	size_t used = 0;

	while (len > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == '\n')) {
		text++;
		len--;
	}
	for (size_t i = 0; i < len && used < FM_HOST_TEXT - 1; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '\n' || c == '\t')
			c = ' ';
		out[used++] = c >= 0x20 && c <= 0x7e ? (char)c : '?';
	}
	while (used > 0 && out[used - 1] == ' ')
		used--;
	out[used] = '\0';
	return out;
}

static char *own_program(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);

	if (n <= 0) {
		(void)fm_fail_errno("/proc/self/exe");
		return NULL;
	}
	path[n] = '\0';
	return fm_strdup(path);
}

/* The program "name" in the folder of this program. */
static char *beside(const char *self, const char *name)
{
	const char *slash = strrchr(self, '/');

	return fm_sprintf("%.*s/%s", slash == NULL ? 1 : (int)(slash - self),
	        slash == NULL ? "." : self, name);
}

int fm_agent_open(struct fm_agent *a, const char *workdir, const char *source)
{
	struct stat st;
	int rc = FM_ERR_WORKDIR;

	memset(a, 0, sizeof *a);
	a->dir = -1;
	if (workdir == NULL || workdir[0] != '/' || strlen(workdir) > 1000) {
		rc = fm_fail(FM_ERR_USAGE,
		        "--workdir: an absolute path of at most 1000 bytes is needed");
		goto out;
	}
	if (source == NULL || !fm_hex64_ok(source)) {
		rc = fm_fail(FM_ERR_USAGE, "--source: 64 lower-case hex digits are needed");
		goto out;
	}
	memcpy(a->source, source, sizeof a->source);
	rc = fm_fs_mkdirs(AT_FDCWD, workdir, 0700, &a->dir);
	if (rc != FM_OK) {
		rc = fm_wrap(FM_ERR_WORKDIR, "work folder %s", workdir);
		goto out;
	}
	if (fstat(a->dir, &st) != 0 || st.st_uid != geteuid()) {
		rc = fm_fail(FM_ERR_WORKDIR, "work folder %s belongs to another user", workdir);
		goto out;
	}
	if ((st.st_mode & 077) != 0 && fchmod(a->dir, 0700) != 0) {
		rc = fm_fail(
		        FM_ERR_WORKDIR, "work folder %s: its mode cannot be made 0700", workdir);
		goto out;
	}
	a->path = fm_strdup(workdir);
	a->self = own_program();
	a->worker = a->self == NULL ? NULL : beside(a->self, "fleetmark-worker");
	a->weigh = a->self == NULL ? NULL : beside(a->self, "fleetmark-weigh");
	rc = a->path == NULL || a->worker == NULL || a->weigh == NULL ? FM_ERR_MEMORY : FM_OK;
out:
	if (rc != FM_OK)
		fm_agent_close(a);
	return rc;
}

void fm_agent_close(struct fm_agent *a)
{
	if (a->dir >= 0)
		close(a->dir);
	free(a->path);
	free(a->self);
	free(a->worker);
	free(a->weigh);
	memset(a, 0, sizeof *a);
	a->dir = -1;
}

int fm_agent_public_line(const struct fm_agent *a, const char *name, char out[81])
{
	struct fm_buf text = FM_BUF_INIT(200);
	struct fm_public pub;
	int rc;

	memcpy(out, "none", 5);
	rc = fm_fs_read(a->dir, name, 200, &text);
	if (rc != FM_OK) {
		rc = errno == ENOENT && rc == FM_ERR_SYSTEM ? FM_OK : rc;
		goto out;
	}
	if (text.len == FM_PUBLIC_LINE + 1 && text.data[FM_PUBLIC_LINE] == '\n')
		text.data[FM_PUBLIC_LINE] = '\0';
	rc = fm_public_parse(text.data == NULL ? "" : text.data, &pub);
	if (rc != FM_OK) {
		rc = fm_wrap(FM_ERR_WORKDIR, "%s/%s", a->path, name);
		goto out;
	}
	fm_public_line(&pub, out);
out:
	fm_buf_free(&text);
	return rc;
}
