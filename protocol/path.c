/* path.c: which names, paths, digests and time stamps are well formed. */
#include "protocol/path.h"
#include "protocol/buf.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

bool fm_name_ok(const char *name)
{
	size_t n;

	if (name == NULL || !is_alnum(name[0]))
		return false;
	for (n = 1; name[n] != '\0'; n++)
		if (n >= FM_NAME_MAX || !(is_alnum(name[n]) || strchr("._-", name[n]) != NULL))
			return false;
	return true;
}

int fm_name_check(const char *what, const char *name)
{
	char shown[100];

	if (fm_name_ok(name))
		return FM_OK;
	if (name == NULL)
		name = "";
	return fm_fail(FM_ERR_NAME,
	        "%s: read '%s', allowed are 1 to %d of the characters A-Z a-z 0-9 . _ - with a "
	        "letter or digit first",
	        what, fm_escape(name, strlen(name), shown, sizeof shown), FM_NAME_MAX);
}

bool fm_path_ok(const char *path)
{
	size_t part = 0, parts = 1, n;

	if (path == NULL || path[0] == '\0')
		return false;
	for (n = 0; path[n] != '\0'; n++) {
		char c = path[n];

		if (n >= FM_PATH_MAX)
			return false;
		if (c == '/') {
			if (part == 0 || ++parts > FM_PARTS_MAX)
				return false;
			part = 0;
			continue;
		}
		if (!(is_alnum(c) || c == '_' || (part > 0 && (c == '.' || c == '+' || c == '-'))))
			return false;
		if (++part > FM_PART_MAX)
			return false;
	}
	return part > 0;
}

bool fm_hex64_ok(const char *text)
{
	if (text == NULL)
		return false;
	for (size_t n = 0; n < 64; n++)
		if (!((text[n] >= '0' && text[n] <= '9') || (text[n] >= 'a' && text[n] <= 'f')))
			return false;
	return text[64] == '\0';
}

/* The decimal number of `count` digits at text, which are known to be digits. */
static int digits(const char *text, int count)
{
	int value = 0;

	while (count-- > 0)
		value = value * 10 + (*text++ - '0');
	return value;
}

static void split(const char *stamp, struct tm *tm)
{
	*tm = (struct tm){
	        .tm_year = digits(stamp, 4) - 1900,
	        .tm_mon = digits(stamp + 5, 2) - 1,
	        .tm_mday = digits(stamp + 8, 2),
	        .tm_hour = digits(stamp + 11, 2),
	        .tm_min = digits(stamp + 14, 2),
	        .tm_sec = digits(stamp + 17, 2),
	};
}

bool fm_stamp_ok(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
	static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	struct tm tm;
	int year;

	if (text == NULL)
		return false;
	for (size_t n = 0; n < sizeof form; n++) /* the NUL as well */
		if (form[n] == 'd' ? text[n] < '0' || text[n] > '9' : text[n] != form[n])
			return false;
	split(text, &tm);
	year = tm.tm_year + 1900;
	if (year < 1970 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_hour > 23 || tm.tm_min > 59 ||
	        tm.tm_sec > 59 || tm.tm_mday < 1 || tm.tm_mday > days[tm.tm_mon])
		return false;
	if (tm.tm_mon == 1 && tm.tm_mday == 29)
		return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return true;
}

void fm_stamp_at(long long seconds, char out[21])
{
	const long long last = 253402300799LL; /* 9999-12-31T23:59:59Z */
	time_t when = (time_t)(seconds < 0 ? 0 : seconds > last ? last : seconds);
	struct tm tm = {0};

	gmtime_r(&when, &tm);
	snprintf(out, 21, "%04u-%02u-%02uT%02u:%02u:%02uZ", (unsigned)(tm.tm_year + 1900) % 10000u,
	        (unsigned)(tm.tm_mon + 1) % 100u, (unsigned)tm.tm_mday % 100u,
	        (unsigned)tm.tm_hour % 100u, (unsigned)tm.tm_min % 100u,
	        (unsigned)tm.tm_sec % 100u);
}

void fm_stamp_now(char out[21])
{
	fm_stamp_at((long long)time(NULL), out);
}

long long fm_stamp_seconds(const char *stamp)
{
	struct tm tm;

	split(stamp, &tm);
	return (long long)timegm(&tm);
}
