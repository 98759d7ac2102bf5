/* compare_text.c: prints a comparison: blocks of rows for people, one object a row for programs. */
#include "orchestrator/compare.h"
#include "orchestrator/jsonp.h"
#include "orchestrator/number.h"
#include "orchestrator/out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROW_MAX 65536

/* text and spaces up to width characters (not bytes); right: spaces first. Returns what follows. */
static char *pad(char *at, size_t room, const char *text, size_t width, bool right)
{
	size_t n = 0, gap;

	for (const char *s = text; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	gap = n < width ? width - n : 0;
	snprintf(at, room, "%*s%s%*s  ", right ? (int)gap : 0, "", text, right ? 0 : (int)gap, "");
	return at + strlen(at);
}

static void ratio_text(const struct fm_compare_value *v, char out[64])
{
	if (!isfinite(v->ratio.r))
		snprintf(out, 64, "-");
	else if (!isfinite(v->ratio.low))
		snprintf(out, 64, "%.3f (no interval)", v->ratio.r);
	else
		snprintf(out, 64, "%.3f (%.3f to %.3f)", v->ratio.r, v->ratio.low, v->ratio.high);
}

static void mean_text(const struct fm_compare_row *r, int side, char out[64])
{
	if (isfinite(r->cycles.mean[side]))
		snprintf(out, 64, "%s", fm_n_cycles(r->cycles.mean[side], FM_STYLE_OWN).s);
	else if (isfinite(r->seconds.mean[side]))
		snprintf(out, 64, "%s", fm_n_time(r->seconds.mean[side], FM_STYLE_OWN).s);
	else
		snprintf(out, 64, "-");
}

struct widths {
	size_t candidate, label;
};

static void print_row(const struct fm_compare_row *r, const struct widths *w)
{
	char line[1024], text[64], label[2 * FM_LABEL_MAX + 16], *at = line;
	bool unlike = strncmp(r->why, "not comparable", 14) == 0;

	snprintf(label, sizeof label, "%s", r->label[0]);
	if (strcmp(r->label[0], r->label[1]) != 0) /* of versions: the base is in the heading */
		snprintf(label, sizeof label, "%s", r->label[1]);
#define ROOM (sizeof line - (size_t)(at - line))
	at = pad(at, ROOM, r->candidate, w->candidate, false);
	at = pad(at, ROOM, label, w->label, false);
	snprintf(text, sizeof text, "%lld B", (long long)r->bytes);
	at = pad(at, ROOM, text, 7, true);
	for (int k = 0; k < 2; k++) {
		mean_text(r, k, text);
		at = pad(at, ROOM, text, 7, true);
	}
	ratio_text(&r->cycles, text);
	at = pad(at, ROOM, unlike ? r->why : text, 22, false);
	ratio_text(&r->seconds, text);
	at = pad(at, ROOM, text, 22, false);
	snprintf(at, ROOM, "%s%s%s",
	        r->verdict == FM_VERDICT_INCOMPLETE ? r->why : fm_verdict_name[r->verdict],
	        r->flags != NULL ? "; " : "", r->flags != NULL ? r->flags : "");
#undef ROOM
	fm_result("  %s", line);
}

static void print_head(const struct widths *w)
{
	char line[1024], *at = line;
	static const char *const head[] = {"message", "A", "B"};

#define ROOM (sizeof line - (size_t)(at - line))
	at = pad(at, ROOM, "candidate", w->candidate, false);
	at = pad(at, ROOM, "instance", w->label, false);
	for (int i = 0; i < 3; i++)
		at = pad(at, ROOM, head[i], 7, true);
	at = pad(at, ROOM, "core cycles, B / A", 22, false);
	at = pad(at, ROOM, "time, B / A", 22, false);
	snprintf(at, ROOM, "result");
#undef ROOM
	fm_result("  %s", line);
}

/* Facts of the two systems of a pair: which differ, which agree, which one side does not tell. */
static void print_facts(const struct fm_compare_pair *p)
{
	struct fm_buf same = FM_BUF_INIT(4096), unknown = FM_BUF_INIT(4096);
	int rc = FM_OK;

	for (int i = 0; i < FM_FACTS && rc == FM_OK; i++) {
		const char *a = p->facts[0].text[i], *b = p->facts[1].text[i];
		if (a[0] == '\0' || b[0] == '\0')
			rc = fm_compare_note(&unknown, fm_fact_name[i]);
		else if (strcmp(a, b) == 0)
			rc = fm_compare_note(&same, fm_fact_name[i]);
		else
			fm_result("  differs   %s: %s / %s", fm_fact_name[i], a, b);
	}
	if (same.len > 0)
		fm_result("  the same  %s", same.data);
	if (unknown.len > 0)
		fm_result("  not known of both  %s", unknown.data);
	fm_buf_free(&same);
	fm_buf_free(&unknown);
}

static void print_input(const struct fm_compare *c, size_t k)
{
	const struct fm_input *in = &c->input[k];
	const char *name = c->input_count == 2 ? k == 0 ? "A  " : "B  " : "";

	if (!in->tree)
		fm_result("%s%s: a data set, unsigned; published elsewhere unless you made it",
		        name, in->path);
	else
		fm_result("%s%s: campaign %s, profile %s, tree number %s%s", name, in->path,
		        in->report.plan.campaign, in->report.plan.profile,
		        in->number[0] == '\0' ? "none: it is not sealed" : in->number,
		        in->report.plan.publish ? "" : " (not for publication)");
}

static void print_pair(const struct fm_compare *c, size_t pair)
{
	const struct fm_compare_pair *p = &c->pairs[pair];
	struct widths w = {9, 8};

	for (size_t i = 0; i < c->row_count; i++) {
		size_t a = strlen(c->rows[i].candidate), b = strlen(c->rows[i].label[1]);
		w.candidate = a > w.candidate ? a : w.candidate;
		w.label = b > w.label ? b : w.label;
	}
	fm_result("%s", "");
	if (c->versions)
		fm_result("%s: A = version %s, B = the version a row names", p->name[0],
		        c->base_version);
	else if (strcmp(p->name[0], p->name[1]) == 0)
		fm_result("%s", p->name[0]);
	else
		fm_result("A = %s, B = %s", p->name[0], p->name[1]);
	if (!c->versions)
		print_facts(p);
	print_head(&w);
	for (size_t i = 0; i < c->row_count; i++)
		if (c->rows[i].pair == pair)
			print_row(&c->rows[i], &w);
}

static void print_end(const struct fm_compare *c)
{
	struct fm_buf text = FM_BUF_INIT(4096);
	size_t decided = c->count[FM_VERDICT_LESS] + c->count[FM_VERDICT_MORE];
	int rc = fm_buf_printf(&text, "%zu rows:", c->row_count);
	bool first = true;

	for (int v = 0; v < FM_VERDICTS && rc == FM_OK; v++) {
		if (c->count[v] == 0)
			continue;
		rc = fm_buf_printf(
		        &text, "%s %zu %s", first ? "" : ",", c->count[v], fm_verdict_name[v]);
		first = false;
	}
	fm_result("%s", "");
	if (c->left_out.len > 0)
		fm_result("left out: %s", c->left_out.data);
	if (c->sources.len > 0)
		fm_result("other sources on both sides: %s", c->sources.data);
	if (rc == FM_OK)
		fm_result("%s", text.data);
	if (decided == 0 && c->count[FM_VERDICT_SAME] > 0)
		fm_result("no difference shown");
	fm_buf_free(&text);
}

static void print_people(const struct fm_compare *c)
{
	for (size_t k = 0; k < c->input_count; k++)
		print_input(c, k);
	fm_result(
	        "Ratios are B / A of the means of process means: below 1, B needs less. A cell is "
	        "core cycles a call where both have them, else time.");
	if (c->intervals > 0)
		fm_result("All %zu intervals hold together with 95 %%: each is made at 1 - 0.05 / "
		          "%zu "
		          "(Bonferroni), by Fieller, over processes of one build.",
		        c->intervals, c->intervals);
	if (c->paired > 0)
		fm_result(
		        "%zu rows ran in the same rounds: their ratios are geometric means of the "
		        "rounds' own ratios, their intervals are of the logarithms.",
		        c->paired);
	if (c->intervals == 0)
		fm_result("No interval: profile smoke makes too few processes, or nothing can be "
		          "joined.");
	for (size_t i = 0; i < c->pair_count; i++)
		print_pair(c, i);
	print_end(c);
}

static const char *const verdict_key[FM_VERDICTS] = {
        "b_less", "b_more", "no_difference_shown", "no_interval", "not_comparable", "incomplete"};

static void put_value(struct fm_jsonp *w, const char *key, const struct fm_compare_value *v,
        double scale, const char *unit)
{
	char name[64];

	fm_jsonp_object(w, key);
	for (int k = 0; k < 2; k++) {
		snprintf(name, sizeof name, "%c_%s", k == 0 ? 'a' : 'b', unit);
		fm_jsonp_double(w, name, v->mean[k] * scale);
		fm_jsonp_int(w, k == 0 ? "a_processes" : "b_processes", (int64_t)v->n[k]);
	}
	fm_jsonp_double(w, "ratio", v->ratio.r);
	fm_jsonp_double(w, "ratio_low", v->ratio.low);
	fm_jsonp_double(w, "ratio_high", v->ratio.high);
	fm_jsonp_close(w);
}

static void row_object(const struct fm_compare *c, const struct fm_compare_row *r)
{
	struct fm_buf text = FM_BUF_INIT(ROW_MAX);
	struct fm_jsonp w;

	fm_jsonp_start(&w, &text);
	fm_jsonp_str(&w, "system_a", c->pairs[r->pair].name[0]);
	fm_jsonp_str(&w, "system_b", c->pairs[r->pair].name[1]);
	fm_jsonp_str(&w, "candidate", r->candidate);
	fm_jsonp_str(&w, "label_a", r->label[0]);
	fm_jsonp_str(&w, "label_b", r->label[1]);
	fm_jsonp_int(&w, "input_bytes", r->bytes);
	fm_jsonp_str(&w, "verdict", verdict_key[r->verdict]);
	fm_jsonp_str(&w, "why", r->why[0] == '\0' ? NULL : r->why);
	fm_jsonp_str(&w, "flags", r->flags);
	put_value(&w, "core_cycles", &r->cycles, 1, "cycles_per_call");
	put_value(&w, "time", &r->seconds, 1e9, "ns_per_call");
	if (fm_jsonp_end(&w) == FM_OK)
		fm_out_object("row", text.data);
	fm_buf_free(&text);
}

static void end_object(const struct fm_compare *c)
{
	struct fm_buf text = FM_BUF_INIT(1u << 20);
	struct fm_jsonp w;

	fm_jsonp_start(&w, &text);
	fm_jsonp_int(&w, "rows", (int64_t)c->row_count);
	for (int v = 0; v < FM_VERDICTS; v++)
		fm_jsonp_int(&w, verdict_key[v], (int64_t)c->count[v]);
	fm_jsonp_str(&w, "correction", "Bonferroni");
	fm_jsonp_int(&w, "intervals", (int64_t)c->intervals);
	fm_jsonp_double(&w, "level_together", 0.95);
	fm_jsonp_str(&w, "left_out", c->left_out.len > 0 ? c->left_out.data : NULL);
	fm_jsonp_str(&w, "other_sources", c->sources.len > 0 ? c->sources.data : NULL);
	if (fm_jsonp_end(&w) == FM_OK)
		fm_out_object("compared", text.data);
	fm_buf_free(&text);
}

static void facts_object(const struct fm_compare_pair *p)
{
	struct fm_buf text = FM_BUF_INIT(ROW_MAX);
	struct fm_jsonp w;

	fm_jsonp_start(&w, &text);
	for (int k = 0; k < 2; k++) {
		fm_jsonp_object(&w, k == 0 ? "a" : "b");
		fm_jsonp_str(&w, "system", p->name[k]);
		for (int i = 0; i < FM_FACTS; i++)
			fm_jsonp_str(&w, fm_fact_name[i],
			        p->facts[k].text[i][0] == '\0' ? NULL : p->facts[k].text[i]);
		fm_jsonp_close(&w);
	}
	if (fm_jsonp_end(&w) == FM_OK)
		fm_out_object("pair", text.data);
	fm_buf_free(&text);
}

void fm_compare_print(const struct fm_compare *c, bool json)
{
	if (!json) {
		print_people(c);
		return;
	}
	for (size_t i = 0; i < c->pair_count; i++)
		facts_object(&c->pairs[i]);
	for (size_t i = 0; i < c->row_count; i++)
		row_object(c, &c->rows[i]);
	end_object(c);
}
