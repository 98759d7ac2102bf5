/* out.c: the one place that writes to the terminal: results, messages, the live line, NDJSON;
 * escapes and masks. */
#include "orchestrator/out_parts.h"
#include "protocol/fs.h"
#include "protocol/path.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define RECORD_MAX (256u << 20) /* bytes of the events that are kept for watch */

struct fm_out fm_out = {.lock = PTHREAD_MUTEX_INITIALIZER, .record = -1};

uint64_t fm_out_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

void fm_out_init(const struct fm_options *o)
{
	const char *term = getenv("TERM");

	fm_out.json = o->json;
	fm_out.quiet = o->quiet;
	fm_out.verbose = o->verbose > 0;
	fm_out.terminal =
	        isatty(STDERR_FILENO) == 1 && !(term != NULL && strcmp(term, "dumb") == 0);
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
char *fm_out_clean(const char *text, char line[FM_OUT_TEXT])
{
	char *from = line, *to = line;

	fm_escape(text, strlen(text), line, FM_OUT_TEXT);
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

/* ---- lines for people, with the lock held ---- */

void fm_out_line(const char *prefix, const char *text)
{
	char line[FM_OUT_TEXT];

	fm_out_wipe();
	fprintf(stderr, "%s%s\n", prefix, fm_out_clean(text, line));
	fm_out_redraw(true);
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
void fm_out_event_line(const struct fm_event *e)
{
	struct fm_buf b = FM_BUF_INIT(FM_OUT_TEXT);
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
		(void)!fm_buf_printf(&b, "%s %s left", e->total > 0 ? "," : "",
		        fm_duration(e->eta_s * 1000000000ULL, left));
	if (b.data != NULL) {
		while (b.len > 0 && b.data[b.len - 1] == ' ')
			b.data[--b.len] = '\0';
		fm_out_line("", b.data);
	}
	fm_buf_free(&b);
}

/* A copy for `watch`. Losing it is no error of the campaign. */
static void record(const struct fm_event *e)
{
	struct fm_buf b = FM_BUF_INIT(32u * FM_OUT_TEXT);

	if (fm_out.record < 0 || fm_out.recorded > RECORD_MAX)
		return;
	if (fm_out_json(&b, e, 0) == FM_OK) {
		fm_out.recorded += b.len;
		(void)!fm_fs_write_all(fm_out.record, b.data, b.len);
	}
	fm_buf_free(&b);
}

/* On a terminal with a table only what the table cannot keep: what went wrong, or is done. */
static bool shows_in_table(const struct fm_event *e)
{
	static const char *const kinds[] = {"stage", "cells", "queued", "campaign", "collect",
	        "started", "connected", "heartbeat"};

	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(e->event, kinds[i]) == 0)
			return true;
	return false;
}

void fm_out_event(const struct fm_event *e)
{
	struct fm_live_row *row;
	uint64_t now;
	bool told;

	pthread_mutex_lock(&fm_out.lock);
	now = fm_out_now(); /* in order with what other threads note */
	record(e);
	if (fm_out.campaign || strcmp(e->event, "campaign") == 0)
		fm_live_take(&fm_out.live, e, now);
	if (strcmp(e->event, "campaign") == 0) {
		fm_out_wipe();
		fm_out.campaign = true;
		fm_out.shown_ns = now;
	}
	told = fm_out.json || (!fm_out.quiet && !e->quiet &&
	                              !(fm_out.campaign && fm_out.terminal && shows_in_table(e)));
	told = told && !e->past;
	row = told && e->system != NULL ? fm_live_row(&fm_out.live, e->system) : NULL;
	if (row != NULL)
		row->told_ns = now;
	if (told && fm_out.json)
		fm_out_put_json(e);
	else if (told)
		fm_out_event_line(e);
	fm_out_redraw(false);
	pthread_mutex_unlock(&fm_out.lock);
}

void fm_out_record(int fd)
{
	pthread_mutex_lock(&fm_out.lock);
	fm_out.record = fd;
	fm_out.recorded = 0;
	pthread_mutex_unlock(&fm_out.lock);
}

enum stream { NOTE, RESULT };

FM_PRINTF(2, 0) static void say(enum stream stream, const char *format, va_list args)
{
	char text[FM_OUT_TEXT], line[FM_OUT_TEXT];

	vsnprintf(text, sizeof text, format, args);
	pthread_mutex_lock(&fm_out.lock);
	if (fm_out.json) {
		fm_out_put_json(&(struct fm_event){
		        .event = stream == NOTE ? "note" : "result", .text = text});
	} else if (stream == NOTE) {
		if (!fm_out.quiet)
			fm_out_line("", text);
	} else {
		fm_out_wipe();
		puts(fm_out_clean(text, line));
		fflush(stdout);
	}
	pthread_mutex_unlock(&fm_out.lock);
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

	if (!fm_out.verbose)
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

void fm_out_verbatim(const char *line)
{
	puts(line);
}

void fm_out_error(int code, const char *system, const char *stage, const char *next)
{
	char text[FM_OUT_TEXT], line[FM_OUT_TEXT];
	const struct fm_event e = {.event = "error",
	        .system = system,
	        .stage = stage,
	        .klass = fm_error_class(code),
	        .reason = fm_error_reason(code),
	        .text = fm_error_text()};

	snprintf(text, sizeof text, "fleetmark: %s%s%s%s%s", system == NULL ? "" : system,
	        system == NULL ? "" : ": ", stage == NULL ? "" : stage, stage == NULL ? "" : ": ",
	        fm_error_text());
	pthread_mutex_lock(&fm_out.lock);
	record(&e);
	if (fm_out.json)
		fm_out_put_json(&e);
	fm_out_wipe();
	fprintf(stderr, "%s\n", fm_out_clean(text, line));
	if (next != NULL)
		fprintf(stderr, "  next: %s\n", fm_out_clean(next, line));
	fm_out_redraw(true);
	pthread_mutex_unlock(&fm_out.lock);
}
