/* test_number.c: printed forms of numbers, both styles, their seams, and the natural order of
 * labels. */
#include "orchestrator/number.h"
#include "tests/unit/scratch.h"
#include <math.h>

static void is(struct fm_num n, const char *want)
{
	assert_string_equal(n.s, want);
}

static void cycles(void **state)
{
	(void)state;
	is(fm_n_cycles(3862.4, FM_STYLE_PUBLISHED), "3862");
	is(fm_n_cycles(19234, FM_STYLE_PUBLISHED), "19.2 k");
	is(fm_n_cycles(1966000, FM_STYLE_PUBLISHED), "1.97 M");
	is(fm_n_cycles(2.1e9, FM_STYLE_PUBLISHED), "2.10 G");
	is(fm_n_cycles(NAN, FM_STYLE_OWN), "\xe2\x80\x93");
	/* the seams that the published pages have and ours avoid */
	is(fm_n_cycles(9999.5, FM_STYLE_PUBLISHED), "10000");
	is(fm_n_cycles(9999.5, FM_STYLE_OWN), "10.0 k");
	is(fm_n_cycles(999950, FM_STYLE_PUBLISHED), "1000.0 k");
	is(fm_n_cycles(999950, FM_STYLE_OWN), "1.00 M");
	is(fm_n_cycles(999949, FM_STYLE_OWN), "999.9 k");
	is(fm_n_cycles(999995000, FM_STYLE_OWN), "1.00 G");
	is(fm_n_cycles(-5.6, FM_STYLE_OWN), "-6"); /* a defect is printed, not hidden */
}

static void times(void **state)
{
	(void)state;
	is(fm_n_time(1.2e-5, FM_STYLE_PUBLISHED), "12 \xc2\xb5s");
	is(fm_n_time(1.3e-3, FM_STYLE_PUBLISHED), "1.3 ms");
	is(fm_n_time(5.29e-7, FM_STYLE_PUBLISHED), "529 ns");
	is(fm_n_time(2.5, FM_STYLE_PUBLISHED), "2.5 s");
	is(fm_n_time(999.6e-6, FM_STYLE_PUBLISHED), "1e+03 \xc2\xb5s");
	is(fm_n_time(999.6e-6, FM_STYLE_OWN), "1 ms");
	is(fm_n_time(1234, FM_STYLE_PUBLISHED), "1.23e+03 s");
	is(fm_n_time(1234, FM_STYLE_OWN), "1234 s");
	is(fm_n_time(1.44e-6, FM_STYLE_OWN), "1.44 \xc2\xb5s");
	is(fm_n_time(NAN, FM_STYLE_PUBLISHED), "\xe2\x80\x93");
}

static void other_forms(void **state)
{
	(void)state;
	is(fm_n_mbs(NAN), "0.0");
	is(fm_n_kib(1486848 + 1023), "1452 KiB");
	is(fm_n_mib_of_kib(31295756), "30562 MiB");
	is(fm_n_ghz(2707200), "2.71");
	is(fm_n_size(65536), "64 KiB");
	is(fm_n_size(1000), "1000 B");
	is(fm_n_size(1536), "1536 B");
	is(fm_n_percent(0.0949), "9.5%");
	is(fm_n_percent(0.096), "10%");
	is(fm_n_times(1.3744), "1.37\xc3\x97");
	is(fm_n_half(0.0004), "\xc2\xb1 <0.1 %");
	is(fm_n_half(0.019), "\xc2\xb1 1.9 %");
	is(fm_n_half(0.46), "\xc2\xb1 46 %");
	is(fm_n_half(NAN), "\xe2\x80\x93");
	is(fm_n_signed_percent(-0.025), "\xe2\x88\x92"
	                                "2.5 %");
	is(fm_n_signed_percent(0.018), "+1.8 %");
	is(fm_n_signed_percent(-0.0004), "0.0 %");
	is(fm_n_signed_percent(1.74), "+174 %");
	is(fm_n_ratio(0.7431, 0.738, 0.748), "0.743 (0.738\xe2\x80\x93"
	                                     "0.748)");
	is(fm_n_ratio(0.7431, NAN, NAN), "0.743 (no interval)");
}

static void shortest_doubles(void **state)
{
	static const struct {
		double x;
		const char *text;
	} all[] = {{300, "300.0"}, {5.2e-07, "5.2e-07"}, {0.0001, "0.0001"},
	        {0.00001234, "1.234e-05"}, {1e15, "1000000000000000.0"}, {1e16, "1e+16"},
	        {0, "0.0"}, {0.1, "0.1"}, {-2.5, "-2.5"},
	        {1.2272177100000002e-06, "1.2272177100000002e-06"},
	        {814851.3436951622, "814851.3436951622"}, {1.5e300, "1.5e+300"},
	        {123456789012345678.0, "1.2345678901234568e+17"}};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		is(fm_n_double(all[i].x), all[i].text);
		assert_true(strtod(fm_n_double(all[i].x).s, NULL) == all[i].x);
	}
}

static void natural_order(void **state)
{
	static const char *const rising[] = {"Dragon-512", "Dragon-768", "Dragon-1024",
	        "Dragon-XOF-256", "X", "X1", "X1-a", "X2", "X10", "X123456789012345678901234567890",
	        "X123456789012345678901234567891", "X-avx2"};
	size_t n = sizeof rising / sizeof *rising;

	(void)state;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			int d = fm_natural(rising[i], rising[k]);
			if ((d > 0) - (d < 0) != (i > k) - (i < k))
				fail_msg("%s, %s: %d", rising[i], rising[k], d);
		}
	assert_true(fm_natural("a7", "a07") != 0); /* a total order */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(cycles),
	        cmocka_unit_test(times),
	        cmocka_unit_test(other_forms),
	        cmocka_unit_test(shortest_doubles),
	        cmocka_unit_test(natural_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
