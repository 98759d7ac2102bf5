/* test_options.c: the command line is read by its table; campaign files preset what it leaves open.
 */
#include "orchestrator/options.h"
#include "tests/unit/scratch.h"

static const struct fm_command commands[] = {
        {"run", "[NAME]", "runs", "", "campaign versions kat results root", true, NULL},
        {"verify", "TREE [TREE]", "checks", "", "key", true, NULL},
        {"enrol", "SYSTEM...", "enrols", "", "yes fingerprint", false, NULL},
        {"check", "", "looks", "", "strict", true, NULL},
        {NULL, NULL, NULL, NULL, NULL, false, NULL},
};

/* Splits words at spaces and parses them; words stay alive until the next call. */
static int parse(const char *words, struct fm_command_line *out)
{
	static char text[400], *argv[40];
	char *save = NULL;
	int argc = 0;

	snprintf(text, sizeof text, "fleetmark %s", words);
	for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	return fm_options_parse(argc, argv, commands, out);
}

static void options_and_operands(void **state)
{
	struct fm_command_line l;

	(void)state;
	assert_ok(parse(
	        "-q run -i fleet.ini --profile=smoke -j 4 demo -vv --json -larm_* --dry-run", &l));
	assert_string_equal(l.command->name, "run");
	assert_string_equal(l.options.inventory, "fleet.ini");
	assert_string_equal(l.options.profile, "smoke");
	assert_string_equal(l.options.limit, "arm_*");
	assert_string_equal(l.options.name, "demo");
	assert_int_equal(l.options.jobs, 4);
	assert_int_equal(l.options.verbose, 2);
	assert_true(l.options.json && l.options.quiet && l.options.dry_run && !l.options.yes);
	assert_ok(parse("enrol a b -- -c", &l));
	assert_int_equal(l.options.argc, 3);
	assert_string_equal(l.options.argv[2], "-c");
	assert_null(l.options.name);
	assert_ok(parse("run", &l));
	assert_null(l.options.name);
	assert_ok(parse("", &l));
	assert_null(l.command);
	assert_ok(parse("--version", &l));
	assert_true(l.version);
	assert_ok(parse("verify --help", &l)); /* help before complaints */
	assert_true(l.help);
	assert_string_equal(l.command->name, "verify");
}

static void wrong_usage_is_told(void **state)
{
	static const char *const bad[][2] = {
	        {"launch", "unknown command 'launch'"},
	        {"run --profil smoke", "unknown option '--profil'"},
	        {"run -x", "unknown option '-x'"},
	        {"run -qx", "unknown option '-qx'"},
	        {"run --inventory", "--inventory needs a value: FILE"},
	        {"run -i", "--inventory needs a value"},
	        {"run --inventory=", "--inventory: empty"},
	        {"run --json=1", "--json takes no value"},
	        {"run -i a -i b", "--inventory was given twice"},
	        {"run -j 0", "--jobs: read '0', allowed are whole numbers from 1 to 128"},
	        {"run -j 129", "--jobs: read '129'"},
	        {"run -j 4x", "--jobs: read '4x'"},
	        {"run a b", "'b' is too much; usage: fleetmark run [NAME]"},
	        {"run ../x", "campaign: read '../x'"},
	        {"check x", "'x' is too much"},
	        {"verify", "something is missing; usage: fleetmark verify TREE [TREE]"},
	        {"verify a b c", "'c' is too much"},
	        {"enrol", "something is missing"},
	        {"check --yes", "check takes no --yes"},
	        {"verify a --results x", "verify takes no --results"},
	};
	struct fm_command_line l;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		int rc = parse(bad[i][0], &l);

		if ((rc != FM_ERR_USAGE && rc != FM_ERR_NAME) ||
		        strstr(fm_error_text(), bad[i][1]) == NULL)
			fail_msg("%s: %d '%s'", bad[i][0], rc, rc == FM_OK ? "" : fm_error_text());
		assert_int_equal(fm_error_status(rc), 2);
	}
}

/* Every option of a command exists; letters and names are unique. */
static void the_table_is_sound(void **state)
{
	(void)state;
	for (const struct fm_option *a = fm_option_table; a->name != NULL; a++) {
		assert_true((a->value == NULL) ==
		            (a->kind == FM_OPTION_FLAG || a->kind == FM_OPTION_COUNT));
		assert_true(strlen(a->help) > 0);
		for (const struct fm_option *b = a + 1; b->name != NULL; b++) {
			assert_string_not_equal(a->name, b->name);
			assert_true(a->letter == 0 || a->letter != b->letter);
			assert_true(a->offset != b->offset);
		}
	}
}

static void defaults(void **state)
{
	struct fm_options o = {.json = false};
	struct scratch s;
	char *here = getcwd(NULL, 0);

	(void)state;
	scratch_open(&s);
	assert_int_equal(chdir(s.path), 0);
	assert_int_equal(unsetenv("FLEETMARK_INVENTORY"), 0);
	assert_ok(fm_options_finish(&o));
	assert_null(o.inventory);
	assert_string_equal(o.profile, "guide");
	assert_string_equal(o.kat, "standard");
	assert_string_equal(o.versions, "reference");
	assert_string_equal(o.results, "results");
	assert_non_null(o.root);
	scratch_put(&s, "fleetmark.ini", "");
	assert_ok(fm_options_finish(&o));
	assert_string_equal(o.inventory, "fleetmark.ini");
	o.inventory = NULL;
	assert_int_equal(setenv("FLEETMARK_INVENTORY", "/x/y.ini", 1), 0);
	assert_ok(fm_options_finish(&o));
	assert_string_equal(o.inventory, "/x/y.ini");
	assert_int_equal(unsetenv("FLEETMARK_INVENTORY"), 0);
	assert_int_equal(chdir(here), 0);
	free(here);
	scratch_close(&s);
}

static int read_file(const char *text, struct fm_options *o)
{
	struct scratch s;
	char path[200];
	int rc;

	scratch_open(&s);
	scratch_put(&s, "c.ini", text);
	snprintf(path, sizeof path, "%s/c.ini", s.path);
	rc = fm_campaign_file(path, o);
	scratch_close(&s);
	return rc;
}

static void campaign_files(void **state)
{
	struct fm_options o = {.profile = "guide"};

	(void)state;
	assert_ok(read_file(
	        "[campaign]\nname = winter\ninventory = fleet.ini\nsystems = x86_1, arm_*\n"
	        "candidates = hash-31 iccs\nversions = reference\nprofile = smoke\nkat = full\n",
	        &o));
	assert_string_equal(o.name, "winter");
	assert_string_equal(o.limit, "x86_1,arm_*");
	assert_string_equal(o.candidates, "hash-31,iccs");
	assert_string_equal(o.kat, "full");
	assert_string_equal(o.profile, "guide");            /* the command line had said so */
	assert_non_null(strstr(o.inventory, "/fleet.ini")); /* beside the file */
	assert_fails(FM_ERR_CONFIG,
	        "c.ini:2: unknown key 'nam' in [campaign]; allowed: name, inventory",
	        read_file("[campaign]\nnam = x\n", &o));
	assert_fails(
	        FM_ERR_CONFIG, "c.ini:1: unknown section [campain]", read_file("[campain]\n", &o));
	assert_fails(FM_ERR_CONFIG, "c.ini:2: name: allowed are",
	        read_file("[campaign]\nname = a b\n", &o));
	assert_fails(FM_ERR_CONFIG, "c.ini:2: systems: empty",
	        read_file("[campaign]\nsystems = , ,\n", &o));
	assert_fails(FM_ERR_CONFIG, "c.ini:2: kat: empty", read_file("[campaign]\nkat =\n", &o));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(options_and_operands),
	        cmocka_unit_test(wrong_usage_is_told),
	        cmocka_unit_test(the_table_is_sound),
	        cmocka_unit_test(defaults),
	        cmocka_unit_test(campaign_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
