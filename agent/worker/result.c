/* result.c: what the worker tells on descriptor 4. */
#include "agent/worker/result.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int result_fd = FM_RESULT_FD;
static size_t written;

void fm_result_use(int fd)
{
	result_fd = fd;
	written = 0;
}

void fm_result_exit(int status)
{
	_exit(status);
}

static void put(const char *bytes, size_t len)
{
	if (written + len > FM_RESULT_MAX)
		_exit(1);
	written += len;
	while (len > 0) {
		ssize_t n = write(result_fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		bytes += n;
		len -= (size_t)n;
	}
}

void fm_result_raw(const char *text)
{
	put(text, strlen(text));
}

/* One line: word, then the formatted rest. */
FM_PRINTF(3, 0)
static void put_line(const char *word, const char *key, const char *format, va_list args)
{
	char line[FM_RESULT_LINE];
	size_t len;
	int n = snprintf(line, sizeof line, "%s%s%s ", word, key[0] == '\0' ? "" : " ", key);

	if (n < 0 || (size_t)n >= sizeof line)
		_exit(1);
	len = (size_t)n;
	n = vsnprintf(line + len, sizeof line - len, format, args);
	if (n < 0)
		_exit(1);
	len = (size_t)n < sizeof line - len ? len + (size_t)n : sizeof line - 1;
	for (size_t i = 0; i < len; i++)
		if (line[i] < 0x20 || line[i] > 0x7e)
			line[i] = '?';
	while (len > 0 && line[len - 1] == ' ')
		len--;
	line[len] = '\n';
	put(line, len + 1);
}

void fm_result_fact(const char *key, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line("fact", key, format, args);
	va_end(args);
}

void fm_result_number(const char *key, int64_t value)
{
	fm_result_fact(key, "%" PRId64, value);
}

void fm_result_log(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line("log", "", format, args);
	va_end(args);
}

FM_PRINTF(2, 3) static void put_word(const char *word, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line(word, "", format, args);
	va_end(args);
}

void fm_result_file(const char *name)
{
	put_word("file", "%s", name);
}

void fm_result_status(const char *status)
{
	put_word("status", "%s", status);
}

void fm_result_window(uint64_t calls, uint64_t ns, const uint64_t *count, unsigned events)
{
	if (count != NULL)
		put_word("window", "%" PRIu64 " %" PRIu64 " %" PRIu64 " %u", calls, ns, *count,
		        events);
	else
		put_word("window", "%" PRIu64 " %" PRIu64 " - %u", calls, ns, events);
}

void fm_result_ok(void)
{
	fm_result_raw("end ok\n");
	_exit(0);
}

void fm_result_fail(const char *reason)
{
	if (fm_error_text()[0] != '\0')
		fm_result_fact("reason", "%s", fm_error_text());
	put_word("end", "fail %s", reason);
	_exit(1);
}
