/* sound.c: the task sound: runs every check in a process of its own, so that one that crashes or
 * hangs tells only about itself. */
#include "agent/worker/sound.h"

#include "agent/worker/clock.h"
#include "agent/worker/confine.h"
#include "agent/worker/crash.h"
#include "agent/worker/host.h"
#include "agent/worker/result.h"
#include "protocol/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECKS_MAX 24
#define SAID_MAX   16384 /* bytes that a check may tell */
#define TURN_MS    20
#define FACT       "fact property "

void fm_sound_tell(struct fm_sound *s, const char *format, ...)
{
	char words[300];
	va_list args;

	if (s->told)
		return;
	s->told = true;
	va_start(args, format);
	vsnprintf(words, sizeof words, format, args);
	va_end(args);
	fm_result_fact("property", "%s: %s", s->name, words);
}

/* The child: sandbox on, library loaded, one check, end. Its lines go into the pipe. */
_Noreturn static void be_check(const struct fm_order *o, struct fm_library *library,
        const struct fm_sound_check *check, char *where)
{
	struct fm_sound s = {.name = check->name, .length = check->length, .where = where};
	struct fm_confine confine;

	s.digest_bits = o->digest_bits;
	s.any = o->any;
	snprintf(where, FM_SOUND_WHERE, "while it was loaded");
	if (fm_buffer_open(&s.message, FM_SOUND_MESSAGE, FM_BUFFER_FLUSH) != FM_OK ||
	        fm_buffer_open(&s.digest, (o->digest_bits + 7) / 8, FM_BUFFER_FLUSH) != FM_OK)
		fm_result_fail("memory");
	if (fm_crash_install(1) != FM_OK || fm_confine_memory(FM_CONFINE_MEMORY) != FM_OK ||
	        fm_confine_enter(&confine, library->fd) != FM_OK)
		fm_result_fail("system");
	fm_crash_limit(o->seconds);
	if (fm_library_load(library) != FM_OK)
		fm_result_fail("library");
	if (fm_confine_close_files(&confine) != FM_OK)
		fm_result_fail("system");
	s.hash = library->hash;
	check->run(&s);
	fm_result_ok();
}

/* What came of a check. */
struct outcome {
	char said[SAID_MAX];
	size_t len;
	int status; /* of waitpid */
	bool late;
};

static void take(int fd, struct outcome *out)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof piece)) > 0 || (n < 0 && errno == EINTR)) {
		size_t room = sizeof out->said - 1 - out->len;

		if (n < 0)
			continue;
		if ((size_t)n < room)
			room = (size_t)n;
		memcpy(out->said + out->len, piece, room);
		out->len += room;
	}
	out->said[out->len] = '\0';
}

/* Reads until the child is gone; kills it when its time, and 2 s for its own alarm, are over. */
static void follow(pid_t pid, int fd, unsigned seconds, struct outcome *out)
{
	const uint64_t until = fm_clock_ns() + (seconds + 2ull) * 1000000000u;
	struct pollfd p = {fd, POLLIN, 0};

	while (waitpid(pid, &out->status, WNOHANG) == 0) {
		(void)poll(&p, 1, TURN_MS);
		take(fd, out);
		if ((p.revents & (POLLHUP | POLLERR)) != 0)
			p.fd = -1; /* closed by the child: only its end is waited for */
		if (fm_clock_ns() > until && !out->late) {
			out->late = true;
			kill(pid, SIGKILL);
		}
	}
	take(fd, out);
}

/* The value of the first line that starts so, cut at its end; NULL if there is none. */
static const char *line_of(const struct outcome *out, const char *start, char *text, size_t size)
{
	const size_t len = strlen(start);

	for (const char *at = out->said; *at != '\0';
	        at += strcspn(at, "\n") + (at[strcspn(at, "\n")] != '\0'))
		if (strncmp(at, start, len) == 0) {
			snprintf(text, size, "%.*s", (int)strcspn(at + len, "\n"), at + len);
			return text;
		}
	return NULL;
}

static void tell(const struct fm_sound_check *c, const struct outcome *out, const char *where)
{
	char text[400], status[40], at[FM_SOUND_WHERE];

	snprintf(at, sizeof at, "%.*s", FM_SOUND_WHERE - 1, where);
	if (line_of(out, FACT, text, sizeof text) != NULL) {
		fm_result_fact("property", "%s", text);
		return;
	}
	if (line_of(out, "end ok", text, sizeof text) != NULL && WIFEXITED(out->status))
		return;
	if (out->late || (line_of(out, "status ", status, sizeof status) != NULL &&
	                         strcmp(status, "TIMEOUT") == 0))
		fm_result_fact("property", "%s: did not end in time (%s)", c->name, at);
	else if (line_of(out, "status OVERFLOW", status, sizeof status) != NULL)
		fm_result_fact(
		        "property", "%s: memory outside the buffers is touched (%s)", c->name, at);
	else if (line_of(out, "fact signal ", text, sizeof text) != NULL)
		fm_result_fact("property", "%s: signal %.10s (%s)", c->name, text, at);
	else if (WIFSIGNALED(out->status))
		fm_result_fact(
		        "property", "%s: signal %d (%s)", c->name, WTERMSIG(out->status), at);
	else if (line_of(out, "end fail ", text, sizeof text) != NULL)
		fm_result_fact("property", "%s: not checked: %.40s", c->name, text);
	else
		fm_result_fact("property", "%s: the process was ended (%s)", c->name, at);
}

static void run_check(const struct fm_order *o, struct fm_library *library,
        const struct fm_sound_check *c, char *where, struct outcome *out)
{
	int ends[2];
	pid_t pid;

	memset(out, 0, sizeof *out);
	memset(where, 0, FM_SOUND_WHERE);
	if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
		fm_result_fail("system");
	if ((pid = fork()) < 0)
		fm_result_fail("system");
	if (pid == 0) {
		close(FM_RESULT_FD);
		close(ends[0]);
		fm_result_use(ends[1]);
		be_check(o, library, c, where);
	}
	close(ends[1]);
	follow(pid, ends[0], o->seconds, out);
	close(ends[0]);
}

/* Two processes, one property at most. */
static void run_twice(const struct fm_order *o, struct fm_library *library,
        const struct fm_sound_check *c, char *where)
{
	static struct outcome one, other;
	char first[65], second[65];

	run_check(o, library, c, where, &one);
	tell(c, &one, where);
	run_check(o, library, c, where, &other);
	if (line_of(&one, "fact digest ", first, sizeof first) != NULL &&
	        line_of(&other, "fact digest ", second, sizeof second) != NULL &&
	        strcmp(first, second) != 0)
		fm_result_fact("property", "%s: two processes give other digests", c->name);
}

void fm_sound_run(const struct fm_order *o)
{
	struct fm_sound_check checks[CHECKS_MAX];
	size_t count = fm_sound_checks(o->digest_bits, o->any, checks, CHECKS_MAX);
	static struct outcome out;
	struct fm_library library;
	char *where;
	int cpu;

	if (fm_host_pin(o->cpu, &cpu) != FM_OK)
		fm_result_fail("pin");
	fm_result_number("cpu", cpu);
	if (fm_library_open(&library, o->library, o->library_sha256) != FM_OK)
		fm_result_fail("library");
	where = mmap(
	        NULL, FM_SOUND_WHERE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (where == MAP_FAILED)
		fm_result_fail("memory");
	for (size_t i = 0; i < count; i++) {
		if (checks[i].twice) {
			run_twice(o, &library, &checks[i], where);
			continue;
		}
		run_check(o, &library, &checks[i], where, &out);
		tell(&checks[i], &out, where);
	}
	fm_result_number("checks", (int64_t)count);
	fm_result_number("elapsed_ns", (int64_t)fm_clock_elapsed());
	fm_result_ok();
}
