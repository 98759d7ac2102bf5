/* bootstrap.c: talks to a shell just long enough to turn it into the agent. */
#include "orchestrator/bootstrap.h"
#include "orchestrator/agent_source.h"
#include "orchestrator/hostlog.h"
#include "orchestrator/install_hint.h"
#include "orchestrator/out.h"
#include "protocol/digest.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDED_WAIT  (2 * FM_S)
#define MARKER_WAIT (20 * FM_S)
#define TOOLS_WAIT  (90 * FM_S)   /* a compiler under emulation needs seconds for three lines */
#define SILENCE     (35 * FM_S)   /* from the first byte of the source on a line comes every 5 s */
#define BUILD_WAIT  (1800 * FM_S) /* the whole build */
#define NOISE_MAX   (64u << 10)   /* bytes before the marker */
#define NOISE_SHOWN 4096
#define LINE_SIZE   2048

struct talk {
	const struct fm_transport_ops *ops;
	struct fm_channel *c;
	const struct fm_system *system;
	int log;
	struct fm_buf in;      /* bytes of stdout not yet used */
	struct fm_buf stderr_; /* the first bytes of stderr, for messages */
};

/* One command, one line; %s in order: marker halves, work folder, random, digest, bytes of the tar
 * stream, files. The shell has read all of it before it runs the first word, so what is sent later
 * reaches only the programs it starts. */
static const char script[] =
        "{ umask 022; LC_ALL=C; export LC_ALL; unset ENV BASH_ENV CDPATH; "
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH; "
        "printf '\\n%%s%%s\\n' '%s' '%s'; w=%s; r=%s; s=%s; d=agent/$s; p=.probe-$r; "
        "h=; no() { [ -z \"$h\" ] || kill $h 2>/dev/null; printf 'agent failed %%s %%s\\n' \"$1\" "
        "\"$(printf '%%s' \"$2\" | tail -n 6 | tr '\\n' ' ' | cut -c1-900)\"; exit 1; }; "
        /* the work folder: ours alone; where an agent stands ready little is started but that (it
           takes the mode down to 0700, and -x says no where nothing may be run) */
        "[ -d \"$w\" ] || m=$( (umask 077 && mkdir -p \"$w\") 2>&1) || no workdir \"$m\"; "
        "cd \"$w\" || no workdir \"cannot enter $w\"; w=$PWD; "
        "[ -O . ] || no workdir \"$w belongs to another user\"; "
        "[ -w . ] || no workdir \"$w cannot be written to\"; "
        "[ -z \"$(find . -prune -perm /022)\" ] || no workdir \"others may write to $w; if nobody "
        "did: "
        "chmod 700 $w\"; "
        "if [ -x $d/fleetmark-agent ] && [ -O $d/fleetmark-agent ] && [ -x $d/fleetmark-worker ]; "
        "then "
        "printf 'agent ready\\n'; exec \"$w/$d/fleetmark-agent\" attach --workdir \"$w\" --source "
        "$s; fi; "
        /* private, and files in it can be run */
        "chmod 700 .; "
        "m=$( { printf '#!/bin/sh\\nexit 0\\n' > $p && chmod 700 $p && ./$p; } 2>&1 ) || "
        "{ rm -f $p; no workdir \"$w: a program put there does not run: $m\"; }; rm -f $p; "
        /* what the build needs */
        "x=; for t in tar head find sha256sum; do command -v $t >/dev/null 2>&1 || x=\"$x $t\"; "
        "done; "
        "c=$(command -v gcc || command -v cc); if [ -z \"$c\" ]; then x=\"$x gcc\"; else "
        "printf '#include <sodium.h>\\nint main(void) { return sodium_init(); }\\n' > $p.c; "
        "m=$(\"$c\" -o $p.out $p.c -lsodium 2>&1 </dev/null) || case $m in *sodium*) x=\"$x "
        "libsodium\";; "
        "*) rm -f $p.c $p.out; no build \"$m\";; esac; rm -f $p.c $p.out; fi; "
        "[ -z \"$x\" ] || no missing \"$( (. /etc/os-release; printf '%%s' \"${ID:-unknown}\") "
        "2>/dev/null)$x\"; "
        /* the source: tar's word counts for nothing, the digests decide */
        "n=agent/.in-$r; m=$(mkdir -p $n/src 2>&1) || no unpack \"$m\"; printf 'agent absent\\n'; "
        "(while sleep 5; do printf 'agent building\\n'; done) & h=$!; "
        "m=$(head -c %zu | tar -x -f - -C $n/src 2>&1); cd $n/src || no unpack \"$m\"; "
        "[ \"$(sha256sum < SOURCES.sha256 | cut -c1-64)\" = $s ] && "
        "[ $(find . ! -type d | wc -l) -eq %zu ] && [ $(find . -type f | wc -l) -eq %zu ] && "
        "sha256sum -c SOURCES.sha256 >/dev/null 2>&1 || no unpack \"the source did not arrive "
        "whole. $m\"; "
        "m=$(sh agent/build.sh \"$w/$n\" 2>&1 </dev/null); e=$?; "
        "printf '%%s\\n' \"$m\" >&2; [ $e -eq 0 ] || no build \"$m\"; cd \"$w\"; "
        "[ -x $n/fleetmark-agent ] && [ -x $n/fleetmark-worker ] || no build \"build.sh left no "
        "program\"; "
        "sync -f . 2>/dev/null; if [ -e $d ]; then mv $d agent/.in-old-$r; fi; "
        "m=$(mv $n $d 2>&1) || no unpack \"$m\"; rm -rf agent/.in-old-$r; "
        "kill $h 2>/dev/null; wait $h 2>/dev/null; "
        "printf 'agent ready\\n'; exec \"$w/$d/fleetmark-agent\" attach --workdir \"$w\" --source "
        "$s; }\n";

/* ~/x and x are below the home folder; characters were checked when the inventory was read. */
static int quote_workdir(const char *workdir, struct fm_buf *out)
{
	static const char good[] =
	        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/~+-";

	if (workdir[0] == '\0' || workdir[0] == '-' || workdir[strspn(workdir, good)] != '\0' ||
	        (workdir[0] == '~' && workdir[1] != '/' && workdir[1] != '\0'))
		return fm_fail(FM_ERR_CONFIG,
		        "workdir '%s': allowed are ~/FOLDER and /FOLDER of A-Z a-z 0-9 . _ + - /",
		        workdir);
	if (workdir[0] == '/')
		return fm_buf_puts(out, workdir);
	if (workdir[0] == '~')
		workdir += workdir[1] == '/' ? 2 : 1;
	return fm_buf_printf(out, "\"$HOME\"/%s", workdir);
}

/* Reads once more; stdout goes to in, everything else to the log. Returns bytes of stdout, 0 at its
 * end. */
static ssize_t more(struct talk *k, uint64_t deadline)
{
	char piece[4096];

	for (;;) {
		int is_stderr = 0;
		ssize_t n = k->ops->read(k->c, piece, sizeof piece, &is_stderr, deadline);

		if (n <= 0)
			return n;
		fm_hostlog_raw(k->log, piece, (size_t)n);
		if (is_stderr) {
			(void)!fm_buf_put(&k->stderr_, piece, (size_t)n);
			continue;
		}
		if (k->in.len + (size_t)n > NOISE_MAX)
			fm_buf_consume(
			        &k->in, k->in.len > NOISE_MAX / 2 ? k->in.len - NOISE_MAX / 2 : 0);
		if (fm_buf_put(&k->in, piece, (size_t)n) != FM_OK)
			return FM_ERR_MEMORY;
		return n;
	}
}

static int shell_failed(struct talk *k, const char *what)
{
	char shown[1000];
	struct fm_buf *said = k->in.len > 0 ? &k->in : &k->stderr_;
	size_t len = said->len < NOISE_SHOWN ? said->len : NOISE_SHOWN;

	fm_escape(said->len > 0 ? said->data : "", len, shown, sizeof shown);
	return fm_fail(FM_ERR_SHELL, "%s%s%s", what,
	        len > 0 ? "; it printed: " : " and it printed nothing", shown);
}

static int shell_ended(struct talk *k)
{
	char how[48], what[120];

	k->ops->ended(k->c, how, fm_now_ns() + ENDED_WAIT);
	snprintf(what, sizeof what, "the login shell ended %s before it ran our command", how);
	return shell_failed(k, what);
}

static int wait_marker(struct talk *k, const char *marker)
{
	uint64_t deadline = fm_now_ns() + MARKER_WAIT;

	for (;;) {
		char *at = k->in.len > 0 ? memmem(k->in.data, k->in.len, marker, 32) : NULL;
		ssize_t n;

		if (at != NULL && at + 32 < k->in.data + k->in.len) {
			if (at - k->in.data > 1)
				fm_verbose("%s: %zu bytes before the marker", k->system->name,
				        (size_t)(at - k->in.data));
			fm_buf_consume(&k->in, (size_t)(at - k->in.data) + 33);
			return FM_OK;
		}
		n = more(k, deadline);
		if (n == 0)
			return shell_ended(k);
		if (n == FM_ERR_TIMEOUT)
			return shell_failed(k, "no shell answered within 20 s");
		if (n < 0)
			return (int)n;
	}
}

/* The next line without its LF. */
static int next_line(struct talk *k, char line[LINE_SIZE], uint64_t deadline)
{
	for (;;) {
		char *end = k->in.len > 0 ? memchr(k->in.data, '\n', k->in.len) : NULL;
		ssize_t n;

		if (end != NULL && end - k->in.data < LINE_SIZE) {
			size_t len = (size_t)(end - k->in.data);

			memcpy(line, k->in.data, len);
			line[len] = '\0';
			fm_buf_consume(&k->in, len + 1);
			return FM_OK;
		}
		if (k->in.len >= LINE_SIZE)
			return shell_failed(k, "the host's shell does not follow our command");
		n = more(k, deadline);
		if (n == 0)
			return shell_failed(k, "the host's shell ended early");
		if (n == FM_ERR_TIMEOUT)
			return fm_fail(FM_ERR_TIMEOUT, "the host's shell fell silent");
		if (n < 0)
			return (int)n;
	}
}

static int host_failed(struct talk *k, char *reason)
{
	char shown[900], hint[400];
	char *text = strchr(reason, ' ');

	if (text != NULL)
		*text++ = '\0';
	else
		text = reason + strlen(reason);
	fm_escape(text, strlen(text), shown, sizeof shown);
	if (strstr(text, "No space left") != NULL)
		return fm_fail(FM_ERR_NO_SPACE, "%s", shown);
	if (strcmp(reason, "missing") == 0) {
		char *names = strchr(text, ' ');

		if (names != NULL)
			*names++ = '\0';
		fm_escape(names != NULL ? names : "", names != NULL ? strlen(names) : 0, shown,
		        sizeof shown);
		fm_install_hint(text, shown, hint, sizeof hint);
		return fm_fail(FM_ERR_MISSING, "the host lacks %s; install there: %s", shown, hint);
	}
	if (strcmp(reason, "workdir") == 0)
		return fm_fail(FM_ERR_WORKDIR,
		        "work folder %s: %s (workdir = FOLDER in the inventory names another)",
		        k->system->workdir, shown);
	if (strcmp(reason, "build") == 0)
		return fm_fail(FM_ERR_BUILD, "the agent does not build: %s", shown);
	return fm_fail(FM_ERR_WORKDIR, "the agent's source could not be put there: %s", shown);
}

/* The lines after the marker, up to `agent ready`. */
static int to_agent(struct talk *k, const struct fm_buf *tar)
{
	uint64_t end = fm_now_ns() + BUILD_WAIT;
	uint64_t deadline = fm_now_ns() + TOOLS_WAIT;
	char line[LINE_SIZE];

	for (;;) {
		int rc = next_line(k, line, deadline < end ? deadline : end);

		if (rc != FM_OK)
			return rc;
		if (strcmp(line, "agent ready") == 0)
			return k->in.len == 0 ? FM_OK
			                      : fm_fail(FM_ERR_FRAME,
			                                "bytes on the channel before any call");
		if (strncmp(line, "agent failed ", 13) == 0)
			return host_failed(k, line + 13);
		if (strcmp(line, "agent absent") == 0) {
			fm_say("%s: building the agent there", k->system->name);
			rc = k->ops->write(k->c, tar->data, tar->len, fm_now_ns() + 10 * 60 * FM_S);
			if (rc != FM_OK)
				return fm_wrap(rc, "sending the agent's source");
			deadline = fm_now_ns() + TOOLS_WAIT;
		} else if (strcmp(line, "agent building") == 0) {
			deadline = fm_now_ns() + SILENCE;
		} else {
			return shell_failed(k, "the host's shell does not follow our command");
		}
	}
}

static int write_script(struct fm_buf *out, const char *marker, const struct fm_system *system,
        const struct fm_agent_source *agent)
{
	struct fm_buf workdir = FM_BUF_INIT(1024);
	char random[17];
	size_t files = fm_agent_source_count(agent) + 1;
	int rc = quote_workdir(system->workdir, &workdir);

	fm_random_hex(8, random);
	if (rc == FM_OK) {
		char first[17];

		memcpy(first, marker, 16);
		first[16] = '\0';
		rc = fm_buf_printf(out, script, first, marker + 16, workdir.data, random,
		        agent->sha256, agent->tar.len, files, files);
	}
	fm_buf_free(&workdir);
	return rc;
}

int fm_bootstrap(const struct fm_transport_ops *ops, struct fm_transport *t,
        const struct fm_system *system, const struct fm_agent_source *agent, int log,
        struct fm_channel **out)
{
	struct talk k = {.ops = ops,
	        .system = system,
	        .log = log,
	        .in = FM_BUF_INIT(2 * NOISE_MAX),
	        .stderr_ = FM_BUF_INIT(NOISE_SHOWN)};
	struct fm_buf line = FM_BUF_INIT(64u << 10);
	char marker[33];
	int rc;

	*out = NULL;
	fm_random_hex(16, marker);
	rc = write_script(&line, marker, system, agent);
	if (rc == FM_OK)
		rc = ops->exec(t, "exec /bin/sh", &k.c, fm_now_ns() + MARKER_WAIT);
	if (rc == FM_OK)
		rc = ops->write(k.c, line.data, line.len, fm_now_ns() + MARKER_WAIT);
	if (rc == FM_OK)
		rc = wait_marker(&k, marker);
	if (rc == FM_OK)
		rc = to_agent(&k, &agent->tar);
	if (rc == FM_OK) {
		*out = k.c;
		k.c = NULL;
	}
	if (k.c != NULL)
		ops->discard(k.c);
	fm_buf_free(&k.in);
	fm_buf_free(&k.stderr_);
	fm_buf_free(&line);
	return rc;
}
