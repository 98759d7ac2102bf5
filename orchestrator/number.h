/* number.h: how numbers and labels are printed and ordered on pages (the published layout's rules
 * and our own).
 *
 * Every function returns its text by value: fm_n_cycles(x, style).s lives until the end of the full
 * expression. Only printf formats of the C locale are used; the program never calls setlocale. NAN
 * stands for "missing" and prints as U+2013. */
#ifndef FM_NUMBER_H
#define FM_NUMBER_H

#include <stddef.h>
#include <stdint.h>

struct fm_num {
	char s[64];
};

/* PUBLISHED chooses the unit before rounding (9999.5 prints "10000"), OWN after it ("10.0 k"). */
enum fm_style { FM_STYLE_OWN, FM_STYLE_PUBLISHED };

struct fm_num fm_n_cycles(double x, enum fm_style style);     /* 3862, 19.2 k, 1.97 M, 2.10 G */
struct fm_num fm_n_per_byte(double x);                        /* one decimal */
struct fm_num fm_n_decimals(double x, int decimals);          /* decimals 0..3 */
struct fm_num fm_n_time(double seconds, enum fm_style style); /* 1.44 µs, 529 ns */
struct fm_num fm_n_mbs(double x);                             /* missing prints 0.0 */
struct fm_num fm_n_int(int64_t x);
struct fm_num fm_n_kib(int64_t bytes);       /* floor, "1464 KiB" */
struct fm_num fm_n_mib_of_kib(int64_t kib);  /* floor, "30562 MiB" */
struct fm_num fm_n_clock(double khz);        /* "2.71 GHz", "unknown" unless above 0 */
struct fm_num fm_n_ghz(double khz);          /* "2.71" of a clock in kHz */
struct fm_num fm_n_size(uint64_t bytes);     /* in headings: "64 KiB", "32 B" */
struct fm_num fm_n_percent(double x);        /* a share: "9.4%", "10%" */
struct fm_num fm_n_times(double x);          /* "1.37×" */
struct fm_num fm_n_signed_percent(double x); /* "+1.8 %", "−2.5 %" (U+2212), zero without sign */
struct fm_num fm_n_half(double relative);    /* "± 1.9 %", "± <0.1 %" */
struct fm_num fm_n_ratio(double r, double low,
        double high); /* "0.743 (0.738–0.748)"; NAN bounds: "0.743 (no interval)" */

/* The shortest decimal digits that read back as the same double, as the published records spell
 * them: fixed notation for exponents -4 to 15 and always with a point. x must be finite. */
struct fm_num fm_n_double(double x);

/* Natural order of labels: split at digit runs; texts compare as bytes, digit runs (of any length)
 * as integers, the list with fewer parts first; then bytes. */
int fm_natural(const char *a, const char *b);

#endif
