/* out.h: everything people and scripts see: messages and progress on stderr, results on stdout, NDJSON with --json. The only
 * place that writes to the terminal; thread-safe; host text is escaped here; secrets never come here. */
#ifndef FM_OUT_H
#define FM_OUT_H

#include "orchestrator/command.h"
#include <stdint.h>

/* Set once from the options before threads start; terminal = stderr is one (live progress line), else one line per event. */
void fm_out_init(const struct fm_options *o);

/* One event. NULL or 0 fields are left out. With --json one NDJSON object on stdout (seq, t, mono_ns, event, ...); else a line
 * for people on stderr unless -q ("x86_1  measure  hash-31  24/48, 12 s left"). Text may come from a host: it is escaped. */
struct fm_event {
	const char *event; /* "connected", "stage", "cell", "bundle", "accepted", "rejected", "host_failed", "heartbeat", "finished" ... */
	const char *system, *stage, *candidate, *cell, *klass, *reason, *text;
	const char *where; /* of a finding: the file; only with --json */
	const char *time;  /* of an event of another process; NULL: now */
	const char *state, *fingerprint, *key, *after, *before; /* of trust list; only with --json */
	uint64_t done, total, eta_s;
	bool has_eta;
	uint64_t age_s; /* of an event of another process */
	bool past;      /* it was there before we looked: only for the table */
	bool quiet; /* only progress and --json, no line of its own */
};
void fm_out_event(const struct fm_event *e);

/* One object on stdout with --json, nothing without: seq, t, mono_ns, the event's name and the members of object, a JSON object in the
 * layout of jsonp.h whose texts were escaped by it. */
void fm_out_object(const char *event, const char *object);

/* Events named "campaign" (text: its name; done, total: cells), "cells" (done, total), "queued", "host_done" and "host_failed" steer the
 * table of a campaign, which fm_out_progress_end ends. It shows on a terminal; fm_out_tick, called at least once a second, redraws
 * it there, and tells a heartbeat of every system at work and of the campaign at least every 30 s elsewhere. */
void fm_out_tick(void);

/* Every event also goes to fd as NDJSON (seq 0), at most 256 MiB of them, for `watch`; -1 ends that. */
void fm_out_record(int fd);

/* A sentence for people (stderr, not with -q; with --json as event "note"). */
void fm_say(const char *format, ...) FM_PRINTF(1, 2);
/* The same, only with -v. */
void fm_verbose(const char *format, ...) FM_PRINTF(1, 2);
/* A line of results on stdout (never with --json; use fm_out_event there). */
void fm_result(const char *format, ...) FM_PRINTF(1, 2);
/* A line of a file made by us, on stdout as it is: never text from elsewhere. */
void fm_out_verbatim(const char *line);
/* The error of this thread: "fleetmark: <system>: <stage>: <text>" and, if next is not NULL, "  next: <next>"; with --json as event
 * "error". Shown with -q too. */
void fm_out_error(int code, const char *system, const char *stage, const char *next);

/* Progress of anything else: what is done and how much time is left; redraws the live line at most ten times a second on a terminal, a
 * heartbeat line every 30 s elsewhere. Ends with fm_out_progress_end. */
void fm_out_progress(uint64_t done, uint64_t total, const char *what);
void fm_out_progress_end(void);

uint64_t fm_out_now(void); /* CLOCK_MONOTONIC, ns */

/* "1 min 20 s", "3.2 s", "2 d 4 h"; out has 32 bytes. */
char *fm_duration(uint64_t ns, char out[32]);

#endif
