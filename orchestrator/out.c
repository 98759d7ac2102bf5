/* out.c: the one place that writes to the terminal: results, messages, the live line, NDJSON;
 * escapes and masks. */
#include "orchestrator/out.h"
#include "protocol/buf.h"
#include "protocol/path.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REDRAW_NS    100000000ULL   /* the live line, at most ten times a second */
#define HEARTBEAT_NS 30000000000ULL /* elsewhere */
#define TEXT_MAX     4096

static struct {
	pthread_mutex_t lock;
	bool json, quiet, verbose, terminal, drawn;
	uint64_t seq;
	/* progress: where and when it began, what was shown last */
	bool running;
	uint64_t begun_ns, begun_done, shown_ns;
} out = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

void fm_out_init(const struct fm_options *o)
{
	const char *term = getenv("TERM");

	out.json = o->json;
	out.quiet = o->quiet;
	out.verbose = o->verbose > 0;
	out.terminal = isatty(STDERR_FILENO) == 1 && !(term != NULL && strcmp(term, "dumb") == 0);
}

/* Overwrites with '*' what looks like a secret: a PEM private key, a password in an URL. Secrets
 * have no business here; this is the last fence, not the first. */
static void mask(char *text)
{
	char *p = strstr(text, "PRIVATE KEY-----"), *at;

	if (p != NULL)
		for (p += strlen("PRIVATE KEY-----"); *p != '\0' && *p != '-'; p++)
			*p = '*';
	for (p = strstr(text, "://"); p != NULL; p = strstr(p, "://")) {
		char *colon;

		p += 3;
		at = p + strcspn(p, "/@ '\"");
		if (*at != '@' || (colon = memchr(p, ':', (size_t)(at - p))) == NULL)
			continue;
		memset(colon + 1, '*', (size_t)(at - colon - 1));
	}
}

/* Makes text fit for a terminal. What escaped text holds already (\x1b as four characters) stays as
 * it is: a backslash harms no terminal. */
static char *clean(const char *text, char line[TEXT_MAX])
{
	char *from = line, *to = line;

	fm_escape(text, strlen(text), line, TEXT_MAX);
	while (*from != '\0') {
		if (strncmp(from, "\\x5c", 4) == 0) {
			*to++ = '\\';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
	mask(line);
	return line;
}

/* ---- NDJSON, with the lock held ---- */

static void json_text(const char *key, const char *text)
{
	char line[TEXT_MAX];

	if (text == NULL)
		return;
	printf(", \"%s\": \"", key);
	for (const char *p = clean(text, line); *p != '\0'; p++) {
		if (*p == '"' || *p == '\\')
			putchar('\\');
		putchar(*p);
	}
	putchar('"');
}

static void json_number(const char *key, uint64_t value)
{
	if (value <= 9007199254740991ULL)
		printf(", \"%s\": %llu", key, (unsigned long long)value);
	else
		printf(", \"%s\": \"%llu\"", key, (unsigned long long)value);
}

static void json_begin(const char *event)
{
	char stamp[21];

	fm_stamp_now(stamp);
	printf("{\"seq\": %llu, \"t\": \"%s\"", (unsigned long long)++out.seq, stamp);
	json_number("mono_ns", now_ns());
	json_text("event", event);
}

static void json_event(const struct fm_event *e)
{
	json_begin(e->event);
	json_text("system", e->system);
	json_text("stage", e->stage);
	json_text("candidate", e->candidate);
	json_text("cell", e->cell);
	json_text("class", e->klass);
	json_text("reason", e->reason);
	json_text("text", e->text);
	json_text("state", e->state);
	json_text("fingerprint", e->fingerprint);
	json_text("key", e->key);
	json_text("after", e->after);
	json_text("before", e->before);
	if (e->total > 0) {
		json_number("done", e->done);
		json_number("total", e->total);
	}
	if (e->has_eta)
		json_number("eta_s", e->eta_s);
	printf("}\n");
	fflush(stdout);
}

/* An object printed over several lines, without its outer braces, on one. */
static void json_members(const char *object)
{
	size_t end = strlen(object);

	while (end > 0 && object[end - 1] == '\n')
		end--;
	end -= end > 0; /* the outer brace */
	while (end > 0 && object[end - 1] == '\n')
		end--;
	for (size_t i = strspn(object, "{\n "); i < end; i++) {
		if (object[i] != '\n') {
			putchar(object[i]);
			continue;
		}
		i += strspn(object + i + 1, " ");
		if (i > 0 && i + 1 < end && object[i + 1] != ']' && object[i + 1] != '}')
			putchar(' ');
	}
}

void fm_out_object(const char *event, const char *object)
{
	pthread_mutex_lock(&out.lock);
	if (out.json) {
		json_begin(event);
		printf(", ");
		json_members(object);
		printf("}\n");
		fflush(stdout);
	}
	pthread_mutex_unlock(&out.lock);
}

/* ---- lines for people, with the lock held ---- */

static void wipe_live(void)
{
	if (out.drawn)
		fputs("\r\033[K", stderr);
	out.drawn = false;
}

static void person_line(const char *prefix, const char *text)
{
	char line[TEXT_MAX];

	wipe_live();
	fprintf(stderr, "%s%s\n", prefix, clean(text, line));
}

char *fm_duration(uint64_t ns, char text[32])
{
	unsigned long long s = ns / 1000000000ULL, tenths = ns / 100000000ULL;

	if (s < 10)
		snprintf(text, 32, "%llu.%llu s", tenths / 10, tenths % 10);
	else if (s < 60)
		snprintf(text, 32, "%llu s", s);
	else if (s < 3600)
		snprintf(text, 32, "%llu min %llu s", s / 60, s % 60);
	else if (s < 86400)
		snprintf(text, 32, "%llu h %llu min", s / 3600, s % 3600 / 60);
	else
		snprintf(text, 32, "%llu d %llu h", s / 86400, s % 86400 / 3600);
	return text;
}

/* "x86_1    measure   hash-31     0/96, 12 s left" */
static void event_line(const struct fm_event *e)
{
	struct fm_buf b = FM_BUF_INIT(TEXT_MAX);
	bool stage = e->stage != NULL && strcmp(e->event, "stage") == 0;
	/* where something went wrong is worth a word, where all is well it is not */
	const char *at = stage || e->klass == NULL ? NULL : e->stage;
	const char *part[] = {e->cell, at, e->klass, e->reason, e->text};
	char left[32];

	(void)!fm_buf_printf(&b, "%-8s %-9s %-9s", e->system == NULL ? "" : e->system,
	        stage ? e->stage : e->event, e->candidate == NULL ? "" : e->candidate);
	for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
		if (part[i] != NULL && part[i][0] != '\0')
			(void)!fm_buf_printf(&b, " %s", part[i]);
	if (e->total > 0)
		(void)!fm_buf_printf(&b, " %llu/%llu", (unsigned long long)e->done,
		        (unsigned long long)e->total);
	if (e->has_eta)
		(void)!fm_buf_printf(&b, ", %s left", fm_duration(e->eta_s * 1000000000ULL, left));
	if (b.data != NULL) {
		while (b.len > 0 && b.data[b.len - 1] == ' ')
			b.data[--b.len] = '\0';
		person_line("", b.data);
	}
	fm_buf_free(&b);
}

void fm_out_event(const struct fm_event *e)
{
	pthread_mutex_lock(&out.lock);
	if (out.json)
		json_event(e);
	else if (!out.quiet && !e->quiet)
		event_line(e);
	pthread_mutex_unlock(&out.lock);
}

enum stream { NOTE, RESULT };

FM_PRINTF(2, 0) static void say(enum stream stream, const char *format, va_list args)
{
	char text[TEXT_MAX], line[TEXT_MAX];

	vsnprintf(text, sizeof text, format, args);
	pthread_mutex_lock(&out.lock);
	if (out.json) {
		json_event(&(struct fm_event){
		        .event = stream == NOTE ? "note" : "result", .text = text});
	} else if (stream == NOTE) {
		if (!out.quiet)
			person_line("", text);
	} else {
		wipe_live();
		puts(clean(text, line));
		fflush(stdout);
	}
	pthread_mutex_unlock(&out.lock);
}

void fm_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(NOTE, format, args);
	va_end(args);
}

void fm_verbose(const char *format, ...)
{
	va_list args;

	if (!out.verbose)
		return;
	va_start(args, format);
	say(NOTE, format, args);
	va_end(args);
}

void fm_result(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(RESULT, format, args);
	va_end(args);
}

void fm_out_error(int code, const char *system, const char *stage, const char *next)
{
	char text[TEXT_MAX], line[TEXT_MAX];

	snprintf(text, sizeof text, "fleetmark: %s%s%s%s%s", system == NULL ? "" : system,
	        system == NULL ? "" : ": ", stage == NULL ? "" : stage, stage == NULL ? "" : ": ",
	        fm_error_text());
	pthread_mutex_lock(&out.lock);
	if (out.json)
		json_event(&(struct fm_event){.event = "error",
		        .system = system,
		        .stage = stage,
		        .klass = fm_error_class(code),
		        .reason = fm_error_reason(code),
		        .text = fm_error_text()});
	wipe_live();
	fprintf(stderr, "%s\n", clean(text, line));
	if (next != NULL)
		fprintf(stderr, "  next: %s\n", clean(next, line));
	pthread_mutex_unlock(&out.lock);
}

/* ---- progress ---- */

/* Seconds left if the rest goes at the pace of what was done since progress began; false while
 * nothing was. */
static bool time_left(uint64_t done, uint64_t total, uint64_t now, uint64_t *seconds)
{
	uint64_t since = done - out.begun_done;

	if (done <= out.begun_done || total < done)
		return false;
	*seconds = (uint64_t)((double)(now - out.begun_ns) / (double)since *
	                              (double)(total - done) / 1e9 +
	                      0.5);
	return true;
}

void fm_out_progress(uint64_t done, uint64_t total, const char *what)
{
	uint64_t now = now_ns(), left = 0;
	bool has;

	pthread_mutex_lock(&out.lock);
	if (!out.running || done < out.begun_done) {
		out.running = true;
		out.begun_ns = now;
		out.begun_done = done;
		out.shown_ns = 0;
	}
	if (out.shown_ns == 0 ||
	        now - out.shown_ns >= (out.terminal && !out.json ? REDRAW_NS : HEARTBEAT_NS)) {
		char line[TEXT_MAX], span[32];

		out.shown_ns = now;
		has = time_left(done, total, now, &left);
		if (out.json) {
			json_event(&(struct fm_event){.event = "heartbeat",
			        .text = what,
			        .done = done,
			        .total = total,
			        .eta_s = left,
			        .has_eta = has});
		} else if (!out.quiet) {
			wipe_live();
			fprintf(stderr, "%llu/%llu %s, %s%s", (unsigned long long)done,
			        (unsigned long long)total, clean(what == NULL ? "" : what, line),
			        has ? fm_duration(left * 1000000000ULL, span)
			            : "time left not known yet",
			        has ? " left" : "");
			if (!out.terminal)
				fputc('\n', stderr);
			out.drawn = out.terminal;
			fflush(stderr);
		}
	}
	pthread_mutex_unlock(&out.lock);
}

void fm_out_progress_end(void)
{
	pthread_mutex_lock(&out.lock);
	wipe_live();
	out.running = false;
	pthread_mutex_unlock(&out.lock);
}
