/* error.c: the words behind the error codes, kept per thread, and the table of classes and exit
 * codes. */
#include "protocol/error.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 1000 /* bytes of an error text */

static _Thread_local char current[TEXT_MAX + 1];

static const struct {
	const char *klass, *reason;
	int status;
} table[] = {
#define ROW(name, klass, reason, status) {klass, reason, status},
        FM_ERRORS(ROW)
#undef ROW
};

enum { ROWS = sizeof table / sizeof table[0] };

/* The row of a code, the one of INTERNAL for a code that is none of ours. */
static size_t row_of(int code)
{
	int row = code - (FM_ERROR_FIRST_ + 1);

	if (row < 0 || row >= ROWS)
		row = FM_ERR_INTERNAL - (FM_ERROR_FIRST_ + 1);
	return (size_t)row;
}

/* Marks a text that did not fit; size is that of its array. */
static void mark_cut(char *text, size_t size, int length)
{
	if (length < 0)
		snprintf(text, size, "error text that cannot be printed");
	else if ((size_t)length >= size)
		memcpy(text + size - 4, "...", 4);
}

/* Formats into a second array first: an argument may be the current text itself. */
static void FM_PRINTF(1, 0) set_text(const char *format, va_list args)
{
	char fresh[TEXT_MAX + 1];
	int length = vsnprintf(fresh, sizeof fresh, format, args);

	mark_cut(fresh, sizeof fresh, length);
	memcpy(current, fresh, sizeof current);
}

int fm_fail(int code, const char *format, ...)
{
	int saved = errno;
	va_list args;

	va_start(args, format);
	set_text(format, args);
	va_end(args);
	errno = saved;
	return code;
}

int fm_fail_errno(const char *format, ...)
{
	int saved = errno, code;
	char place[TEXT_MAX + 1], reason[128];
	va_list args;

	va_start(args, format);
	set_text(format, args);
	va_end(args);
	memcpy(place, current, sizeof place);
	if (saved == ENOSPC || saved == EDQUOT)
		code = FM_ERR_DISK;
	else if (saved == ENOMEM)
		code = FM_ERR_MEMORY;
	else
		code = FM_ERR_SYSTEM;
	code = fm_fail(code, "%s: %s", place, strerror_r(saved, reason, sizeof reason));
	errno = saved;
	return code;
}

int fm_wrap(int code, const char *format, ...)
{
	int saved = errno, length;
	char old[TEXT_MAX + 1], fresh[TEXT_MAX + 1];
	va_list args;

	memcpy(old, current, sizeof old);
	va_start(args, format);
	set_text(format, args);
	va_end(args);
	length = snprintf(fresh, sizeof fresh, "%s: %s", current, old);
	mark_cut(fresh, sizeof fresh, length);
	memcpy(current, fresh, sizeof current);
	errno = saved;
	return code;
}

const char *fm_error_text(void)
{
	return current;
}

const char *fm_error_class(int code)
{
	return code == FM_OK ? "" : table[row_of(code)].klass;
}

const char *fm_error_reason(int code)
{
	return code == FM_OK ? "" : table[row_of(code)].reason;
}

int fm_error_status(int code)
{
	return code == FM_OK ? 0 : table[row_of(code)].status;
}

int fm_error_lookup(const char *klass, const char *reason)
{
	for (int row = 0; row < ROWS; row++)
		if (strcmp(table[row].klass, klass) == 0 && strcmp(table[row].reason, reason) == 0)
			return FM_ERROR_FIRST_ + 1 + row;
	return FM_ERR_INTERNAL;
}
