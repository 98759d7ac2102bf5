/* hostlog.c: appends to the log of one system, up to its limit. */
#include "orchestrator/hostlog.h"
#include "protocol/fs.h"
#include "protocol/path.h"
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

void fm_hostlog_raw(int fd, const void *bytes, size_t len)
{
	static const char full[] = "\n[log is full; what follows is not kept]\n";
	struct stat st;

	if (fd < 0 || len == 0 || fstat(fd, &st) != 0 || st.st_size >= (off_t)FM_HOSTLOG_MAX)
		return;
	if (st.st_size + (off_t)len >= (off_t)FM_HOSTLOG_MAX) {
		if (fm_fs_write_all(fd, bytes, FM_HOSTLOG_MAX - (size_t)st.st_size) == FM_OK)
			(void)!fm_fs_write_all(fd, full, sizeof full - 1);
		return;
	}
	(void)!fm_fs_write_all(fd, bytes, len);
}

void fm_hostlog_say(int fd, const char *format, ...)
{
	char text[1200], stamp[21];
	va_list args;
	int n, m;

	if (fd < 0)
		return;
	fm_stamp_now(stamp);
	n = snprintf(text, sizeof text, "\n[%s] ", stamp);
	va_start(args, format);
	m = vsnprintf(text + n, sizeof text - (size_t)n - 1, format, args);
	va_end(args);
	if (m < 0)
		return;
	n += m;
	if (n > (int)sizeof text - 2)
		n = (int)sizeof text - 2;
	text[n++] = '\n';
	fm_hostlog_raw(fd, text, (size_t)n);
}
