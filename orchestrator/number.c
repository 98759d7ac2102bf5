/* number.c: how numbers and labels are printed and ordered on pages. */
#include "orchestrator/number.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MISSING "\xe2\x80\x93" /* U+2013 */
#define MICRO   "\xc2\xb5s"    /* U+00B5 s */
#define TIMES   "\xc3\x97"     /* U+00D7 */
#define MINUS   "\xe2\x88\x92" /* U+2212 */
#define PLUSMIN "\xc2\xb1"     /* U+00B1 */

static struct fm_num missing(void)
{
	return (struct fm_num){MISSING};
}

static struct fm_num plain(const char *unit, double x, int decimals)
{
	struct fm_num n;
	snprintf(n.s, sizeof n.s, "%.*f%s", decimals, x, unit);
	return n;
}

/* The first value that prints in the next unit: with own style the border moves down to where
 * rounding would reach it. */
static bool reaches(double x, double limit, double half_step, enum fm_style style)
{
	return x >= (style == FM_STYLE_OWN ? limit - half_step : limit);
}

struct fm_num fm_n_cycles(double x, enum fm_style style)
{
	if (!isfinite(x))
		return missing();
	if (reaches(x, 1e9, 5e3, style))
		return plain(" G", x / 1e9, 2);
	if (reaches(x, 1e6, 50, style))
		return plain(" M", x / 1e6, 2);
	if (reaches(x, 1e4, 0.5, style))
		return plain(" k", x / 1e3, 1);
	return plain("", x, 0);
}

struct fm_num fm_n_per_byte(double x)
{
	return fm_n_decimals(x, 1);
}

struct fm_num fm_n_decimals(double x, int decimals)
{
	return isfinite(x) ? plain("", x, decimals) : missing();
}

static struct fm_num own_time(double seconds)
{
	static const char *const unit[] = {" ns", (" " MICRO), " ms", " s"};
	double x = seconds * 1e9;
	int u = 0;
	struct fm_num n;

	while (u < 3 && x >= 999.5) {
		x /= 1e3;
		u++;
	}
	if (x >= 999.5)
		snprintf(n.s, sizeof n.s, "%.0f%s", x, unit[u]);
	else
		snprintf(n.s, sizeof n.s, "%.3g%s", x, unit[u]);
	return n;
}

struct fm_num fm_n_time(double s, enum fm_style style)
{
	struct fm_num n;

	if (!isfinite(s))
		return missing();
	if (style == FM_STYLE_OWN)
		return own_time(s);
	if (s >= 1)
		snprintf(n.s, sizeof n.s, "%.3g s", s);
	else if (s * 1e3 >= 1)
		snprintf(n.s, sizeof n.s, "%.3g ms", s * 1e3);
	else if (s * 1e6 >= 1)
		snprintf(n.s, sizeof n.s, "%.3g " MICRO, s * 1e6);
	else
		snprintf(n.s, sizeof n.s, "%.3g ns", s * 1e9);
	return n;
}

struct fm_num fm_n_mbs(double x)
{
	return plain("", isfinite(x) ? x : 0.0, 1);
}

struct fm_num fm_n_int(int64_t x)
{
	struct fm_num n;
	snprintf(n.s, sizeof n.s, "%lld", (long long)x);
	return n;
}

struct fm_num fm_n_kib(int64_t bytes)
{
	struct fm_num n;
	snprintf(n.s, sizeof n.s, "%lld KiB", (long long)(bytes / 1024));
	return n;
}

struct fm_num fm_n_mib_of_kib(int64_t kib)
{
	struct fm_num n;
	snprintf(n.s, sizeof n.s, "%lld MiB", (long long)(kib / 1024));
	return n;
}

struct fm_num fm_n_ghz(double khz)
{
	return isfinite(khz) ? plain("", khz / 1e6, 2) : missing();
}

struct fm_num fm_n_clock(double khz)
{
	return khz > 0 ? plain(" GHz", khz / 1e6, 2) : (struct fm_num){"unknown"};
}

struct fm_num fm_n_size(uint64_t bytes)
{
	struct fm_num n;
	if (bytes >= 1024 && bytes % 1024 == 0)
		snprintf(n.s, sizeof n.s, "%llu KiB", (unsigned long long)(bytes / 1024));
	else
		snprintf(n.s, sizeof n.s, "%llu B", (unsigned long long)bytes);
	return n;
}

struct fm_num fm_n_percent(double x)
{
	return isfinite(x) ? plain("%", 100 * x, x >= 0.095 ? 0 : 1) : missing();
}

struct fm_num fm_n_times(double x)
{
	return isfinite(x) ? plain(TIMES, x, 2) : missing();
}

struct fm_num fm_n_signed_percent(double x)
{
	struct fm_num n;
	char digits[48];

	if (!isfinite(x))
		return missing();
	snprintf(digits, sizeof digits, "%.*f", fabs(x) >= 0.095 ? 0 : 1, fabs(100 * x));
	if (strspn(digits, "0.") == strlen(digits))
		snprintf(n.s, sizeof n.s, "%s %%", digits);
	else
		snprintf(n.s, sizeof n.s, "%s%s %%", x < 0 ? MINUS : "+", digits);
	return n;
}

struct fm_num fm_n_half(double relative)
{
	struct fm_num n;

	if (!isfinite(relative))
		return missing();
	if (relative < 0.0005)
		snprintf(n.s, sizeof n.s, PLUSMIN " <0.1 %%");
	else
		snprintf(n.s, sizeof n.s, PLUSMIN " %.*f %%", relative >= 0.095 ? 0 : 1,
		        100 * relative);
	return n;
}

struct fm_num fm_n_ratio(double r, double low, double high)
{
	struct fm_num n;

	if (!isfinite(r))
		return missing();
	if (isfinite(low) && isfinite(high))
		snprintf(n.s, sizeof n.s, "%.3f (%.3f" MISSING "%.3f)", r, low, high);
	else
		snprintf(n.s, sizeof n.s, "%.3f (no interval)", r);
	return n;
}

struct fm_num fm_n_double(double x)
{
	char text[40], digits[24] = "";
	struct fm_num n = {""};
	int precision, exponent, count = 0;
	size_t at = 0;

	/* 15 digits that read back hold every shorter spelling, padded with zeros: three tries are
	 * enough */
	for (precision = 14; precision < 17; precision++) {
		snprintf(text, sizeof text, "%.*e", precision, x);
		if (strtod(text, NULL) == x)
			break;
	}
	exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	for (const char *p = text; *p != 'e'; p++)
		if (isdigit((unsigned char)*p))
			digits[count++] = *p;
	while (count > 1 && digits[count - 1] == '0')
		digits[--count] = '\0';
	if (text[0] == '-')
		n.s[at++] = '-';
	if (exponent < -4 || exponent > 15) {
		snprintf(n.s + at, sizeof n.s - at, "%c%s%se%c%02d", digits[0],
		        count > 1 ? "." : "", digits + 1, exponent < 0 ? '-' : '+', abs(exponent));
	} else if (exponent < 0) {
		snprintf(n.s + at, sizeof n.s - at, "0.%.*s%s", -exponent - 1, "0000", digits);
	} else {
		for (int i = 0; i <= exponent; i++)
			n.s[at++] = i < count ? digits[i] : '0';
		snprintf(n.s + at, sizeof n.s - at, ".%s",
		        count > exponent + 1 ? digits + exponent + 1 : "0");
	}
	return n;
}

/* The next part of a label: a run of digits, or a text (perhaps empty) before one. */
static size_t part(const char *s, bool digits)
{
	size_t n = 0;
	while (s[n] != '\0' && (isdigit((unsigned char)s[n]) != 0) == digits)
		n++;
	return n;
}

static int compare_bytes(const char *a, size_t na, const char *b, size_t nb)
{
	int d = memcmp(a, b, na < nb ? na : nb);
	return d != 0 ? d : (na > nb) - (na < nb);
}

static int compare_digits(const char *a, size_t na, const char *b, size_t nb)
{
	while (na > 1 && *a == '0') {
		a++;
		na--;
	}
	while (nb > 1 && *b == '0') {
		b++;
		nb--;
	}
	if (na != nb)
		return na < nb ? -1 : 1;
	return memcmp(a, b, na);
}

int fm_natural(const char *a, const char *b)
{
	const char *x = a, *y = b;
	bool digits = false;

	while (*x != '\0' || *y != '\0') {
		size_t nx = part(x, digits), ny = part(y, digits);
		int d = digits ? (nx == 0 || ny == 0 ? (nx > ny) - (nx < ny)
		                                     : compare_digits(x, nx, y, ny))
		               : compare_bytes(x, nx, y, ny);
		if (d != 0)
			return d < 0 ? -1 : 1;
		x += nx;
		y += ny;
		digits = !digits;
	}
	return strcmp(a, b);
}
