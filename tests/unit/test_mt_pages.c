/* test_mt_pages.c: tests of the measuring that end on a page: what a reader sees of labels,
 * unknowns, intervals, costs and leaks; on small trees made for each case. */
#include "orchestrator/report.h"
#include "tests/unit/scratch.h"

#include "tests/unit/faketree.h"

#include <ctype.h>
#include <fts.h>

#define DASH      "\xe2\x80\x93"
#define ONE_BUILD "over processes of one build"

static struct fake fake;
static char folder[32];

/* The tree alone. */
static void make(struct fake how)
{
	int fd;

	how.about = "";
	if (how.processes == 0)
		how.processes = 6;
	snprintf(folder, sizeof folder, "/tmp/fm-mt-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_ok(fm_fs_dir(AT_FDCWD, folder, &fd));
	fake_tree_as(&fake, fd, &how);
}

/* The tree and all that is derived from it. */
static void begin(struct fake how)
{
	make(how);
	assert_ok(fm_report_tree(fake.dirfd, NULL, false));
}

static void end(void)
{
	fake_free(&fake);
	close(fake.dirfd);
	if (getenv("KEEP") == NULL)
		assert_ok(fm_fs_remove(AT_FDCWD, folder));
}

static bool contains(const char *path, const char *words)
{
	struct fm_buf text;
	bool there;

	assert_ok(fm_fs_read(fake.dirfd, path, 8u << 20, &text));
	there = strstr(text.data, words) != NULL;
	fm_buf_free(&text);
	return there;
}

static void has(const char *path, const char *words)
{
	if (!contains(path, words))
		fail_msg("%s/%s: missing: %s", folder, path, words);
}

static void lacks(const char *path, const char *words)
{
	if (contains(path, words))
		fail_msg("%s/%s: must not be there: %s", folder, path, words);
}

/* Calls what for every derived file. */
static void every_file(void (*what)(const char *path, const char *text))
{
	char *roots[] = {folder, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	unsigned files = 0;

	assert_non_null(walk);
	for (FTSENT *e; (e = fts_read(walk)) != NULL;) {
		const char *path = e->fts_path + strlen(folder);
		struct fm_buf text;

		if (e->fts_info != FTS_F || strncmp(path, "/bundles", 8) == 0 ||
		        strncmp(path, "/plan", 5) == 0)
			continue;
		assert_ok(fm_fs_read(AT_FDCWD, e->fts_path, 8u << 20, &text));
		what(path, text.data);
		fm_buf_free(&text);
		files++;
	}
	fts_close(walk);
	assert_true(files > 20);
}

/* Ticks are shown as ticks: no cycle of them in a record or on a page. */
static void mt_01_ticks_on_pages(void **state)
{
	(void)state;
	begin((struct fake){.ticks = true});
	has("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"mean_cycles\": null");
	has("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"cycles\": 0");
	lacks("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"core_cycles\"");
	has("hash-99/perf_x86_1.md", "| `Toy-512` | 32 B | " DASH " | " DASH " |");
	has("hash-99/perf_x86_1.md", "This system gave no core cycles");
	has("hash-99/perf_x86_1.md", "### Ticks of a constant clock (1000 MHz)");
	has("compare.md", "## Rank by time per byte");
	lacks("compare.md", "c/B");
	lacks("summary_x86_1.md", "core cycles in user mode");
	end();
	/* with a counter they are there */
	begin((struct fake){0});
	has("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"mean_cycles\": 1163.5");
	lacks("hash-99/perf_x86_1.md", "| `Toy-512` | 32 B | " DASH);
	end();
}

/* Cycles from wall time: only from a clock that was steady, with a tilde, never narrower than the
 * clock. */
static void mt_02_derived_on_pages(void **state)
{
	(void)state;
	begin((struct fake){.ticks = true, .clocks = 2, .iqr_ppm = 15000});
	has("hash-99/perf_x86_1.md",
	        "None: IQR / median of the core clock is 1.50 %, the limit 0.50 %.");
	has("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"derived_cycles\": null");
	lacks("hash-99/perf_x86_1.md", "| ~");
	end();
	begin((struct fake){.ticks = true, .clocks = 2});
	/* 581.75 ns at 1.998 GHz; 0.17 % of time, 0.1 % of the clock's spread, 0.01 % of its drift
	 */
	has("hash-99/perf_x86_1.md", "| `Toy-512` | 32 B | ~1162 | \xc2\xb1 0.3 % |");
	has("hash-99/perf_x86_1.md", "They join with derived cycles only.");
	has("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"derived_cycles\": {");
	end();
}

/* Two systems of unlike labels: no ratio, no rank and no column of cycles joins them; time does. */
static void mt_03_no_rank_over_labels(void **state)
{
	(void)state;
	begin((struct fake){.real = true});
	has("hash-99/compare.md",
	        "Cycles per byte are not comparable: core_cycles (x86_1) / ref_ticks (arm_1); the "
	        "tables compare time per byte alone.");
	lacks("hash-99/compare.md", "c/B");
	has("compare.md", "## Rank by time per byte");
	has("compare.md", "Time, because not every ranked system has core cycles.");
	lacks("compare.md", "c/B");
	has("hash-99/compare.md", "1.000");
	end();
}

/* Cores of two types in one data set are refused. */
static void mt_08_one_core_type(void **state)
{
	(void)state;
	make((struct fake){.mixed = true});
	assert_fails(FM_ERR_CONFLICT,
	        "system x86_1: measured on a core of type cpu_atom and on one of type cpu_core",
	        fm_report_tree(fake.dirfd, NULL, false));
	end();
}

static void no_nan(const char *path, const char *text)
{
	static const char *const words[] = {"nan", "-nan", "inf", "-inf", "-0.0", "-0", "(null)"};

	for (const char *at = text; *at != '\0'; at++) {
		if (at > text && (isalnum((unsigned char)at[-1]) || strchr("._-/#+", at[-1])))
			continue;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
			size_t n = strlen(words[i]);

			if (strncasecmp(at, words[i], n) == 0 && !isalnum((unsigned char)at[n]) &&
			        strchr("._-/:=", at[n]) == NULL)
				fail_msg("%s: '%.60s'", path, at);
		}
	}
}

/* A system without a counter and cells of one process: every page is made, what is unknown is a
 * dash or null, never a number. */
static void mt_15_unknown_is_unknown(void **state)
{
	static const char record[] = "data/x86_1/records/hash-99/Toy-512__hash_32.json";

	(void)state;
	begin((struct fake){.bare = true, .single = true, .real = true});
	every_file(no_nan);
	has(record, "\"mean_cycles\": null");
	has(record, "\"half_width_95\": null");
	lacks(record, "\"ref_ticks\": 0");
	has("hash-99/perf_x86_1.md", "| `Toy-512` | 32 B | " DASH " | " DASH " | 580 ns |");
	has("hash-99/perf_x86_1.md", "| 406 (1 \xc3\x97 406) | 580 ns | " DASH " | " DASH " |");
	lacks("hash-99/perf_x86_1.md", "Ticks of a constant clock");
	has("hash-99/perf_x86_1.html", "<svg");
	has("hash-99/compare.md", "| 32 B |");
	has("data/cells.csv", ",ns,");
	has("data/cells.json", "\"median_core_cycles\": null");
	end();
}

/* What is the same in every count shares a rank; what is not does not. */
static void mt_21_equal_costs_share_a_rank(void **state)
{
	(void)state;
	begin((struct fake){.real = true, .twin = true});
	has("compare.md", "`Toy-512` | 2.52 | 1 |");
	has("compare.md", "`Toy-1024` | 2.52 | 1 |");
	end();
	begin((struct fake){.real = true, .twin = true, .permille = 20});
	has("compare.md", "`Toy-512` | 2.57 | 2 |");
	has("compare.md", "`Toy-1024` | 2.52 | 1 |");
	end();
}

static unsigned with_interval;
static void one_build(const char *path, const char *text)
{
	size_t n = strlen(path);

	if (strcmp(path + n - 3, ".md") != 0 || strstr(text, "95 %") == NULL)
		return;
	with_interval++;
	if (strstr(text, ONE_BUILD) == NULL)
		fail_msg("%s has intervals and does not say '%s'", path, ONE_BUILD);
}

/* One build is one layout: whoever prints an interval says that it is over processes of one. */
static void mt_23_one_build(void **state)
{
	(void)state;
	begin((struct fake){.real = true});
	every_file(one_build);
	assert_true(with_interval >= 7); /* four of candidates, two of summaries, the ranks */
	has("hash-99/compare.md", ONE_BUILD);
	end();
}

/* The same slope, another cost of the call: both are printed apart. */
static void mt_27_call_cost_on_pages(void **state)
{
	(void)state;
	begin((struct fake){.fixed = 1900});
	has("hash-99/perf_x86_1.md", "| instance | per-call cost | per byte |");
	has("hash-99/perf_x86_1.md", "| `Toy-1024` | 1906 cycles | 5.02 cycles |");
	has("hash-99/perf_x86_1.md", "| `Toy-512` | 1003 cycles | 5.02 cycles |");
	end();
}

/* A predictor can learn a message that never changes: where the method is told, this is. */
static void mt_28_one_message_is_said(void **state)
{
	(void)state;
	begin((struct fake){0});
	has("method_x86_1.md", "All calls of a cell hash the same message");
	end();
}

/* A leak is named where memory is printed. */
static void mt_34_leak_on_pages(void **state)
{
	(void)state;
	begin((struct fake){.leak = true});
	has("hash-99/perf_x86_1.md", "every call keeps 232 bytes of the heap");
	has("hash-99/perf_x86_1.md", "every call keeps 65736 bytes of the heap");
	has("data/x86_1/records/hash-99/Toy-512__hash_32.json", "\"leak_bytes_per_call\": 232");
	end();
	begin((struct fake){0});
	lacks("hash-99/perf_x86_1.md", "every call keeps");
	end();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(mt_01_ticks_on_pages),
	        cmocka_unit_test(mt_02_derived_on_pages),
	        cmocka_unit_test(mt_03_no_rank_over_labels),
	        cmocka_unit_test(mt_08_one_core_type),
	        cmocka_unit_test(mt_15_unknown_is_unknown),
	        cmocka_unit_test(mt_21_equal_costs_share_a_rank),
	        cmocka_unit_test(mt_23_one_build),
	        cmocka_unit_test(mt_27_call_cost_on_pages),
	        cmocka_unit_test(mt_28_one_message_is_said),
	        cmocka_unit_test(mt_34_leak_on_pages),
	};

	choose_tests(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
