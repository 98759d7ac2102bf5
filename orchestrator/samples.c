/* samples.c: reads the raw samples of one cell strictly. */
#include "orchestrator/samples.h"

#include "protocol/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fm_proc_name[FM_PROC_COLUMNS] = {
#define TEXT_(name, text) #text,
        FM_PROC_COLUMNS_(TEXT_)
#undef TEXT_
};
const char *const fm_state_name[FM_STATES] = {"accepted", "superseded", "invalid", "planning"};
const char *const fm_reason_name[FM_REASONS] = {"none", "preempted", "blocked", "quota", "steal",
        "thermal", "majfault", "kernel_share", "clock_off", "cpu_changed", "counter_stopped",
        "signal", "gate_mismatch", "canary", "no_end", "time_limit", "superseded", "impossible",
        "shared_core"};

/* A decimal below 2^64 without sign or leading zero; returns its length, 0 if there is none. */
static size_t decimal(const char *s, size_t len, uint64_t *out)
{
	uint64_t v = 0;
	size_t n = 0;

	for (; n < len && s[n] >= '0' && s[n] <= '9'; n++) {
		if (n == 1 && s[0] == '0')
			return 0;
		if (__builtin_mul_overflow(v, 10u, &v) ||
		        __builtin_add_overflow(v, (uint64_t)(s[n] - '0'), &v))
			return 0;
	}
	*out = v;
	return n;
}

int fm_samples_column(
        const char *what, const char *text, size_t len, uint64_t **values, size_t *count)
{
	size_t lines = 0, at = 0, used, i = 0;
	uint64_t *list = NULL;

	*values = NULL;
	*count = 0;
	for (const char *p = text; (p = memchr(p, '\n', len - (size_t)(p - text))) != NULL; p++)
		lines++;
	if (lines > FM_SAMPLES_LINES)
		return fm_fail(FM_ERR_SIZE, "%s: %zu lines, allowed are %d", what, lines,
		        FM_SAMPLES_LINES);
	if ((list = fm_alloc_array(lines + 1, sizeof *list)) == NULL)
		return FM_ERR_MEMORY;
	while (at < len) {
		used = decimal(text + at, len - at, &list[i]);
		if (used == 0 || at + used >= len || text[at + used] != '\n') {
			free(list);
			return fm_fail(FM_ERR_SAMPLES,
			        "%s: line %zu: must be one decimal integer below 2^64 and a line "
			        "end",
			        what, i + 1);
		}
		at += used + 1;
		i++;
	}
	*values = list;
	*count = lines;
	return FM_OK;
}

/* One tab-separated row; -1 is the only negative number. */
static int table_row(const char *what, size_t line, const char *s, size_t len, struct fm_proc *row)
{
	size_t at = 0, used;
	uint64_t v = 0;

	for (int c = 0; c < FM_PROC_COLUMNS; c++) {
		if (len - at >= 2 && s[at] == '-' && s[at + 1] == '1') {
			row->column[c] = -1;
			used = 2;
		} else {
			used = decimal(s + at, len - at, &v);
			row->column[c] = (int64_t)v;
		}
		if (used == 0 || v > INT64_MAX)
			return fm_fail(FM_ERR_SAMPLES,
			        "%s: line %zu: %s: must be a decimal integer, or -1 for unknown",
			        what, line, fm_proc_name[c]);
		at += used;
		if (c + 1 < FM_PROC_COLUMNS ? at >= len || s[at] != '\t' : at != len)
			return fm_fail(FM_ERR_SAMPLES,
			        "%s: line %zu: must have %d tab-separated columns", what, line,
			        FM_PROC_COLUMNS);
		at++;
	}
	return FM_OK;
}

static int check_row(
        const char *what, size_t line, const struct fm_proc *row, const struct fm_proc *before)
{
	const int64_t *c = row->column;

	if (c[FM_PROC_PROCESS] < 0 ||
	        (before != NULL && c[FM_PROC_PROCESS] <= before->column[FM_PROC_PROCESS]))
		return fm_fail(
		        FM_ERR_SAMPLES, "%s: line %zu: process numbers must rise", what, line);
	if (c[FM_PROC_STATE] < 0 || c[FM_PROC_STATE] >= FM_STATES)
		return fm_fail(FM_ERR_SAMPLES,
		        "%s: line %zu: state: read %lld, allowed are 0 to %d", what, line,
		        (long long)c[FM_PROC_STATE], FM_STATES - 1);
	if (c[FM_PROC_REASON] < 0 || c[FM_PROC_REASON] >= FM_REASONS)
		return fm_fail(FM_ERR_SAMPLES,
		        "%s: line %zu: reason: read %lld, allowed are 0 to %d", what, line,
		        (long long)c[FM_PROC_REASON], FM_REASONS - 1);
	return FM_OK;
}

static bool is_header(const char *s, size_t len)
{
	size_t at = 0;

	for (int c = 0; c < FM_PROC_COLUMNS; c++) {
		size_t n = strlen(fm_proc_name[c]);
		if (len - at < n || memcmp(s + at, fm_proc_name[c], n) != 0)
			return false;
		at += n;
		if (c + 1 < FM_PROC_COLUMNS ? at >= len || s[at] != '\t' : at != len)
			return false;
		at++;
	}
	return true;
}

int fm_samples_table(
        const char *what, const char *text, size_t len, struct fm_proc **rows, size_t *count)
{
	const char *end;
	size_t line = 1, at = 0, n;
	struct fm_proc *list = NULL, *row;
	int rc = FM_OK;

	*rows = NULL;
	*count = 0;
	for (; at < len; at += n + 1, line++) {
		if ((end = memchr(text + at, '\n', len - at)) == NULL) {
			rc = fm_fail(FM_ERR_SAMPLES, "%s: line %zu: no line end", what, line);
			break;
		}
		n = (size_t)(end - text) - at;
		if (line == 1) {
			if (is_header(text + at, n))
				continue;
			rc = fm_fail(FM_ERR_SAMPLES,
			        "%s: line 1: not the header of FORMATS.md section 11", what);
			break;
		}
		if (*count == FM_SAMPLES_PROCESSES) {
			rc = fm_fail(FM_ERR_SIZE, "%s: more than %d processes", what,
			        FM_SAMPLES_PROCESSES);
			break;
		}
		if ((row = fm_grow(&list, count, sizeof *row)) == NULL) {
			rc = FM_ERR_MEMORY;
			break;
		}
		if ((rc = table_row(what, line, text + at, n, row)) != FM_OK ||
		        (rc = check_row(what, line, row, *count > 1 ? row - 1 : NULL)) != FM_OK)
			break;
	}
	if (rc == FM_OK && line == 1)
		rc = fm_fail(FM_ERR_SAMPLES, "%s: empty", what);
	if (rc != FM_OK) {
		free(list);
		*count = 0;
		return rc;
	}
	*rows = list;
	return FM_OK;
}

void fm_samples_free(struct fm_samples *s)
{
	free(s->processes);
	free(s->process);
	free(s->calls);
	free(s->ns);
	free(s->count);
	free(s->events);
	memset(s, 0, sizeof *s);
}

static int read_column(
        int dirfd, const char *stem, const char *column, size_t *windows, uint64_t **out)
{
	struct fm_buf text = FM_BUF_INIT(FM_SAMPLES_FILE_MAX);
	char *name = fm_sprintf("samples/%s.%s.txt", stem, column);
	size_t count;
	int rc = FM_ERR_MEMORY;

	if (name == NULL)
		goto out;
	rc = fm_fs_read(dirfd, name, FM_SAMPLES_FILE_MAX, &text);
	if (rc != FM_OK) {
		if (rc == FM_ERR_SYSTEM && errno == ENOENT)
			rc = fm_fail(FM_ERR_SAMPLES, "%s: is not in the bundle", name);
		goto out;
	}
	if ((rc = fm_samples_column(
	             name, text.data == NULL ? "" : text.data, text.len, out, &count)) != FM_OK)
		goto out;
	if (*windows == SIZE_MAX)
		*windows = count;
	if (count != *windows)
		rc = fm_fail(FM_ERR_SAMPLES, "%s: %zu lines, but %s.process.txt has %zu", name,
		        count, stem, *windows);
out:
	fm_buf_free(&text);
	free(name);
	return rc;
}

/* A column of another label must not be there. */
static int absent(int dirfd, const char *stem, const char *label, const char *column)
{
	char *name;
	int found;

	if (strcmp(label, column) == 0)
		return FM_OK;
	if ((name = fm_sprintf("samples/%s.%s.txt", stem, column)) == NULL)
		return FM_ERR_MEMORY;
	found = faccessat(dirfd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	free(name);
	return found ? fm_fail(FM_ERR_SAMPLES, "samples/%s.%s.txt: the counter's label is %s", stem,
	                       column, label)
	             : FM_OK;
}

static int read_table(int dirfd, const char *stem, struct fm_samples *out)
{
	struct fm_buf text = FM_BUF_INIT(FM_SAMPLES_FILE_MAX);
	char *name = fm_sprintf("env/%s.process.tsv", stem);
	int rc = FM_ERR_MEMORY;

	if (name == NULL)
		goto out;
	rc = fm_fs_read(dirfd, name, FM_SAMPLES_FILE_MAX, &text);
	if (rc == FM_ERR_SYSTEM && errno == ENOENT)
		rc = fm_fail(FM_ERR_SAMPLES, "%s: is not in the bundle", name);
	if (rc == FM_OK)
		rc = fm_samples_table(name, text.data == NULL ? "" : text.data, text.len,
		        &out->processes, &out->process_count);
out:
	fm_buf_free(&text);
	free(name);
	return rc;
}

/* Gives every process its windows and sums. */
static int join(const char *stem, struct fm_samples *s)
{
	size_t at = 0;

	for (size_t i = 0; i < s->process_count; i++) {
		struct fm_proc *p = &s->processes[i];
		p->first = at;
		while (at < s->windows && s->process[at] == (uint64_t)p->column[FM_PROC_PROCESS]) {
			if (__builtin_add_overflow(p->calls, s->calls[at], &p->calls) ||
			        __builtin_add_overflow(p->ns, s->ns[at], &p->ns) ||
			        (s->count != NULL && __builtin_add_overflow(
			                                     p->count, s->count[at], &p->count)) ||
			        p->calls > INT64_MAX || p->ns > INT64_MAX || p->count > INT64_MAX)
				return fm_fail(FM_ERR_SAMPLES,
				        "samples/%s: line %zu: sums leave 63 bits", stem, at + 1);
			at++;
		}
		p->windows = at - p->first;
		if ((int64_t)p->windows != p->column[FM_PROC_WINDOWS])
			return fm_fail(FM_ERR_SAMPLES,
			        "env/%s.process.tsv: process %lld: windows says %lld, "
			        "samples/%s.process.txt has %zu together",
			        stem, (long long)p->column[FM_PROC_PROCESS],
			        (long long)p->column[FM_PROC_WINDOWS], stem, p->windows);
		if (p->column[FM_PROC_STATE] == FM_STATE_ACCEPTED &&
		        (p->calls == 0 || p->ns == 0 || (s->count != NULL && p->count == 0)))
			return fm_fail(FM_ERR_SAMPLES,
			        "samples/%s: process %lld is accepted without calls, time or count",
			        stem, (long long)p->column[FM_PROC_PROCESS]);
	}
	if (at != s->windows)
		return fm_fail(FM_ERR_SAMPLES,
		        "samples/%s.process.txt: line %zu: process %llu is not in "
		        "env/%s.process.tsv, or out of order",
		        stem, at + 1, (unsigned long long)s->process[at], stem);
	return FM_OK;
}

int fm_samples_read(int dirfd, const char *stem, const char *label, struct fm_samples *out)
{
	struct fm_samples s = {.windows = SIZE_MAX};
	int rc;

	memset(out, 0, sizeof *out);
	if (strcmp(label, "core_cycles") != 0 && strcmp(label, "ref_ticks") != 0 &&
	        strcmp(label, "ns") != 0)
		return fm_fail(FM_ERR_SAMPLES,
		        "%s: label %.40s, allowed are core_cycles, ref_ticks, ns", stem, label);
	if ((rc = read_table(dirfd, stem, &s)) != FM_OK ||
	        (rc = read_column(dirfd, stem, "process", &s.windows, &s.process)) != FM_OK ||
	        (rc = read_column(dirfd, stem, "calls", &s.windows, &s.calls)) != FM_OK ||
	        (rc = read_column(dirfd, stem, "ns", &s.windows, &s.ns)) != FM_OK ||
	        (rc = read_column(dirfd, stem, "events", &s.windows, &s.events)) != FM_OK ||
	        (rc = absent(dirfd, stem, label, "core_cycles")) != FM_OK ||
	        (rc = absent(dirfd, stem, label, "ref_ticks")) != FM_OK)
		goto out;
	if (strcmp(label, "ns") != 0 &&
	        (rc = read_column(dirfd, stem, label, &s.windows, &s.count)) != FM_OK)
		goto out;
	if ((rc = join(stem, &s)) != FM_OK)
		goto out;
	*out = s;
	return FM_OK;
out:
	fm_samples_free(&s);
	return rc;
}

size_t fm_samples_count(const struct fm_samples *s, enum fm_proc_state state, uint64_t *calls)
{
	size_t n = 0;

	if (calls != NULL)
		*calls = 0;
	for (size_t i = 0; i < s->process_count; i++)
		if (s->processes[i].column[FM_PROC_STATE] == (int64_t)state) {
			n++;
			if (calls != NULL)
				*calls += s->processes[i].calls;
		}
	return n;
}
