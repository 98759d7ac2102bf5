/* test_report.c: everything derived from a small tree: same bytes again, labels kept apart,
 * failures said, foreign text kept text. */
#include "orchestrator/report.h"
#include "tests/unit/scratch.h"

#include "tests/unit/faketree.h"
#include <locale.h>

static char folder[] = "/tmp/fm-report-XXXXXX";
static struct fake fake;

static int make(void **state)
{
	int fd;

	(void)state;
	if (mkdtemp(folder) == NULL || (fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return -1;
	fake_tree(&fake, fd, 5, false, "a | b <i> `c`");
	return 0;
}

static int drop(void **state)
{
	(void)state;
	fake_free(&fake);
	close(fake.dirfd);
	return getenv("KEEP") != NULL ? 0 : fm_fs_remove(AT_FDCWD, folder);
}

static char *text_of(const char *path)
{
	struct fm_buf b;
	MUST(fm_fs_read(fake.dirfd, path, 8u << 20, &b));
	return b.data;
}

static void has(const char *path, const char *words, bool there)
{
	char *text = text_of(path);
	if ((strstr(text, words) != NULL) != there)
		fail_msg("%s: %s: %s", path, there ? "missing" : "must not be there", words);
	free(text);
}

static void same_bytes_again(void **state)
{
	(void)state;
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	MUST(fm_report_tree(fake.dirfd, NULL, true));
	setenv("TZ", "Asia/Kathmandu", 1);
	setlocale(LC_ALL, "");
	MUST(fm_report_tree(fake.dirfd, NULL, true));
	MUST(fm_fs_write(fake.dirfd, "hash-99/compare.md", "x", 1, 0644));
	assert_int_equal(fm_report_tree(fake.dirfd, NULL, true), FM_ERR_DIGEST);
	assert_non_null(strstr(fm_error_text(), "hash-99/compare.md"));
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	MUST(fm_fs_write(fake.dirfd, "data/x86_1/records/hash-99/planted.json", "x", 1, 0644));
	assert_int_equal(fm_report_tree(fake.dirfd, NULL, true), FM_ERR_DIGEST);
	assert_non_null(strstr(fm_error_text(), "planted.json"));
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	MUST(fm_fs_write(fake.dirfd, "planted.html", "x", 1, 0644));
	assert_int_equal(fm_report_tree(fake.dirfd, NULL, true), FM_ERR_DIGEST);
	assert_non_null(strstr(fm_error_text(), "planted.html"));
	MUST(fm_fs_remove(fake.dirfd, "planted.html"));
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	MUST(fm_report_tree(fake.dirfd, NULL, true));
}

/* data/ is a data set in the published form: read strictly, every statistic recomputed, pages made
 * from it. */
static void data_stands_alone(void **state)
{
	char data[64], out[64], other[128];

	(void)state;
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	snprintf(data, sizeof data, "%s/data", folder);
	snprintf(out, sizeof out, "%s.out", folder);
	MUST(fm_report_data(data, FM_TEST_ROOT, "published", out, false));
	MUST(fm_report_data(data, FM_TEST_ROOT, "published", out, true));
	snprintf(other, sizeof other, "%s/hash-99/perf_x86_1.md", out);
	struct fm_buf b;
	MUST(fm_fs_read(AT_FDCWD, other, 1u << 20, &b));
	assert_non_null(strstr(b.data,
	        "| `Toy-512` | 32 B | 1163 | 36.3 | 581 ns | 55.0 | 2030 (5 \xc3\x97 406) |"));
	assert_null(strstr(b.data, "ngcc-harness"));
	fm_buf_free(&b);
	MUST(fm_fs_remove(AT_FDCWD, out));
}

/* The base of the comparison is kept, and can be another system. */
static void another_base(void **state)
{
	(void)state;
	MUST(fm_report_tree(fake.dirfd, "arm_1", false));
	MUST(fm_report_tree(fake.dirfd, NULL, true));
	has("hash-99/compare.md", "Base of the ratios: arm_1", true);
	assert_int_equal(fm_report_tree(fake.dirfd, "mips_1", false), FM_ERR_USAGE);
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	has("hash-99/compare.md", "Base of the ratios: x86_1", true);
}

static void labels_stay_apart(void **state)
{
	(void)state;
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	/* ticks never come into a cycles field */
	has("data/arm_1/records/hash-99/Toy-512__hash_32.json", "\"mean_cycles\": null", true);
	has("data/arm_1/records/hash-99/Toy-512__hash_32.json", "\"cycles\": 0", true);
	has("data/arm_1/records/hash-99/Toy-512__hash_32.json", "\"ref_ticks\"", true);
	has("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"mean_cycles\": 1163.0,", true);
	has("hash-99/perf_arm_1.md", "| `Toy-512` | 32 B | \xe2\x80\x93 | \xe2\x80\x93 |", true);
	has("hash-99/perf_arm_1.md", "### Ticks of a constant clock (1000 MHz)", true);
	has("hash-99/perf_arm_1.md", "EMULATED: times not comparable", true);
	has("hash-99/perf_x86_1.md", "EMULATED", false);
	has("hash-99/compare.md", "not comparable: emulated", true);
	has("hash-99/compare.md", "not comparable: core_cycles (x86_1) / ref_ticks (arm_1)", true);
	has("compare.md", "All cells of arm_1: emulated.", true);
	has("hash-99/perf_x86_1.md", "Not for publication", false);
}

static void failures_are_said(void **state)
{
	(void)state;
	has("hash-99/perf_arm_1.md", "| `Toy-1024` | 65536 B | failed: measure |", true);
	has("hash-99/perf_arm_1.md", "three processes in a row were invalid", true);
	has("hash-99/compare.md", "failed: measure", true);
	has("hash-99/perf_x86_1.md", "outlier 1 of 5", true);
	/* the single processes of a flagged cell, and of no other */
	has("hash-99/perf_x86_1.md",
	        "### Flagged cells\n\n| instance | message | means of the processes, in the order "
	        "they ran |\n|---|---|---|\n| `Toy-512` | 1024 B | 6126, 12.3 k, 6144, 6150, 6156 "
	        "|\n\n[Chart: Processes of flagged cells",
	        true);
	has("hash-99/perf_x86_1.html", "Toy-512, 1024 B: outlier 1 of 5", true);
	has("iccs/perf_x86_1.md", "Flagged cells", false);
	has("hash-99/perf_x86_1.md", "| `Toy-512` | 1024 B | 3 | superseded | preempted |", true);
	has("hash-99/perf_arm_1.md", "None: every trial of a measured cell counts.", true);
	has("hash-99/perf_x86_1.md", "PASS, 2 of 4 files", true);
	has("hash-99/perf_x86_1.md", "KAT_2_33, KAT_Loop", true);
	has("iccs/perf_x86_1.md", "PASS by 7 vectors", true);
	has("summary_x86_1.md", "PASS, 2 of 4 files", true);
	/* and on every other page that lists libraries */
	has("index.md", "[x86_1](hash-99/perf_x86_1.md): 2 \xc3\x97 PASS, 2 of 4 files |", true);
	has("index.html", "PASS, 2 of 4 files", true);
	has("hash-99/compare.md", "Known answers: PASS, 2 of 4 files.", true);
	has("hash-99/compare.html", "Known answers: PASS, 2 of 4 files.", true);
	has("compare.md", "| PASS, 2 of 4 files |", true);
	has("compare.html", "PASS, 2 of 4 files", true);
	/* properties are shown, as text; nothing is said of a library that was not looked at */
	has("hash-99/perf_x86_1.md", "| `Toy-512` | heap: \\<b\\>17 bytes\\</b\\> \\| stay |",
	        true);
	has("hash-99/perf_x86_1.md", "| `Toy-1024` | not checked |", true);
	has("iccs/perf_x86_1.md", "Beyond the known answers", false);
	/* every size against pseudoXOF of the same width, but never an emulated one */
	has("summary_x86_1.md", "## Ratio to pseudoXOF", true);
	has("summary_x86_1.md", "| hash-99 | `Toy-1024` | \xe2\x80\x93 |", true);
	has("summary_arm_1.md", "| hash-99 | `Toy-512` | \xe2\x80\x93 |", true);
	has("index.md", "| 9 | 0 | 0 | 0 |", true);
	has("index.md", "| 8 | 1 | 0 | 0 |", true);
}

/* Plain tables: a row per cell and per process, nothing left out, ticks in a column of their own.
 */
static void exports(void **state)
{
	char *text;
	size_t lines = 0;

	(void)state;
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	text = text_of("data/cells.csv");
	for (const char *s = text; (s = strchr(s, '\n')) != NULL; s++)
		lines++;
	free(text);
	assert_int_equal(lines, 19); /* names and 18 cells */
	has("data/cells.csv", "system,candidate,instance,label,version,operation,input_bytes,state",
	        true);
	has("data/cells.csv",
	        "\narm_1,hash-99,Toy-1024,Toy-1024,reference,hash_65536,65536,failed,measure,"
	        "failed,PASS,guide,,TRUE,FALSE,,,,,",
	        true);
	has("data/cells.csv", ",core_cycles,FALSE,TRUE,2,5,2030,", true);
	has("data/cells.csv", ",ref_ticks,TRUE,FALSE,2,5,2030,", true);
	has("data/cells.json", "\"median_core_cycles\": null", true);
	has("data/cells.json", "\"ref_ticks_hz\": 1000000000.0", true);
	has("data/processes.csv",
	        "\nx86_1,hash-99,Toy-512,Toy-512,reference,hash_1024,1024,superseded,preempted,3,",
	        true);
	has("index.md", "[data/cells.csv](data/cells.csv)", true);
	MUST(fm_fs_write(fake.dirfd, "data/cells.json", "{}", 2, 0644));
	assert_int_equal(fm_report_tree(fake.dirfd, NULL, true), FM_ERR_DIGEST);
	assert_non_null(strstr(fm_error_text(), "data/cells.json"));
	MUST(fm_report_tree(fake.dirfd, NULL, false));
	MUST(fm_report_tree(fake.dirfd, NULL, true));
}

static void foreign_text_stays_text(void **state)
{
	(void)state;
	has("hash-99/perf_x86_1.md", "Toy \\<b\\>CPU\\</b\\> \\| \\`x\\`", true);
	has("hash-99/perf_x86_1.html", "Toy &lt;b&gt;CPU&lt;/b&gt; | `x`", true);
	has("hash-99/perf_x86_1.html", "<b>", false);
	has("hash-99/compare.html", "Toy &lt;Hash&gt; | `Family`", true);
	has("method_x86_1.html", "a | b &lt;i&gt; `c`", true);
	has("hash-99/perf_x86_1.html", "<script", false);
	has("hash-99/perf_x86_1.html", "default-src 'none'; style-src 'unsafe-inline'", true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(same_bytes_again),
	        cmocka_unit_test(data_stands_alone),
	        cmocka_unit_test(another_base),
	        cmocka_unit_test(labels_stay_apart),
	        cmocka_unit_test(failures_are_said),
	        cmocka_unit_test(exports),
	        cmocka_unit_test(foreign_text_stays_text),
	};
	return cmocka_run_group_tests(tests, make, drop);
}
