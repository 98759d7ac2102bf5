/* test_kind.c: unlike counts never join (MT-03), cycles are derived only from a steady clock
 * (MT-02), and nothing that is no number leaves the writer. */
#include "orchestrator/jsonp.h"
#include "orchestrator/kind.h"
#include "tests/unit/scratch.h"
#include <math.h>

/* Every pair of unlike labels is an error that names both. */
static void mt_03_kinds(void **state)
{
	(void)state;
	for (int a = 0; a < FM_KINDS; a++)
		for (int b = 0; b < FM_KINDS; b++) {
			char words[100];

			snprintf(words, sizeof words, "not comparable: %s / %s", fm_kind_name[a],
			        fm_kind_name[b]);
			if (a == b && a != FM_KIND_EMULATED)
				assert_ok(fm_kind_join(a, 1e9, b, 1e9));
			else
				assert_fails(FM_ERR_USAGE, words, fm_kind_join(a, 0, b, 0));
		}
	/* ticks of two clocks */
	assert_fails(FM_ERR_USAGE, "2445000000 Hz",
	        fm_kind_join(FM_KIND_REF_TICKS, 2445e6, FM_KIND_REF_TICKS, 1e9));
}

static void kind_of_a_cell(void **state)
{
	struct fm_cell_fig c = {.count = FM_COUNT_CYCLES};

	(void)state;
	assert_int_equal(fm_cell_kind(&c), FM_KIND_CORE_CYCLES);
	c.count = FM_COUNT_TICKS;
	assert_int_equal(fm_cell_kind(&c), FM_KIND_REF_TICKS);
	c.count = FM_COUNT_NONE;
	assert_int_equal(fm_cell_kind(&c), FM_KIND_NS);
	c.count = FM_COUNT_CYCLES;
	c.emulated = true;
	assert_int_equal(fm_cell_kind(&c), FM_KIND_EMULATED);
}

/* A clock that moved gives no cycles; one that stood gives an interval not narrower than its
 * own. */
static void mt_02_derived_cycles(void **state)
{
	struct fm_ev_clock clocks[2] = {
	        {.measured_hz = 2893000000, .iqr_ppm = 15000, .drift_ppm = 0},
	        {.measured_hz = 2893000000, .iqr_ppm = 15000, .drift_ppm = 100}};
	struct fm_derived d;

	(void)state;
	fm_derived_clock(clocks, 2, &d);
	assert_true(isnan(d.hz));
	assert_non_null(
	        strstr(d.why, "IQR / median of the core clock is 1.50 %, the limit 0.50 %"));

	clocks[0].iqr_ppm = clocks[1].iqr_ppm = 2000;
	clocks[1].drift_ppm = 6000;
	fm_derived_clock(clocks, 2, &d);
	assert_true(isnan(d.hz));
	assert_non_null(strstr(d.why, "drift"));

	clocks[1].drift_ppm = 0;
	fm_derived_clock(clocks, 2, &d);
	assert_string_equal(d.why, "");
	assert_true(d.hz == 2893e6 && d.half >= 0.001);
	assert_true(fm_derived_half(&d, 0.002) >= d.half + 0.002);

	/* at start and end, and both measured */
	fm_derived_clock(clocks, 1, &d);
	assert_true(isnan(d.hz) && d.why[0] != '\0');
	clocks[1].measured_hz = -1;
	fm_derived_clock(clocks, 2, &d);
	assert_true(isnan(d.hz));
	assert_non_null(strstr(d.why, "not measured"));
}

static void no_number_no_digits(void **state)
{
	struct fm_buf text = FM_BUF_INIT(4096);
	struct fm_jsonp w;

	(void)state;
	fm_jsonp_start(&w, &text);
	fm_jsonp_double(&w, "a", NAN);
	fm_jsonp_double(&w, "b", INFINITY);
	fm_jsonp_double(&w, "c", -INFINITY);
	fm_jsonp_double(&w, "d", -0.0);
	fm_jsonp_double(&w, "e", -1.5);
	assert_ok(fm_jsonp_end(&w));
	assert_string_equal(text.data,
	        "{\n \"a\": null,\n \"b\": null,\n \"c\": null,\n \"d\": 0.0,\n "
	        "\"e\": -1.5\n}\n");
	fm_buf_free(&text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(mt_03_kinds),
	        cmocka_unit_test(kind_of_a_cell),
	        cmocka_unit_test(mt_02_derived_cycles),
	        cmocka_unit_test(no_number_no_digits),
	};
	choose_tests(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
