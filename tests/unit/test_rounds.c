/* test_rounds.c: what becomes of a candidate's cells when its time is over, and who joins a round.
 */
#include "agent/rounds.h"
#include "agent/trial.h"
#include "tests/unit/scratch.h"

#include <stdlib.h>

static int nothing(void *arg, const struct fm_line *line)
{
	(void)arg;
	(void)line;
	return FM_OK;
}

/* A cell that has an accepted process keeps it and is partial; one without fails for its reason; no
 * process is started for either (there is no agent to start one). */
static void cells_end_with_the_time_of_their_candidate(void **state)
{
	struct fm_jp_instance instance = {.instance = (char[]){"Z-512"}};
	struct fm_jp_version version = {.version = (char[]){"reference"}};
	struct fm_jp_candidate plan = {.candidate = (char[]){"hash-31"}};
	struct fm_unit unit = {.instance = &instance, .version = &version};
	struct fm_process taken = {.col = {[FM_COL_state] = FM_ACCEPTED, [FM_COL_round] = 1}};
	struct fm_cell_work some = {.unit = &unit,
	        .operation = "hash_32",
	        .processes = 5,
	        .most = 5,
	        .taken = &taken,
	        .taken_count = 1};
	struct fm_cell_work none = {
	        .unit = &unit, .operation = "hash_64", .processes = 5, .most = 5};
	struct fm_cell_work *cells[2] = {&some, &none};
	struct fm_candidate_work c = {.plan = &plan};
	struct fm_job j = {.candidate_end_ns = 1};
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_ok(fm_lines_open(&j.progress, s.fd, "progress", nothing, NULL, NULL));
	assert_true(fm_job_late(&j));
	assert_ok(fm_rounds_in_a_row(&j, &c, cells, 2));
	assert_string_equal(some.status, "measured");
	assert_string_equal(some.stop, "budget");
	assert_string_equal(none.status, "failed");
	assert_string_equal(none.reason, "time_limit");
	assert_int_equal(none.taken_count, 0);
	assert_ok(fm_lines_close(j.progress));
	scratch_close(&s);

	j.candidate_end_ns = 0;
	assert_false(fm_job_late(&j));
	j.candidate_end_ns = UINT64_MAX;
	assert_false(fm_job_late(&j));
}

static void slow_cells_are_spread_over_the_rounds(void **state)
{
	unsigned in = 0;

	(void)state;
	for (unsigned round = 1; round <= 20; round++)
		in += fm_rounds_joins(6, round);
	assert_int_equal(in, 6);
	assert_false(fm_rounds_joins(6, 0));
	assert_true(fm_rounds_joins(60, 60));
	assert_false(fm_rounds_joins(30, 31));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(cells_end_with_the_time_of_their_candidate),
	        cmocka_unit_test(slow_cells_are_spread_over_the_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
