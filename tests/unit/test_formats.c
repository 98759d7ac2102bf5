/* test_formats.c: every `example NAME` of protocol/FORMATS.md is taken by the program's own parser,
 * and written again where the form has one spelling. */
#include "agent/jobplan.h"
#include "agent/tune.h"
#include "agent/worker/order.h"
#include "orchestrator/evidence.h"
#include "orchestrator/jsonr.h"
#include "orchestrator/plan_parts.h"
#include "orchestrator/samples.h"
#include "orchestrator/tree.h"
#include "orchestrator/trust_parts.h"
#include "protocol/digest.h"
#include "protocol/lines.h"
#include "protocol/manifest.h"
#include "protocol/path.h"
#include "protocol/treelist.h"
#include "protocol/world.h"
#include "tests/unit/scratch.h"

struct example {
	const char *name, *text;
	size_t len;
};

/* Job text of any order: every key and value written again. */
static void job_text(const struct example *e, const char *kind)
{
	struct fm_buf again = FM_BUF_INIT(FM_TEXT_MAX);
	const char *value;
	struct fm_text t;

	assert_ok(fm_text_open(&t, kind, e->text, e->len));
	assert_ok(fm_text_begin(&again, kind));
	while (fm_text_maybe(&t, t.next, &value))
		assert_ok(fm_text_put(&again, t.key, "%s", value));
	assert_ok(fm_text_close(&t));
	assert_ok(fm_text_end(&again));
	assert_string_equal(again.data, e->text);
	fm_text_free(&t);
	fm_buf_free(&again);
}

static void check_manifest(const struct example *e)
{
	struct fm_buf again = FM_BUF_INIT(100000);
	struct fm_manifest m;

	assert_ok(fm_manifest_parse(e->text, e->len, 100, &m));
	for (size_t i = 0; i < m.count; i++)
		assert_ok(fm_buf_printf(&again, "%s  %s\n", m.entries[i].hex, m.entries[i].path));
	assert_string_equal(again.data, e->text);
	fm_manifest_free(&m);
	fm_buf_free(&again);
}

static void check_plan_json(const struct example *e)
{
	struct fm_buf again = FM_BUF_INIT(FM_PLAN_FILE_MAX);
	struct fm_plan p;

	assert_ok(fm_plan_parse("plan.json", e->text, e->len, &p));
	assert_string_equal(p.campaign, "demo");
	assert_ok(fm_plan_json(&p, &again));
	assert_string_equal(again.data, e->text);
	fm_plan_free(&p);
	fm_buf_free(&again);
}

static void check_evidence(const struct example *e)
{
	struct fm_evidence evidence;
	struct scratch s;

	scratch_open(&s);
	scratch_put(&s, "evidence.json", e->text);
	assert_ok(fm_evidence_read(s.fd, &evidence));
	assert_int_equal(evidence.measured_count, 1);
	fm_evidence_free(&evidence);
	scratch_close(&s);
}

static void check_tree(const struct example *e)
{
	struct fm_tree tree;
	struct scratch s;

	scratch_open(&s);
	scratch_put(&s, "tree.json", e->text);
	assert_ok(fm_tree_read(s.fd, &tree));
	assert_int_equal(tree.job_count, 1);
	fm_tree_free(&tree);
	scratch_close(&s);
}

static void check_trust(const struct example *e)
{
	struct fm_json *doc;
	int64_t version;

	assert_ok(fm_json_read(e->name, e->text, e->len, FM_TRUST_JSON_MAX, &doc));
	assert_ok(fm_json_only(fm_json_root(doc), "issued_at schema version"));
	assert_ok(fm_json_int(fm_json_root(doc), "version", &version));
	fm_json_free(doc);
}

static void check_plan(const struct example *e)
{
	struct fm_jobplan p;

	job_text(e, "plan");
	assert_ok(fm_jobplan_parse(e->text, e->len, &p));
	assert_int_equal(p.candidate_count, 1);
	fm_jobplan_free(&p);
}

static void check_job(const struct example *e)
{
	struct fm_dispatch d;

	job_text(e, "job");
	assert_ok(fm_dispatch_parse(e->text, e->len, &d));
	assert_int_equal(d.item_count, 1);
	fm_dispatch_free(&d);
}

static void check_enrol(const struct example *e)
{
	struct fm_statement statement;

	job_text(e, "enrol");
	/* Form first, then the signature: the words say which of the two it was. */
	assert_fails(
	        FM_ERR_FORM, "signature", fm_statement_check(e->text, e->len, "", 0, &statement));
}

static void check_call(const struct example *e)
{
	job_text(e, "call");
}

static void check_reply(const struct example *e)
{
	job_text(e, "reply");
}

static void check_order(const struct example *e)
{
	struct fm_order order;

	job_text(e, "order");
	assert_ok(fm_order_parse(&order, e->text, e->len));
	fm_order_free(&order);
}

static void check_world(const struct example *e)
{
	struct fm_world world;

	job_text(e, "world");
	assert_ok(fm_world_parse(&world, e->text, e->len));
	assert_int_equal(fm_world_number(&world, "fact", "nivcsw", 1, 0), 3);
	fm_world_free(&world);
}

/* Key or value number i, NULL behind the last. */
static const char *part(const struct fm_line *l, size_t i)
{
	if (i / 2 >= l->count)
		return NULL;
	return i % 2 == 0 ? l->field[i / 2].key : l->field[i / 2].value;
}

static void check_lines(const struct example *e)
{
	struct fm_buf again = FM_BUF_INIT(e->len + 1);
	uint64_t number = 0;

	for (const char *at = e->text, *lf; *at != '\0'; at = lf + 1) {
		struct fm_line l;

		assert_non_null(lf = strchr(at, '\n'));
		assert_ok(fm_line_parse(at, (size_t)(lf - at), &l));
		assert_true(l.seq == ++number && l.count <= 8);
		assert_ok(fm_line_format(&again, l.seq, l.kind, part(&l, 0), part(&l, 1),
		        part(&l, 2), part(&l, 3), part(&l, 4), part(&l, 5), part(&l, 6),
		        part(&l, 7), part(&l, 8), part(&l, 9), part(&l, 10), part(&l, 11),
		        part(&l, 12), part(&l, 13), part(&l, 14), part(&l, 15), (char *)NULL));
	}
	assert_string_equal(again.data, e->text);
	fm_buf_free(&again);
}

static void check_treelist(const struct example *e)
{
	struct fm_buf sources = FM_BUF_INIT(FM_TREELIST_MAX);
	struct fm_manifest m;

	assert_ok(fm_treelist_sources(e->text, e->len, &sources));
	assert_ok(fm_manifest_parse(sources.data, sources.len, 100, &m));
	assert_int_equal(m.count, 2);
	fm_manifest_free(&m);
	fm_buf_free(&sources);
}

/* No parser takes a whole log: its readers look for `manifest` lines and the last line. */
static void check_katlog(const struct example *e)
{
	const char *manifest = strstr(e->text, "\nmanifest "), *last = strstr(e->text, "\nRESULT ");
	char hex[65];

	assert_non_null(manifest);
	memcpy(hex, manifest + 10, 64);
	hex[64] = '\0';
	assert_true(fm_hex64_ok(hex));
	assert_non_null(last);
	assert_string_equal(last, "\nRESULT hash-31 ZC-DMC-1280-512 PASS \n");
}

static void check_tsv(const struct example *e)
{
	struct fm_proc *rows = NULL;
	size_t count;

	assert_ok(fm_samples_table(e->name, e->text, e->len, &rows, &count));
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].column[FM_PROC_STATE], FM_STATE_REPLACED);
	assert_int_equal(rows[1].column[FM_PROC_ENTRY_MOD4096], 1216);
	free(rows);
}

static void check_signers(const struct example *e)
{
	struct fm_buf again = FM_BUF_INIT(FM_TRUST_FILE_MAX);
	struct fm_trust t = {0};

	assert_ok(fm_trust_parse_signers(e->text, e->len, &t));
	assert_int_equal(t.count, 1);
	assert_ok(fm_trust_format_signers(&t, &again));
	assert_string_equal(again.data, e->text);
	fm_trust_free(&t);
	fm_buf_free(&again);
}

/* Backwards over a machine that holds what was wanted, and again after a restart. */
static void check_tune(const struct example *e)
{
	static const char boot[] =
	        "5f2b1c0de9a8476a3b5c7d9e1f00112233445566778899aabbccddeeff001122";
	struct fm_tune_items items;
	struct fm_tune_sudo sudo = {.refused = false};
	struct scratch work, host;

	job_text(e, "tune");
	scratch_open(&work);
	scratch_open(&host);
	scratch_put(&host, "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "performance\n");
	scratch_put(&host, "sys/devices/system/cpu/cpu6/online", "0\n");
	scratch_put(&host, "proc/sys/kernel/perf_event_paranoid", "2\n");
	scratch_put(&work, FM_TUNE_STATE, e->text);
	assert_ok(fm_tune_restore(work.fd, boot, host.path, &items, &sudo));
	assert_int_equal(items.count, 3);
	assert_string_equal(
	        items.at[2].path, "/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor");
	assert_string_equal(items.at[2].outcome, "restored");
	scratch_is(&host, "proc/sys/kernel/perf_event_paranoid", "4\n");
	scratch_missing(&work, FM_TUNE_STATE);
	scratch_close(&host);
	scratch_close(&work);
}

static const struct {
	const char *name;
	void (*check)(const struct example *e);
} checks[] = {
        {"manifest", check_manifest},
        {"plan.json", check_plan_json},
        {"evidence.json", check_evidence},
        {"tree.json", check_tree},
        {"trust.json", check_trust},
        {"plan", check_plan},
        {"job", check_job},
        {"enrol", check_enrol},
        {"lines", check_lines},
        {"journal", check_lines},
        {"progress", check_lines},
        {"call", check_call},
        {"reply", check_reply},
        {"reply of an error", check_reply},
        {"treelist", check_treelist},
        {"katlog", check_katlog},
        {"order", check_order},
        {"world", check_world},
        {"process.tsv", check_tsv},
        {"allowed_signers", check_signers},
        {"tune", check_tune},
};
enum { CHECKS = sizeof checks / sizeof *checks };

static struct fm_buf document;
static struct example examples[CHECKS];

/* Cuts the document into examples; each check gets its one. */
static void find_examples(void)
{
	static const char open[] = "\n```\nexample ";
	char *at = document.data;

	while ((at = strstr(at, open)) != NULL) {
		char *name = at + strlen(open), *text = strchr(name, '\n'), *end;
		size_t i = 0;

		assert_non_null(text);
		*text++ = '\0';
		end = strstr(text, "\n```\n");
		assert_non_null(end);
		while (i < CHECKS && strcmp(checks[i].name, name) != 0)
			i++;
		if (i == CHECKS)
			fail_msg("example %s of FORMATS.md has no check here", name);
		if (examples[i].name != NULL)
			fail_msg("example %s stands twice in FORMATS.md", name);
		end[1] = '\0';
		examples[i] = (struct example){name, text, (size_t)(end + 1 - text)};
		at = end + 2;
	}
}

static void every_example(void **state)
{
	(void)state;
	for (size_t i = 0; i < CHECKS; i++) {
		if (examples[i].name == NULL)
			fail_msg("FORMATS.md has no example %s", checks[i].name);
		print_message("example %s\n", examples[i].name);
		checks[i].check(&examples[i]);
	}
}

static int init(void **state)
{
	(void)state;
	assert_ok(fm_crypto_init());
	assert_ok(fm_fs_read(AT_FDCWD, FM_TEST_ROOT "/protocol/FORMATS.md", 1 << 20, &document));
	find_examples();
	return 0;
}

static int done(void **state)
{
	(void)state;
	fm_buf_free(&document);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_example)};

	return cmocka_run_group_tests(tests, init, done);
}
