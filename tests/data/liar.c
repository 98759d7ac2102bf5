/* liar.c: stands on a host in place of fleetmark-agent (which is beside it as fleetmark-agent.real)
 * and passes everything on, but for one file of a bundle. The file `lie` in the work folder says
 * what happens when that file is asked for, "HOW PATH": hook      runs `sh hook` of the work folder
 * once, then lets the agent answer announce  promises 10^11 bytes and sends for ever endless
 * promises 100 bytes and sends for ever short     promises 100 bytes and sends 10 end       offers
 * no bundle of the candidate toy and says at the end, in words of its own, that the job failed */
#include "protocol/frame.h"
#include "protocol/jobtext.h"
#include "protocol/lines.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct side {
	int in, out; /* descriptors: what it says, what it hears */
	struct fm_frame_reader reader;
	uint32_t number;
};
static struct side controller = {.in = 0, .out = 1}, agent;
static const char *folder;

static int say(struct side *to, enum fm_frame_type type, const void *bytes, size_t len)
{
	struct fm_buf out = FM_BUF_INIT(FM_FRAME_MAX + FM_FRAME_HEADER);
	int rc = fm_frame_put(&out, &to->number, type, bytes, len);

	for (size_t done = 0; rc == FM_OK && done < out.len;) {
		ssize_t n = write(to->out, out.data + done, out.len - done);

		if (n < 0 && errno != EINTR)
			rc = -1;
		done += n > 0 ? (size_t)n : 0;
	}
	fm_buf_free(&out);
	return rc;
}

/* Reads once from a side; 0: it has ended. */
static int hear(struct side *from)
{
	char piece[65536];
	ssize_t n = read(from->in, piece, sizeof piece);

	return n > 0 && fm_frame_feed(&from->reader, piece, (size_t)n) == FM_OK;
}

/* HOW of the file `lie`, "" without one; *path is what stands behind it, in a buffer of ours. */
static const char *how(const char **path)
{
	static char said[300];
	char name[1200], *space;
	FILE *f;

	snprintf(name, sizeof name, "%s/lie", folder);
	said[0] = '\0';
	if ((f = fopen(name, "r")) == NULL)
		return said;
	if (fgets(said, sizeof said, f) == NULL)
		said[0] = '\0';
	fclose(f);
	said[strcspn(said, "\n")] = '\0';
	space = strchr(said, ' ');
	*path = space == NULL ? "" : space + 1;
	if (space != NULL)
		*space = '\0';
	return said;
}

/* 1: another line was said in place of this event. */
static int other_event(const struct fm_frame *f)
{
	static struct fm_line line;
	struct fm_buf out = FM_BUF_INIT(FM_LINE_MAX);
	const char *path, *candidate;
	char filler[1000];
	int rc = -1;

	memset(filler, 'x', sizeof filler - 1);
	filler[sizeof filler - 1] = '\0';
	if (f->type != FM_FRAME_EVENT || strcmp(how(&path), "end") != 0 ||
	        fm_line_parse(f->payload, f->len, &line) != FM_OK)
		return 0;
	candidate = fm_line_get(&line, "candidate");
	if (strcmp(line.kind, "bundle") == 0 && candidate != NULL && strcmp(candidate, "toy") == 0)
		for (size_t fill = 1; out.len < f->len + 1 && fill < sizeof filler;
		        fill++) { /* as long as the true line */
			out.len = 0;
			rc = fm_line_format(&out, line.seq, "note", "text",
			        filler + sizeof filler - 1 - fill, NULL);
		}
	else if (strcmp(line.kind, "end") == 0)
		rc = fm_line_format(&out, line.seq, "end", "state", "failed", "class", "splendid",
		        "reason", "fast", "text", "\033[31mred<b>bold", NULL);
	if (rc == FM_OK)
		rc = say(&controller, FM_FRAME_EVENT, out.data, out.len - 1);
	fm_buf_free(&out);
	return rc == FM_OK;
}

static int pass_on(void)
{
	struct fm_frame f;
	int rc;

	while ((rc = fm_frame_next(&agent.reader, &f)) == 1)
		if (!other_event(&f) && say(&controller, f.type, f.payload, f.len) != FM_OK)
			return 0;
	return rc == 0;
}

/* What the agent still has to say comes first, so that answers keep their order. */
static void let_finish(void)
{
	struct pollfd p = {.fd = agent.in, .events = POLLIN};

	while (poll(&p, 1, 500) > 0)
		if (!hear(&agent) || !pass_on())
			return;
}

static void promise(const char *bytes)
{
	struct fm_buf text = FM_BUF_INIT(1000);

	if (fm_text_begin(&text, "reply") == FM_OK && fm_text_put(&text, "status", "ok") == FM_OK &&
	        fm_text_put(&text, "bytes", "%s", bytes) == FM_OK && fm_text_end(&text) == FM_OK)
		(void)!say(&controller, FM_FRAME_REPLY, text.data, text.len);
	fm_buf_free(&text);
}

/* `sh hook` of the work folder, once, what it says on stderr. */
static void run_hook(void)
{
	char name[1200];
	pid_t pid;

	snprintf(name, sizeof name, "%s/lie", folder);
	unlink(name);
	snprintf(name, sizeof name, "%s/hook", folder);
	if ((pid = fork()) == 0) {
		if (dup2(2, 1) == 1)
			execl("/bin/sh", "sh", name, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* 1: the call was answered by a lie. */
static int lie(const struct fm_frame *call)
{
	static char zeros[65536];
	const char *said, *path;
	char wanted[400];

	if (call->type != FM_FRAME_CALL || *(said = how(&path)) == '\0')
		return 0;
	snprintf(wanted, sizeof wanted, "\ncandidate toy\npath %s\n", path);
	if (memmem(call->payload, call->len, "\nverb get\n", 10) == NULL ||
	        memmem(call->payload, call->len, wanted, strlen(wanted)) == NULL)
		return 0;
	if (strcmp(said, "hook") == 0) {
		run_hook();
		return 0;
	}
	let_finish();
	promise(strcmp(said, "announce") == 0 ? "100000000000" : "100");
	if (strcmp(said, "short") == 0) {
		(void)!say(&controller, FM_FRAME_DATA, zeros, 10);
		(void)!say(&controller, FM_FRAME_END, NULL, 0);
		return 1;
	}
	while (say(&controller, FM_FRAME_DATA, zeros, sizeof zeros) == FM_OK)
		;
	exit(1);
}

int main(int argc, char **argv)
{
	char real[1200];
	int to[2], from[2];

	for (int i = 1; i + 1 < argc; i++)
		if (strcmp(argv[i], "--workdir") == 0)
			folder = argv[i + 1];
	snprintf(real, sizeof real, "%s.real", argv[0]);
	if (folder == NULL || pipe(to) != 0 || pipe(from) != 0)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	if (fork() == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		close(to[0]);
		close(to[1]);
		close(from[0]);
		close(from[1]);
		execv(real, argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	agent = (struct side){.in = from[0], .out = to[1]};
	fm_frame_reader_init(&controller.reader);
	fm_frame_reader_init(&agent.reader);
	for (;;) {
		struct pollfd p[2] = {{.fd = controller.in, .events = POLLIN},
		        {.fd = agent.in, .events = POLLIN}};
		struct fm_frame f;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (p[1].revents != 0 && (!hear(&agent) || !pass_on()))
			return 0;
		if (p[0].revents != 0 && !hear(&controller))
			return 0;
		while (fm_frame_next(&controller.reader, &f) == 1)
			if (!lie(&f) && say(&agent, f.type, f.payload, f.len) != FM_OK)
				return 1;
	}
}
