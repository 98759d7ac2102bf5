/* test_evidence.c: evidence.json of a genuine bundle, and every way a field can be wrong. */
#include "orchestrator/evidence.h"
#include "tests/attack/world.h"
#include "tests/unit/scratch.h"

static struct scratch home, work;
static struct fm_buf good; /* text of a genuine evidence.json */

static int setup(void **state)
{
	const struct world_size size = {1, 1, 1, 2, "smoke"};
	struct world *w;

	(void)state;
	scratch_open(&home);
	scratch_open(&work);
	assert_ok(world_open(home.path, &size, &w));
	assert_ok(world_answer(w, 0, 0, WORLD_CELL_MISSING));
	assert_ok(fm_fs_read(world_tree(w), "bundles/x86_1/tiny-1/evidence.json", 4u << 20, &good));
	world_close(w);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fm_buf_free(&good);
	scratch_close(&home);
	scratch_close(&work);
	return 0;
}

/* Writes the genuine text with the first `from` replaced. */
static void put_changed(const char *from, const char *to)
{
	struct fm_buf text = FM_BUF_INIT(8u << 20);
	const char *at = strstr(good.data, from);

	assert_non_null(at);
	assert_ok(fm_buf_printf(
	        &text, "%.*s%s%s", (int)(at - good.data), good.data, to, at + strlen(from)));
	assert_ok(fm_fs_write(work.fd, "evidence.json", text.data, text.len, 0644));
	fm_buf_free(&text);
}

static void refused(const char *from, const char *to, const char *words)
{
	struct fm_evidence e;

	put_changed(from, to);
	if (fm_evidence_read(work.fd, &e) == FM_OK)
		fail_msg("read in spite of %s", to);
	assert_fails(FM_ERR_FORM, words, fm_evidence_read(work.fd, &e));
	assert_null(e.owner);
	assert_null(e.cells);
}

static void read_all(void **state)
{
	struct fm_evidence e;

	(void)state;
	put_changed("\"attempt\"", "\"attempt\"");
	assert_ok(fm_evidence_read(work.fd, &e));
	assert_string_equal(e.system, "x86_1");
	assert_string_equal(e.counter.label, "core_cycles");
	assert_null(e.test_world);
	assert_int_equal(e.attempt, 1);
	assert_int_equal(e.build_count, 2);
	assert_int_equal(e.kat_count, 2);
	assert_int_equal(e.cell_count, 4);
	assert_int_equal(e.measured_count, 3);
	assert_int_equal(e.memory_count, 3);
	assert_int_equal(e.check_count, 1);
	assert_int_equal(e.clock_count, 2);
	assert_int_equal(e.toolchain_count, 4);
	assert_int_equal(e.measured[0].accepted, 2);
	assert_int_equal(e.measured[0].replaced, 1);
	assert_int_equal(e.measured[0].mark_count, 0);
	assert_int_equal(e.memory[0].stack_touched_bytes, 400);
	assert_int_equal(e.memory[0].unaccounted_mapping_bytes, -1);
	assert_null(e.memory[0].isolated_ram_upper_bytes_why);
	assert_string_equal(e.cells[3].status, "missing");
	fm_evidence_free(&e);
	fm_evidence_free(&e); /* again: empty */
}

static void optional(void **state)
{
	struct fm_evidence e;
	char hex[65], line[200];

	(void)state;
	memset(hex, 'a', 64);
	hex[64] = '\0';
	(void)snprintf(line, sizeof line, ",\n  \"test_world\": \"%s\",\n  \"toolchain\"", hex);
	put_changed(",\n  \"toolchain\"", line);
	assert_ok(fm_evidence_read(work.fd, &e));
	assert_string_equal(e.test_world, hex);
	fm_evidence_free(&e);
	put_changed("\"unwind_bytes\"",
	        "\"unaccounted_mapping_bytes\": 9,\n        \"unwind_bytes\"");
	assert_ok(fm_evidence_read(work.fd, &e));
	assert_int_equal(e.memory[0].unaccounted_mapping_bytes, 9);
	fm_evidence_free(&e);
	/* the words that stand in place of a figure are kept for the pages */
	put_changed("\"isolated_ram_upper_bytes\": 424",
	        "\"isolated_ram_upper_bytes_why\": \"signal\"");
	assert_ok(fm_evidence_read(work.fd, &e));
	assert_int_equal(e.memory[0].isolated_ram_upper_bytes, -1);
	assert_string_equal(e.memory[0].isolated_ram_upper_bytes_why, "signal");
	fm_evidence_free(&e);
}

/* A reason stands in place of its field, and only there. */
static void reasons(void **state)
{
	struct fm_evidence e;

	(void)state;
	put_changed("\"microcode\": \"0x1\"", "\"microcode_why\": \"not told\"");
	assert_ok(fm_evidence_read(work.fd, &e));
	assert_string_equal(e.host.microcode, "");
	fm_evidence_free(&e);
	put_changed("\"epoch\": 1", "\"epoch_why\": \"not told\"");
	assert_ok(fm_evidence_read(work.fd, &e));
	assert_int_equal(e.host.epoch, -1);
	fm_evidence_free(&e);
	refused("\"microcode\": \"0x1\"",
	        "\"microcode\": \"0x1\",\n    \"microcode_why\": \"not told\"", "microcode_why");
	refused("\"microcode\": \"0x1\"", "\"microcode_why\": 1", "microcode_why");
	refused("\"schema\": \"evidence/1\"", "\"schema_why\": \"none\"", "schema");
	refused("\"libraries\": []", "\"libraries_why\": \"none\"", "libraries_why");
	refused("\"microcode\": \"0x1\"", "\"microcode_whyy\": \"not told\"", "unknown field");
	refused("\"microcode\": \"0x1\"",
	        "\"microcode\": \"0x1\",\n    \"microcode_why_why\": \"x\"", "unknown field");
}

static void wrong_fields(void **state)
{
	(void)state;
	refused("\"schema\": \"evidence/1\"", "\"schema\": \"evidence/2\"", "schema");
	refused("\"attempt\": 1", "\"attempt\": \"1\"", "attempt");
	refused("\"attempt\": 1,", "\"attempt\": 1,\n  \"attempts\": 1,", "attempts");
	refused("\"attempt\": 1,", "\"attempt\": 9007199254740992,", "2^53");
	refused("  \"attempt\": 1,\n", "", "attempt");
	refused("\"system\": \"x86_1\"", "\"system\": \"x86/1\"", "system");
	refused("\"system\": \"x86_1\"", "\"system\": []", "system");
	refused("\"order_seed\": \"", "\"order_seed\": \"0", "order_seed");
	refused("\"started_at\": \"2", "\"started_at\": \"x", "started_at");
	refused("\"severity\": \"mark\"", "\"severity\": \"mar\"", "severity");
	refused("\"severity\": \"mark\"", "\"severity\": \"\"", "severity");
	refused("\"severity\": \"mark\"", "\"severity\": \"mark note\"", "severity");
	refused("\"severity\": \"mark\"", "\"severity\": \"marks\"", "severity");
	refused("\"status\": \"missing\"", "\"status\": \"lost\"", "status");
	refused("\"marks\": []", "\"marks\": {}", "marks");
	refused("\"marks\": []", "\"marks\": [\n          1\n        ]", "must be a string");
	refused("\"rejected\": []", "\"rejected\": [\n        []\n      ]", "must be a string");
	refused("\"libraries\": []", "\"libraries\": [\n    1\n  ]", "must be an object");
	refused("\"libraries\": []", "\"libraries\": [\n    {}\n  ]", "name");
	refused("\"libraries\": []", "\"libraries\": {}", "libraries");
	refused("\"isolation\": {", "\"isolation\": {\n    \"chroot\": 1,", "chroot");
	refused("\"os\": \"D", "\"os\": \"D\\u0000", "");
}

static void depth(void **state)
{
	(void)state;
	refused("\"libraries\": []",
	        "\"libraries\": [\n    [\n      [\n        [\n          [\n            [\n       "
	        "       [\n                []\n              ]\n            ]\n          ]\n       "
	        " ]\n  "
	        "    ]\n    ]\n  ]",
	        "");
}

static void no_file(void **state)
{
	struct fm_evidence e;

	(void)state;
	assert_ok(fm_fs_remove(work.fd, "evidence.json"));
	assert_int_not_equal(fm_evidence_read(work.fd, &e), FM_OK);
	assert_null(e.owner);
	assert_ok(fm_fs_write(work.fd, "evidence.json", "", 0, 0644));
	assert_int_equal(fm_evidence_read(work.fd, &e), FM_ERR_FORM);
	assert_ok(fm_fs_remove(work.fd, "evidence.json"));
	assert_int_equal(mkfifoat(work.fd, "evidence.json", 0600), 0);
	assert_int_equal(fm_evidence_read(work.fd, &e), FM_ERR_FORM);
	assert_ok(fm_fs_remove(work.fd, "evidence.json"));
}

static void reason_words(void **state)
{
	(void)state;
	assert_true(fm_reason_ok("host-state", "no_space"));
	assert_true(fm_reason_ok("kat", "failed2"));
	assert_false(fm_reason_ok("", "failed"));
	assert_false(fm_reason_ok("kat", ""));
	assert_false(fm_reason_ok("kat", "two words"));
	assert_false(fm_reason_ok("Kat", "failed"));
	assert_false(fm_reason_ok("kat", "abcdefghijklmnopqrstuvwx"));
	assert_true(fm_reason_ok("kat", "abcdefghijklmnopqrstuvw"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(read_all), cmocka_unit_test(optional),
	        cmocka_unit_test(reasons), cmocka_unit_test(wrong_fields), cmocka_unit_test(depth),
	        cmocka_unit_test(no_file), cmocka_unit_test(reason_words)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
