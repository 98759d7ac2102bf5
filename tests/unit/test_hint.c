/* test_hint.c: suggested commands name what this run was given, so that a shell takes them as they
 * are. */
#include "orchestrator/hint.h"
#include "tests/unit/scratch.h"

static void places_are_named_unless_they_are_the_usual_ones(void **state)
{
	struct fm_options o = {.inventory = "fleetmark.ini", .results = "results", .root = "/src"};
	char out[200];

	(void)state;
	unsetenv("FLEETMARK_INVENTORY");
	assert_string_equal(fm_hint(&o, out, sizeof out, "enrol %s", "x86_1"), "fleetmark enrol x86_1");
	o.inventory = "lab.ini";
	o.results = "/data/out";
	o.said.root = true;
	assert_string_equal(fm_hint(&o, out, sizeof out, "run a"),
	        "fleetmark run a -i lab.ini --results /data/out --root /src");
	setenv("FLEETMARK_INVENTORY", "lab.ini", 1);
	o.said.root = false;
	assert_string_equal(
	        fm_hint(&o, out, sizeof out, "run a"), "fleetmark run a --results /data/out");
	unsetenv("FLEETMARK_INVENTORY");
}

static void what_a_shell_would_read_is_quoted(void **state)
{
	struct fm_options o = {.inventory = "it's my; fleet.ini", .results = "results"};
	char out[200], small[16];

	(void)state;
	assert_string_equal(fm_hint(&o, out, sizeof out, "run a"),
	        "fleetmark run a -i 'it'\\''s my; fleet.ini'");
	assert_string_equal(fm_hint(&o, small, sizeof small, "run a"), "fleetmark run a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(places_are_named_unless_they_are_the_usual_ones),
	        cmocka_unit_test(what_a_shell_would_read_is_quoted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
