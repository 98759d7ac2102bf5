/* test_mt_flow.c: tests of the measuring that need a whole campaign, on made-up machines. */
#include "tests/unit/mt.h"

static const struct instance toys[] = {
        {"Toy-256", 256, "toy.c", "TOY_START=7", "", "operation hash_32\noperation hash_1024\n"}};

/* One event that did not always count: exactly that process is invalid, kept and replaced. */
static void mt_10_multiplexed(void **state)
{
	struct fm_samples s;
	struct mt m;

	(void)state;
	mt_open(&m, "guide",
	        "fleetmark-world 1\nopen perf_read ok\nrunning_permille 1000 1000 500 1000\n"
	        "cost hash_32 1000\nend\n",
	        toys, 1);
	mt_run(&m);
	assert_string_equal(m.e.counter.label, "core_cycles");
	assert_string_equal(m.e.counter.source, "perf_read");
	s = mt_samples(&m, "Toy-256__reference__hash_32");
	assert_int_equal(mt_column(mt_process(&s, 2), STATE), FM_STATE_INVALID);
	assert_int_equal(mt_column(mt_process(&s, 2), REASON), 10);
	assert_int_equal(
	        mt_column(mt_process(&s, 2), REPLACED_BY), mt_column(mt_process(&s, 3), PROCESS));
	assert_true(mt_process(&s, 2)->windows > 0);
	assert_true(s.events[mt_process(&s, 2)->first] & 64);
	for (size_t i = 0; i < 6; i++)
		if (i != 2)
			assert_int_equal(mt_column(mt_process(&s, i), STATE), FM_STATE_ACCEPTED);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->accepted, 5);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->invalid, 1);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_1024")->invalid, 0);
	fm_samples_free(&s);
	mt_close(&m);
}

static void rigorous(void **state)
{
	struct mt m;

	(void)state;
	mt_open(&m, "rigorous", "fleetmark-world 1\nopen perf_read ok\nend\n", toys, 1);
	mt_run(&m);
	assert_int_equal(mt_cell(&m, "Toy-256", "hash_32")->accepted, 20);
	assert_string_equal(mt_cell(&m, "Toy-256", "hash_32")->stop, "target");
	mt_close(&m);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(mt_10_multiplexed), cmocka_unit_test(rigorous)};

	return mt_main(tests, argc, argv);
}
