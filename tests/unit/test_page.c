/* test_page.c: Markdown blocks, their HTML, foreign text kept text, the published page and its
 * rarer cases. */
#include "orchestrator/html.h"
#include "orchestrator/page_data.h"
#include "tests/unit/scratch.h"
#include <math.h>

static const char nasty[] = "<b>&|`x`[l](u)*s*\\\x1b[31m\xe2\x80\xae";

static void text_stays_text(void **state)
{
	struct fm_page p;
	struct fm_buf html = FM_BUF_INIT(1 << 20);

	(void)state;
	fm_page_start(&p);
	fm_page(&p, "# T\n\n| a | b |\n|---|---|\n");
	fm_page_row(&p);
	fm_page_cell_text(&p, nasty);
	fm_page_cell_code(&p, nasty);
	fm_page_row_end(&p);
	fm_page(&p, "\n");
	fm_page_text(&p, nasty);
	fm_page(&p, "\n");
	assert_ok(fm_page_end(&p));
	assert_null(strchr(p.md.data, 0x1b));
	assert_ok(fm_html(&p, nasty, false, &html));
	assert_null(strstr(html.data, "<b>"));
	assert_null(strstr(html.data, "<a "));
	assert_null(strstr(html.data, "<script"));
	assert_null(strchr(html.data, 0x1b));
	assert_non_null(
	        strstr(html.data, ">&lt;b&gt;&amp;|`x`[l](u)*s*")); /* one cell, all of it */
	fm_page_free(&p);
	fm_buf_free(&html);
}

static void blocks(void **state)
{
	struct fm_page p;
	struct fm_buf html = FM_BUF_INIT(1 << 20);

	(void)state;
	fm_page_start(&p);
	fm_page(&p, "# Head\n\nSee [x](a/b.md), [y](https://e.org/c.md), [z](javascript:alert) and "
	            "**bold** `co|de`.\n\n"
	            "- one\n- two\n\n> warned\n\n```\na < b\n```\n\n| n | v |\n|---|---|\n| `a|b` "
	            "| 1.5 |\n| c | \xe2\x80\x93 |\n");
	assert_ok(fm_page_end(&p));
	assert_ok(fm_html(&p, "Head", true, &html));
	assert_non_null(strstr(html.data, "<h1>Head</h1>"));
	assert_non_null(strstr(html.data, "<a href=\"a/b.html\">x</a>"));
	assert_non_null(strstr(html.data, "<a href=\"https://e.org/c.md\">y</a>"));
	assert_null(strstr(html.data, "href=\"javascript"));
	assert_non_null(strstr(html.data, "<strong>bold</strong> <code>co|de</code>"));
	assert_non_null(strstr(html.data, "<li>two</li>"));
	assert_non_null(strstr(html.data, "<p class=\"warn\">warned</p>"));
	assert_non_null(strstr(html.data, "a &lt; b\n</code></pre>"));
	assert_non_null(strstr(
	        html.data, "<th scope=\"row\"><code>a|b</code></th><td class=\"n\">1.5</td>"));
	assert_non_null(strstr(html.data, "not for publication"));
	fm_page_free(&p);
	fm_buf_free(&html);
}

static void links(void **state)
{
	struct fm_page p;

	(void)state;
	fm_page_start(&p);
	fm_page_link(&p, "1 ", "t", "https://e.org/x?y=1#z");
	fm_page_link(&p, " 2 ", "t", "https://e.org/)evil(");
	fm_page_link(&p, " 3 ", "t", "");
	assert_string_equal(p.md.data, "1 [t](https://e.org/x?y=1#z) 2 https://e.org/)evil(");
	fm_page_free(&p);
}

static void control_characters_are_refused(void **state)
{
	struct fm_page p;

	(void)state;
	fm_page_start(&p);
	fm_page_plain(&p, "os", "Deb\nian");
	assert_fails(FM_ERR_FORM, "os", fm_page_end(&p));
	fm_page_free(&p);
}

static const char *page_of(struct fm_page *p, const struct fm_cells *cells,
        const struct fm_builds *builds, struct fm_env *env)
{
	struct fm_page_published d = {.system = "x_1",
	        .id = "c-1",
	        .name = "C",
	        .address = "https://e.org/",
	        .env = env,
	        .started = "2026-01-01T00:00:00.5+00:00",
	        .ended = "2026-01-02T00:00:00.5+00:00",
	        .cells = cells,
	        .builds = builds};

	fm_env_text(env, FM_ENV_CPU_MODEL, "M");
	fm_env_number(env, FM_ENV_CPU_NUMBER, 2);
	fm_env_text(env, FM_ENV_COMPILER, "gcc");
	fm_page_start(p);
	assert_ok(fm_page_published(&d, p));
	return p->md.data;
}

static void rare_cases(void **state)
{
	static const char long_label[] = "X-123456789012345678901234567890-avx2";
	struct fm_cells cells = {0};
	struct fm_builds builds = {0};
	struct fm_env env = {0};
	struct fm_page p;
	struct fm_cell_fig *c;
	const char *text;

	(void)state;
	fm_env_text(&env, FM_ENV_ARCHITECTURE, "x86_64");
	text = page_of(&p, &cells, &builds, &env); /* no records at all */
	assert_non_null(strstr(text, "- Parameter sets:\n"));
	fm_page_free(&p);
	c = fm_cells_add(&cells);
	snprintf(c->label, sizeof c->label, "%s", long_label);
	snprintf(c->key, sizeof c->key, "hash_32");
	c->bytes = 32;
	c->state = FM_CELL_FAILED;
	c = fm_cells_add(&cells); /* no cycle counts, one process, unequal calls */
	snprintf(c->label, sizeof c->label, "X-2");
	snprintf(c->key, sizeof c->key, "hash_32");
	c->bytes = 32;
	c->measurements = 40;
	c->trials = 1;
	c->iterations = -1;
	c->mean_seconds = 1e-6;
	c->mbs = 32;
	fm_cells_sort(&cells);
	text = page_of(&p, &cells, &builds, &env);
	assert_non_null(strstr(text, "measured: optimized (AVX2), reference\n"));
	assert_non_null(strstr(text, "`X-2`, `X-123456789012345678901234567890-avx2`"));
	assert_non_null(strstr(
	        text, "| `X-123456789012345678901234567890-avx2` | hash_32 | failed | | | | |\n"));
	assert_non_null(strstr(text, "| `X-2` | 32 B | \xe2\x80\x93 | \xe2\x80\x93 | 1 \xc2\xb5s | "
	                             "32.0 | 40 (1 processes) |\n"));
	fm_page_free(&p);
	fm_cells_free(&cells);
}

static void clock_of(const char *arch, const char *least, const char *most, const char *driver,
        const char *no_turbo, const char *boost, const char *smt, int64_t hz, const char *want)
{
	struct fm_env env = {0};
	struct fm_page p;

	fm_env_text(&env, FM_ENV_ARCHITECTURE, arch);
	fm_env_text(&env, FM_ENV_MIN_KHZ, least);
	fm_env_text(&env, FM_ENV_MAX_KHZ, most);
	fm_env_text(&env, FM_ENV_DRIVER, driver);
	fm_env_text(&env, FM_ENV_NO_TURBO, no_turbo);
	fm_env_text(&env, FM_ENV_BOOST, boost);
	fm_env_text(&env, FM_ENV_SMT, smt);
	fm_env_text(&env, FM_ENV_GOVERNOR, "performance");
	if (hz > 0)
		fm_env_number(&env, FM_ENV_CLOCK_HZ, hz);
	fm_page_start(&p);
	fm_page_clock(&p, &env);
	assert_string_equal(p.md.data, want);
	fm_page_free(&p);
}

static void clocks(void **state)
{
	(void)state;
	clock_of("aarch64", "2707200", "2707200", "scmi", NULL, "0", "notsupported", 0,
	        "fixed 2.71 GHz (governor performance, minimum = maximum), boost off, SMT none");
	clock_of("aarch64", NULL, NULL, NULL, NULL, NULL, "notimplemented", 3400000000,
	        "measured 3.40 GHz, set by firmware, SMT none");
	clock_of("x86_64", "800000", "2100000", "intel_pstate", "1", NULL, "off", 0,
	        "max 2.10 GHz, governor performance, turbo off, SMT off");
	clock_of("x86_64", "800000", "2100000", "acpi", NULL, "1", "on", 0,
	        "max 2.10 GHz, governor performance, turbo on, SMT on");
	clock_of("x86_64", "800000", "2100000", "acpi", NULL, NULL, "on", 0,
	        "max 2.10 GHz, governor performance, turbo unknown, SMT on");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	        cmocka_unit_test(text_stays_text),
	        cmocka_unit_test(blocks),
	        cmocka_unit_test(links),
	        cmocka_unit_test(control_characters_are_refused),
	        cmocka_unit_test(rare_cases),
	        cmocka_unit_test(clocks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
