/* test_chart.c: every bar is drawn once, whichever system is the faster one. */
#include "orchestrator/html.h"
#include "orchestrator/report_parts.h"
#include "tests/unit/scratch.h"

#define INSTANCES 3
#define SYSTEMS   2

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)) != NULL; p++)
		n++;
	return n;
}

/* Median of a cell in seconds; system fast is the faster one for every instance. */
static void fill(struct fm_brief *b, struct fm_candidate *c, struct fm_instance *in, int system,
        double seconds)
{
	*b = (struct fm_brief){.candidate = c,
	        .instance = in,
	        .version = FM_VERSION_REFERENCE,
	        .system = system,
	        .median_seconds = seconds,
	        .low_seconds = seconds,
	        .high_seconds = seconds};
	b->size[FM_BRIEF_LARGE] = (struct fm_brief_cell){
	        .there = true, .state = FM_CELL_MEASURED, .count = FM_COUNT_TICKS, .mark = ""};
}

static void bars_of(int fast)
{

	struct fm_candidate candidate = {.id = "tiny"};
	struct fm_instance instances[INSTANCES] = {{.digest_bits = 256}};
	struct fm_plan_system plans[SYSTEMS] = {{.name = "x86_1"}, {.name = "arm_1"}};
	struct fm_report_system systems[SYSTEMS] = {{.plan = &plans[0]}, {.plan = &plans[1]}};
	struct fm_brief briefs[SYSTEMS * INSTANCES];
	struct fm_report r = {.systems = systems,
	        .system_count = SYSTEMS,
	        .briefs = briefs,
	        .brief_count = SYSTEMS * INSTANCES};
	struct fm_buf html = FM_BUF_INIT(1 << 22);
	struct fm_page p;

	for (int s = 0; s < SYSTEMS; s++)
		for (int i = 0; i < INSTANCES; i++) {
			(void)snprintf(instances[i].name, sizeof instances[i].name, "T-%d", i);
			instances[i].digest_bits = 256;
			fill(&briefs[s * INSTANCES + i], &candidate, &instances[i], s,
			        (s == fast ? 1e-6 : 2e-6) * (i + 1));
		}
	fm_page_start(&p);
	fm_page(&p, "# T\n\n");
	assert_ok(fm_chart_bars(&p, &r));
	assert_ok(fm_page_end(&p));
	assert_ok(fm_html(&p, "T", false, &html));
	/* and one in the legend */
	assert_int_equal(count(html.data, "url(#h1-0)"), INSTANCES + 1);
	assert_int_equal(count(html.data, "url(#h1-1)"), INSTANCES + 1);
	fm_page_free(&p);
	fm_buf_free(&html);
}

static void each_bar_once(void **state)
{
	(void)state;
	bars_of(0);
	bars_of(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_bar_once)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
