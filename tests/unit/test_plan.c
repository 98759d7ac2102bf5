/* test_plan.c: what is planned is written, sealed, read back the same; a changed plan folder or
 * source is noticed. */
#include "agent/jobplan.h"
#include "orchestrator/plan_parts.h"
#include "protocol/digest.h"
#include "protocol/seal.h"
#include "tests/unit/scratch.h"

static const char fleet[] = "[x86_1]\narch = x86_64\ncounter = raw\nabout = one "
                            "core\n[arm_1]\narch = aarch64\ncpu = 3\n";

static struct fm_options options(void)
{
	struct fm_options o = {.root = FM_TEST_ROOT,
	        .profile = "smoke",
	        .kat = "standard",
	        .versions = "reference",
	        .candidates = "hash-31,iccs"};

	return o;
}

static int make(const struct fm_options *o, const char *inventory, struct fm_plan *out)
{
	struct fm_inventory inv;
	struct scratch s;
	char path[200];
	int rc;

	scratch_open(&s);
	scratch_put(&s, "fleet.ini", inventory);
	snprintf(path, sizeof path, "%s/fleet.ini", s.path);
	assert_ok(fm_inventory_load(path, &inv));
	scratch_close(&s);
	rc = fm_plan_make(o, &inv, "demo", out);
	fm_inventory_free(&inv);
	return rc;
}

static struct fm_identity *identity(unsigned char first)
{
	unsigned char seed[32] = {first};
	struct fm_identity *id = NULL;

	assert_ok(fm_identity_from_seed(seed, &id));
	return id;
}

/* As `run` does it: keys, nonce, stamps. */
static void finish(struct fm_plan *p)
{
	for (size_t i = 0; i < p->system_count; i++) {
		struct fm_identity *id = identity((unsigned char)(i + 1));

		p->systems[i].key = *fm_identity_public(id);
		fm_identity_free(id);
	}
	memset(p->nonce, 'a', 64);
	snprintf(p->issued_at, sizeof p->issued_at, "2026-01-02T03:04:05Z");
	snprintf(p->expires_at, sizeof p->expires_at, "2026-04-02T03:04:05Z");
}

static void cells_are_planned(void **state)
{
	struct fm_options o = options();
	struct fm_plan p;

	(void)state;
	assert_ok(make(&o, fleet, &p));
	assert_int_equal(p.system_count, 2);
	assert_int_equal(p.cell_count, 2 * 17 * FM_SIZES);
	assert_string_equal(p.cells[0], "arm_1/hash-31/ZC-DMC-1280-1024/reference/hash_1024");
	for (size_t i = 1; i < p.cell_count; i++)
		assert_true(strcmp(p.cells[i - 1], p.cells[i]) < 0);
	assert_int_equal(p.publish, 0);
	assert_int_equal(p.systems[1].cpu, 3);
	assert_true(p.systems[0].raw && !p.systems[1].raw);
	assert_true(fm_hex64_ok(p.agent_source_sha256));
	/* standard runs two of the four files */
	assert_int_equal(p.candidates.list[0].instances[0].kat_count, 2);
	fm_plan_free(&p);
	o.kat = "full";
	o.profile = "guide";
	o.versions = "reference,resource";
	assert_ok(make(&o, fleet, &p));
	assert_int_equal(p.candidates.list[0].instances[0].kat_count, 4);
	assert_int_equal(p.cell_count, 4 * 17 * FM_SIZES);
	assert_int_equal(p.publish, 1);
	fm_plan_free(&p);
	o.kat = "loop";
	assert_ok(make(&o, fleet, &p));
	assert_int_equal(p.candidates.list[0].instances[0].kat_count, 3);
	fm_plan_free(&p);
	o.kat = "most";
	assert_int_equal(make(&o, fleet, &p), FM_ERR_USAGE);
}

static void wrong_options_are_refused(void **state)
{
	struct fm_options o = options();
	struct fm_plan p;

	(void)state;
	o.profile = "fast";
	assert_fails(FM_ERR_USAGE, "--profile: read 'fast', allowed: smoke (seconds), guide (as",
	        make(&o, fleet, &p));
	o = options();
	o.kat = "none";
	assert_fails(FM_ERR_USAGE, "--kat: read 'none'", make(&o, fleet, &p));
	o = options();
	o.versions = "reference,fast";
	assert_fails(FM_ERR_USAGE, "--versions: read 'fast'", make(&o, fleet, &p));
	o.versions = "";
	assert_fails(FM_ERR_USAGE, "--versions: read ''", make(&o, fleet, &p));
	o = options();
	o.candidates = "nope";
	assert_fails(FM_ERR_USAGE, "matches no candidate", make(&o, fleet, &p));
	assert_int_equal(p.cell_count, 0);
}

static void written_sealed_and_read_back(void **state)
{
	struct fm_options o = options();
	struct fm_identity *controller = identity(9);
	struct fm_buf json = FM_BUF_INIT(FM_PLAN_FILE_MAX), again = FM_BUF_INIT(FM_PLAN_FILE_MAX);
	struct fm_plan p, q;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	assert_ok(make(&o, fleet, &p));
	finish(&p);
	assert_ok(fm_plan_write(&p, s.fd, controller));
	assert_ok(fm_seal_check(s.fd, FM_SEAL_PLAN, fm_identity_public(controller), NULL, NULL));
	assert_ok(fm_plan_read(s.fd, &q));
	assert_ok(fm_plan_json(&p, &json));
	assert_ok(fm_plan_json(&q, &again));
	assert_string_equal(json.data, again.data);
	assert_ok(fm_plan_same(&q, &p));
	assert_string_equal(q.candidates.list[0].sources.data, p.candidates.list[0].sources.data);
	assert_string_equal(q.candidates.list[1].vectors.data, p.candidates.list[1].vectors.data);
	assert_string_equal(q.candidates.list[1].instances[0].vectors_sha256,
	        p.candidates.list[1].instances[0].vectors_sha256);
	fm_buf_free(&json);
	fm_buf_free(&again);
	fm_plan_free(&p);
	fm_plan_free(&q);
	fm_identity_free(controller);
	scratch_close(&s);
}

/* The agent's own reader takes what was written, and sees the cells in the plan's order. */
static void job_text_is_what_the_agent_reads(void **state)
{
	struct fm_options o = options();
	struct fm_buf text = FM_BUF_INIT(FM_TEXT_MAX);
	struct fm_jobplan job;
	struct fm_plan p;
	size_t cell = 0;

	(void)state;
	assert_ok(make(&o, fleet, &p));
	finish(&p);
	assert_ok(fm_plan_job(&p, fm_plan_system(&p, "x86_1"), &text));
	assert_ok(fm_jobplan_parse(text.data, text.len, &job));
	while (strncmp(p.cells[cell], "x86_1/", 6) != 0)
		cell++;
	for (size_t c = 0; c < job.candidate_count; c++)
		for (size_t i = 0; i < job.candidates[c].instance_count; i++)
			for (size_t v = 0; v < job.candidates[c].instances[i].version_count; v++) {
				const struct fm_jp_version *version =
				        &job.candidates[c].instances[i].versions[v];

				for (size_t n = 0; n < version->operations.count; n++) {
					char name[300];

					snprintf(name, sizeof name, "x86_1/%s/%s/%s/%s",
					        job.candidates[c].candidate,
					        job.candidates[c].instances[i].instance,
					        version->version, version->operations.at[n]);
					assert_string_equal(name, p.cells[cell++]);
				}
			}
	assert_int_equal(cell, p.cell_count);
	fm_jobplan_free(&job);
	fm_buf_free(&text);
	fm_plan_free(&p);
}

static void excluded_architectures_have_no_cells(void **state)
{
	struct fm_options o = options();
	struct fm_plan p;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	scratch_put(&s, "algos/c1/candidate.ini",
	        "[candidate]\nid = c1\nname = n\ncategory = hash\norigin = own\n"
	        "[instance A]\ndigest_bits = 256\nheader = h.h\nsources = a.c\narch = aarch64\n"
	        "[instance B]\ndigest_bits = 256\nheader = h.h\nsources = a.c\nsources.performance "
	        "= none\n");
	scratch_put(&s, "algos/c1/a.c", "int a;\n");
	scratch_put(&s, "algos/c1/h.h", "\n");
	scratch_put(&s, "algos/flags.ini",
	        "[x86_64 reference]\nflags = -O2\n[aarch64 reference]\nflags = -O2\n[aarch64 "
	        "performance]\nflags = -O3\n"
	        "[x86_64 performance]\nflags = -O3\n[additions]\nflags = -fPIC\n[fallback]\nflags "
	        "= -O1\n");
	scratch_put(&s, "agent/a.c", "int a;\n");
	scratch_put(&s, "protocol/p.c", "int p;\n");
	o.root = s.path;
	o.candidates = NULL;
	assert_ok(make(&o, fleet, &p));
	assert_int_equal(p.cell_count, 3 * FM_SIZES); /* A on arm, B on both */
	fm_plan_free(&p);
	o.versions = "performance";
	assert_ok(make(&o, fleet, &p));
	assert_int_equal(p.cell_count, FM_SIZES); /* A on arm */
	fm_plan_free(&p);
	assert_fails(FM_ERR_CONFIG, "nothing is left to measure",
	        make(&o, "[x86_1]\narch = x86_64\n", &p));
	o.versions = "resource";
	assert_fails(
	        FM_ERR_CONFIG, "flags.ini has no section [x86_64 resource]", make(&o, fleet, &p));
	scratch_close(&s);
}

static void changes_are_named(void **state)
{
	struct fm_options o = options();
	struct fm_plan was, is;

	(void)state;
	assert_ok(make(&o, fleet, &was));
	assert_ok(make(&o, fleet, &is));
	assert_ok(fm_plan_same(&was, &is));
	is.candidates.list[0].tree_sha256[0] ^= 1;
	assert_fails(FM_ERR_CONFIG, "candidate hash-31: the source tree changed",
	        fm_plan_same(&was, &is));
	is.candidates.list[0].tree_sha256[0] ^= 1;
	is.candidates.list[1].instances[2].vectors_sha256[5] ^= 1;
	assert_fails(FM_ERR_CONFIG, "candidate iccs: known answers of pseudohash-768 changed",
	        fm_plan_same(&was, &is));
	is.candidates.list[1].instances[2].vectors_sha256[5] ^= 1;
	is.flags.list[1].flags[1] ^= 1;
	assert_fails(
	        FM_ERR_CONFIG, "algos/flags.ini [x86_64 performance]", fm_plan_same(&was, &is));
	is.flags.list[1].flags[1] ^= 1;
	is.systems[1].cpu = 0;
	assert_fails(FM_ERR_CONFIG,
	        "system arm_1: cpu changed since the campaign was planned: was 3, is 0",
	        fm_plan_same(&was, &is));
	is.systems[1].cpu = 3;
	is.systems[0].raw = false;
	assert_fails(FM_ERR_CONFIG, "system x86_1: counter", fm_plan_same(&was, &is));
	is.systems[0].raw = true;
	is.cells[3][0] ^= 1;
	assert_fails(FM_ERR_CONFIG, "the list of cells changed", fm_plan_same(&was, &is));
	fm_plan_free(&is);
	assert_ok(make(&o, "[x86_1]\narch = x86_64\ncounter = raw\n", &is));
	assert_fails(FM_ERR_CONFIG, "system arm_1 was planned and is not chosen now",
	        fm_plan_same(&was, &is));
	assert_fails(FM_ERR_CONFIG, "system arm_1 was not planned", fm_plan_same(&is, &was));
	fm_plan_free(&is);
	o.candidates = "hash-31";
	assert_ok(make(&o, fleet, &is));
	assert_fails(FM_ERR_CONFIG, "candidate iccs was planned", fm_plan_same(&was, &is));
	fm_plan_free(&is);
	o.profile = "guide";
	assert_ok(make(&o, fleet, &is));
	assert_fails(FM_ERR_CONFIG, "profile changed", fm_plan_same(&was, &is));
	fm_plan_free(&is);
	fm_plan_free(&was);
}

/* The bytes of a small good plan.json with one piece replaced. */
static int parse_with(const char *good, const char *from, const char *to)
{
	struct fm_buf text = FM_BUF_INIT(FM_PLAN_FILE_MAX);
	const char *at = from == NULL ? NULL : strstr(good, from);
	struct fm_plan p;
	int rc;

	if (from != NULL)
		if (at == NULL)
			fail_msg("not there: %s", from);
	if (at != NULL) {
		assert_ok(fm_buf_put(&text, good, (size_t)(at - good)));
		assert_ok(fm_buf_puts(&text, to));
		assert_ok(fm_buf_puts(&text, at + strlen(from)));
	} else {
		assert_ok(fm_buf_puts(&text, good));
	}
	rc = fm_plan_parse("plan.json", text.data, text.len, &p);
	fm_buf_free(&text);
	if (rc == FM_OK)
		fm_plan_free(&p);
	else
		assert_int_equal(p.cell_count, 0);
	return rc;
}

static void senseless_plans_are_refused(void **state)
{
	static const char *const bad[][3] = {
	        {"\"schema\": \"plan/1\"", "\"schema\": \"plan/2\"", "schema"},
	        {"\"campaign\": \"demo\"", "\"campaign\": \"../demo\"", "campaign"},
	        {"\"nonce\": \"aaaa", "\"nonce\": \"aaa", "nonce"},
	        {"\"profile\": \"smoke\"", "\"profile\": \"quick\"", "profile"},
	        {"\"publish\": 0", "\"publish\": 1", "publish"},
	        {"\"publish\": 0", "\"publish\": 2", "publish"},
	        {"\"publish\": 0", "\"publish\": \"0\"", "publish"},
	        {"\"issued_at\": \"2026-01-02T03:04:05Z\"",
	                "\"issued_at\": \"2026-13-02T03:04:05Z\"", "issued_at"},
	        {"\"expires_at\": \"2026-04", "\"expires_at\": \"2025-04", "expires_at"},
	        {"\"known_issues\": []", "\"known_issues\": [\n    \"x\"\n  ]", "known_issues"},
	        {"\"system\": \"x86_1\"", "\"system\": \"controller\"", "systems[0]"},
	        {"\"system\": \"x86_1\"", "\"system\": \"arm_1\"", "systems[1]"},
	        {"\"key\": \"ssh-ed25519 ", "\"key\": \"ssh-ed25518 ", "systems[0]"},
	        {"\"counter\": \"raw\"", "\"counter\": \"tsc\"", "systems[0]: counter"},
	        {"\"cpu\": 3", "\"cpu\": 5000", "systems[1]: cpu"},
	        {"\"arch\": \"aarch64\",\n      \"cpu\"", "\"arch\": \"arm\",\n      \"cpu\"",
	                "arch"},
	        {"\"digest\": \"fixed\"", "\"digest\": \"loose\"",
	                "candidates[0].instances[0]: digest"},
	        {"\"digest_bits\": 512", "\"digest_bits\": 0", "digest_bits"},
	        {"\"header\": \"Crypt", "\"header\": \"../Crypt", "header"},
	        {"\"sources\": [\n                \"zcdmc.c\"",
	                "\"sources\": [\n                \"/zcdmc.c\"", "sources"},
	        {"\"version\": \"reference\"\n            }",
	                "\"version\": \"fast\"\n            }", "version"},
	        {"\"candidate\": \"hash-31\"", "\"candidate\": \"zash-31\"", "candidate"},
	        {"\"origin\": \"own\"", "\"origin\": \"found\"", "origin"},
	        {"arm_1/hash-31/ZC-DMC-1280-1024/reference/hash_1024",
	                "arm_1/hash-31/ZC-DMC-1280-1024/reference/hash_0", ": cells: is no cell"},
	        {"arm_1/hash-31/ZC-DMC-1280-1024/reference/hash_1024",
	                "arm_1/hash-31/ZC-DMC-1280-1024/reference/hash_999",
	                ": cells: is out of order"},
	        {"arm_1/hash-31/ZC-DMC-1280-1024/reference/hash_1024",
	                "arm_0/hash-31/ZC-DMC-1280-1024/reference/hash_1024",
	                ": cells: has parts that are not in the plan"},
	        {"arm_1/hash-31/ZC-DMC-1280-1024/reference/hash_1024",
	                "arm_1/hash-31/ZC-DMC-1280-1024/performance/hash_1024",
	                ": cells: has parts"},
	        {"\"additions\"", "\"addition\"", "unknown key"},
	        {"\"fallback\": ", "\"fallbac\": ", "unknown key"},
	};
	struct fm_options o = options();
	struct fm_buf json = FM_BUF_INIT(FM_PLAN_FILE_MAX);
	struct fm_plan p;

	(void)state;
	assert_ok(make(&o, fleet, &p));
	finish(&p);
	assert_ok(fm_plan_json(&p, &json));
	fm_plan_free(&p);
	assert_ok(parse_with(json.data, NULL, NULL));
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		int rc = parse_with(json.data, bad[i][0], bad[i][1]);

		if (rc != FM_ERR_FORM || strstr(fm_error_text(), bad[i][2]) == NULL)
			fail_msg("%s: %d '%s'", bad[i][1], rc, rc == FM_OK ? "" : fm_error_text());
	}
	fm_buf_free(&json);
}

/* Writes a plan, replaces one file, reads again. */
static int read_with(const char *name, const char *from, const char *to)
{
	struct fm_options o = options();
	struct fm_identity *controller = identity(9);
	struct fm_buf text = FM_BUF_INIT(FM_PLAN_FILE_MAX), changed = FM_BUF_INIT(FM_PLAN_FILE_MAX);
	struct fm_plan p;
	struct scratch s;
	char *at;
	int rc;

	scratch_open(&s);
	assert_ok(make(&o, fleet, &p));
	finish(&p);
	assert_ok(fm_plan_write(&p, s.fd, controller));
	fm_plan_free(&p);
	assert_ok(fm_fs_read(s.fd, name, FM_PLAN_FILE_MAX, &text));
	assert_non_null(at = strstr(text.data, from));
	assert_ok(fm_buf_put(&changed, text.data, (size_t)(at - text.data)));
	assert_ok(fm_buf_puts(&changed, to));
	assert_ok(fm_buf_puts(&changed, at + strlen(from)));
	assert_ok(fm_fs_write(s.fd, name, changed.data, changed.len, 0644));
	rc = fm_plan_read(s.fd, &p);
	if (rc == FM_OK)
		fm_plan_free(&p);
	fm_identity_free(controller);
	fm_buf_free(&text);
	fm_buf_free(&changed);
	scratch_close(&s);
	return rc;
}

static void lists_must_fit_the_plan(void **state)
{
	(void)state;
	assert_fails(FM_ERR_SOURCE, "the list of hash-31",
	        read_with("SOURCES.sha256", "hash-31/zcdmc.c", "hash-31/zcdmd.c"));
	assert_fails(FM_ERR_FORM, "plan/SOURCES.sha256: line 1",
	        read_with("SOURCES.sha256", "  hash-31", "  hash-30"));
	assert_fails(FM_ERR_FORM, "plan/SOURCES.sha256: line",
	        read_with("SOURCES.sha256", "iccs/", "iccs/../"));
	assert_fails(FM_ERR_FORM, "plan/kat.sha256",
	        read_with("kat.sha256", "strict hash-31/", "nolen hash-31/"));
	assert_fails(FM_ERR_FORM, "plan/kat.sha256",
	        read_with("kat.sha256", "hash-31/ZC-DMC-1280-512/", "hash-31/ZC/"));
	assert_fails(FM_ERR_FORM, "not the vectors of plan.json",
	        read_with("kat.sha256", " vectors:", " vectors:1"));
	assert_fails(FM_ERR_KAT_LINES, "vectors/iccs.txt",
	        read_with("vectors/iccs.txt", "616263", "616264"));
}

static void cell_names(void **state)
{
	static const char *const bad[] = {"", "a/b/c/reference", "a/b/c/reference/hash_1/x",
	        "a/b/c/fast/hash_1", "a/b/c/reference/hash_", "a/b/c/reference/hash_0",
	        "a/b/c/reference/hash_01", "a/b/c/reference/hash_16777217", "a//c/reference/hash_1",
	        "../b/c/reference/hash_1", "a/b/c/reference/sign_1"};
	struct fm_cell cell;

	(void)state;
	assert_ok(fm_cell_parse("a/b/c/resource/hash_16777216", &cell));
	assert_string_equal(cell.instance, "c");
	assert_int_equal(cell.bytes, 16777216);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_fails(FM_ERR_FORM, "is no cell", fm_cell_parse(bad[i], &cell));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(cells_are_planned),
	        cmocka_unit_test(wrong_options_are_refused),
	        cmocka_unit_test(written_sealed_and_read_back),
	        cmocka_unit_test(job_text_is_what_the_agent_reads),
	        cmocka_unit_test(excluded_architectures_have_no_cells),
	        cmocka_unit_test(changes_are_named),
	        cmocka_unit_test(senseless_plans_are_refused),
	        cmocka_unit_test(lists_must_fit_the_plan),
	        cmocka_unit_test(cell_names),
	};

	if (fm_crypto_init() != FM_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
