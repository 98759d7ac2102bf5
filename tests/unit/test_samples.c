/* test_samples.c: raw samples of a cell: sums and states, and every way in which files must not be
 * accepted. */
#include "orchestrator/samples.h"
#include "tests/unit/scratch.h"

static struct scratch dir;

static int open_dir(void **state)
{
	(void)state;
	scratch_open(&dir);
	return 0;
}

static int close_dir(void **state)
{
	(void)state;
	scratch_close(&dir);
	return 0;
}

/* The table with one row per state given: "0" accepted, "2" invalid ...; windows of each. */
static void put_table(const char *states, const int *windows)
{
	struct fm_buf b = FM_BUF_INIT(65536);

	for (int c = 0; c < FM_PROC_COLUMNS; c++)
		assert_ok(fm_buf_printf(
		        &b, "%s%s", fm_proc_name[c], c + 1 < FM_PROC_COLUMNS ? "\t" : "\n"));
	for (int p = 0; states[p] != '\0'; p++)
		for (int c = 0; c < FM_PROC_COLUMNS; c++) {
			int v = c == FM_PROC_PROCESS   ? p + 1
			        : c == FM_PROC_STATE   ? states[p] - '0'
			        : c == FM_PROC_REASON  ? 0
			        : c == FM_PROC_WINDOWS ? windows[p]
			                               : -1;
			assert_ok(fm_buf_printf(
			        &b, "%d%s", v, c + 1 < FM_PROC_COLUMNS ? "\t" : "\n"));
		}
	scratch_put(&dir, "env/c.process.tsv", b.data);
	fm_buf_free(&b);
}

static void put_good(void)
{
	put_table("02", (const int[]){2, 1});
	scratch_put(&dir, "samples/c.process.txt", "1\n1\n2\n");
	scratch_put(&dir, "samples/c.calls.txt", "10\n20\n5\n");
	scratch_put(&dir, "samples/c.ns.txt", "100\n200\n50\n");
	scratch_put(&dir, "samples/c.core_cycles.txt", "300\n18446744073709551\n1\n");
	scratch_put(&dir, "samples/c.events.txt", "0\n0\n2\n");
	assert_ok(fm_fs_remove(dir.fd, "samples/c.ref_ticks.txt"));
}

static void good(void **state)
{
	struct fm_samples s;
	uint64_t calls;

	(void)state;
	put_good();
	assert_ok(fm_samples_read(dir.fd, "c", "core_cycles", &s));
	assert_true(s.windows == 3 && s.process_count == 2);
	assert_true(s.processes[0].calls == 30 && s.processes[0].ns == 300 &&
	            s.processes[0].windows == 2);
	assert_true(s.processes[0].count == 300 + 18446744073709551u && s.processes[1].calls == 5);
	assert_true(fm_samples_count(&s, FM_STATE_ACCEPTED, &calls) == 1 && calls == 30);
	assert_true(fm_samples_count(&s, FM_STATE_INVALID, NULL) == 1);
	assert_int_equal(s.processes[0].column[FM_PROC_STEAL_TICKS], -1);
	fm_samples_free(&s);
}

static void without_a_label(void **state)
{
	struct fm_samples s;

	(void)state;
	put_good();
	assert_fails(FM_ERR_SAMPLES, "core_cycles", fm_samples_read(dir.fd, "c", "ns", &s));
	assert_ok(fm_fs_remove(dir.fd, "samples/c.core_cycles.txt"));
	assert_ok(fm_samples_read(dir.fd, "c", "ns", &s));
	assert_null(s.count);
	fm_samples_free(&s);
	assert_fails(FM_ERR_SAMPLES, "not in the bundle",
	        fm_samples_read(dir.fd, "c", "core_cycles", &s));
	assert_fails(FM_ERR_SAMPLES, "label", fm_samples_read(dir.fd, "c", "cycles", &s));
}

/* A file with these bytes instead of the good ones is refused with these words. */
static void refused(const char *file, const char *bytes, const char *words)
{
	struct fm_samples s;

	put_good();
	scratch_put(&dir, file, bytes);
	assert_fails(FM_ERR_SAMPLES, words, fm_samples_read(dir.fd, "c", "core_cycles", &s));
	assert_null(s.processes);
}

static void bad_columns(void **state)
{
	(void)state;
	refused("samples/c.ns.txt", "100\n200\n", "2 lines");
	refused("samples/c.ns.txt", "100\n200\n50", "line 3");
	refused("samples/c.ns.txt", "100\n\n50\n", "line 2");
	refused("samples/c.ns.txt", "100\n-2\n50\n", "line 2");
	refused("samples/c.ns.txt", "100\n02\n50\n", "line 2");
	refused("samples/c.ns.txt", "100\n2.5\n50\n", "line 2");
	refused("samples/c.ns.txt", "100\r\n2\n50\n", "line 1");
	refused("samples/c.ns.txt", "100\n18446744073709551616\n50\n", "line 2");
	refused("samples/c.ns.txt", "9223372036854775807\n9223372036854775807\n50\n", "63 bits");
	refused("samples/c.calls.txt", "0\n0\n5\n", "without calls");
	refused("samples/c.core_cycles.txt", "0\n0\n5\n", "without calls");
	refused("samples/c.process.txt", "1\n2\n1\n", "process 1");
	refused("samples/c.process.txt", "1\n1\n3\n", "process 2");
	refused("samples/c.ref_ticks.txt", "1\n1\n3\n", "label is core_cycles");
	refused("env/c.process.tsv", "", "empty");
	refused("env/c.process.tsv", "process\tstate\n", "header");
}

static void bad_tables(void **state)
{
	struct fm_samples s;

	(void)state;
	put_good();
	put_table("0", (const int[]){2});
	assert_fails(FM_ERR_SAMPLES, "process 2", fm_samples_read(dir.fd, "c", "core_cycles", &s));
	put_table("00", (const int[]){1, 2});
	assert_fails(FM_ERR_SAMPLES, "windows", fm_samples_read(dir.fd, "c", "core_cycles", &s));
	put_table("06", (const int[]){2, 1});
	assert_fails(FM_ERR_SAMPLES, "state", fm_samples_read(dir.fd, "c", "core_cycles", &s));
	put_table("02", (const int[]){2, -2});
	assert_fails(FM_ERR_SAMPLES, "windows", fm_samples_read(dir.fd, "c", "core_cycles", &s));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(good),
	        cmocka_unit_test(without_a_label),
	        cmocka_unit_test(bad_columns),
	        cmocka_unit_test(bad_tables),
	};
	return cmocka_run_group_tests(tests, open_dir, close_dir);
}
