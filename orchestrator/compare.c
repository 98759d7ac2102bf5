/* compare.c: pairs cells of two sides and computes the ratios, with intervals that allow for the
 * number of rows. */
#include "orchestrator/compare.h"
#include "orchestrator/kind.h"
#include "orchestrator/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fm_verdict_name[FM_VERDICTS] = {
        "B less", "B more", "no difference shown", "no interval", "not comparable", "incomplete"};

void fm_compare_free(struct fm_compare *c)
{
	for (size_t i = 0; i < c->row_count; i++)
		free(c->rows[i].flags);
	for (size_t i = 0; i < c->kept_count; i++)
		free(c->kept[i]);
	free(c->kept);
	free(c->rows);
	free(c->pairs);
	fm_buf_free(&c->left_out);
	fm_buf_free(&c->sources);
	for (size_t i = 0; i < c->input_count; i++)
		fm_input_close(&c->input[i]);
	memset(c, 0, sizeof *c);
}

/* The version a label names by its end; *stem: bytes before it. */
static const char *version_of(const char *label, size_t *stem)
{
	static const char *const ends[] = {"performance", "resource", "avx2"};
	size_t n = strlen(label);

	*stem = n;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t k = strlen(ends[i]);
		if (n > k + 1 && label[n - k - 1] == '-' && strcmp(label + n - k, ends[i]) == 0) {
			*stem = n - k - 1;
			return ends[i];
		}
	}
	return "reference";
}

static bool is_base(const struct fm_compare *c, const struct fm_cell_fig *f)
{
	size_t stem;

	return strcmp(version_of(f->label, &stem), c->base_version) == 0;
}

static bool belongs(
        const struct fm_compare *c, const struct fm_cell_fig *a, const struct fm_cell_fig *b)
{
	size_t x, y;

	if (strcmp(a->key, b->key) != 0)
		return false;
	if (!c->versions)
		return strcmp(a->label, b->label) == 0;
	(void)version_of(a->label, &x);
	(void)version_of(b->label, &y);
	return x == y && strncmp(a->label, b->label, x) == 0 && !is_base(c, b);
}

static int keep_flags(struct fm_compare_row *r, const struct fm_cell_fig *const f[2])
{
	char *text[2] = {fm_cell_flags(f[0]), fm_cell_flags(f[1])};
	int rc = text[0] == NULL || text[1] == NULL ? FM_ERR_MEMORY : FM_OK;

	if (rc == FM_OK) {
		bool a = strcmp(text[0], "\xe2\x80\x93") != 0,
		     b = strcmp(text[1], "\xe2\x80\x93") != 0;
		if ((a || b) &&
		        (r->flags = fm_sprintf("%s%s%s%s%s", a ? "A: " : "", a ? text[0] : "",
		                 a && b ? "; " : "", b ? "B: " : "", b ? text[1] : "")) == NULL)
			rc = FM_ERR_MEMORY;
	}
	free(text[0]);
	free(text[1]);
	return rc;
}

static void take(struct fm_compare_value *v, const struct fm_estimate *a,
        const struct fm_estimate *b, bool intervals)
{
	const struct fm_estimate *e[2] = {a, b};

	for (int k = 0; k < 2; k++) {
		v->mean[k] = e[k]->mean;
		v->variance[k] = intervals ? e[k]->variance : NAN;
		v->n[k] = e[k]->n;
	}
}

/* Two versions in one bundle of profile rigorous ran in the same rounds. */
static void take_rounds(
        struct fm_compare_row *r, const struct fm_cell_fig *a, const struct fm_cell_fig *b)
{
	if (a->in_rounds == NULL || b->in_rounds == NULL)
		return;
	if (isfinite(r->cycles.mean[0]))
		r->cycles.rounds = fm_log_ratio(b->in_rounds, a->in_rounds, FM_ROUNDS);
	if (isfinite(r->seconds.mean[0]))
		r->seconds.rounds =
		        fm_log_ratio(b->in_rounds + FM_ROUNDS, a->in_rounds + FM_ROUNDS, FM_ROUNDS);
}

/* A pair with figures on both sides: the count where both have core cycles of real machines, the
 * time unless one side is emulated. */
static int fill(struct fm_compare_row *r, const struct fm_cell_fig *a, const struct fm_cell_fig *b)
{
	const struct fm_cell_fig *const f[2] = {a, b};
	bool intervals = !a->no_interval && !b->no_interval;

	/* ticks are compared as time, so their rates need not be equal */
	if (fm_kind_join(fm_cell_kind(a), 0, fm_cell_kind(b), 0) != FM_OK) {
		r->not_joined = fm_cell_kind(a) != fm_cell_kind(b);
		snprintf(r->why, sizeof r->why, "%s",
		        r->not_joined ? fm_error_text() : "not comparable: emulated");
	}
	if (!a->emulated && !b->emulated) {
		take(&r->seconds, &a->seconds, &b->seconds, intervals);
		if (!r->not_joined && a->count == FM_COUNT_CYCLES)
			take(&r->cycles, &a->counted, &b->counted, intervals);
	}
	return keep_flags(r, f);
}

static struct fm_compare_row *add_row(struct fm_compare *c, size_t pair, const char *candidate,
        const struct fm_cell_fig *a, const struct fm_cell_fig *b)
{
	struct fm_compare_row *r = fm_grow(&c->rows, &c->row_count, sizeof *r);

	if (r == NULL)
		return NULL;
	r->pair = pair;
	r->candidate = candidate;
	snprintf(r->label[0], sizeof r->label[0], "%s", (a != NULL ? a : b)->label);
	snprintf(r->label[1], sizeof r->label[1], "%s", (b != NULL ? b : a)->label);
	r->bytes = (a != NULL ? a : b)->bytes;
	for (int k = 0; k < 2; k++)
		r->cycles.mean[k] = r->seconds.mean[k] = r->cycles.variance[k] =
		        r->seconds.variance[k] = NAN;
	return r;
}

static int one_row(struct fm_compare *c, size_t pair, const char *candidate,
        const struct fm_cell_fig *a, const struct fm_cell_fig *b)
{
	static const char *const word[] = {"", "failed", "missing", "rejected"};
	struct fm_compare_row *r = add_row(c, pair, candidate, a, b);
	const struct fm_cell_fig *bad = a != NULL && a->state != FM_CELL_MEASURED   ? a
	                                : b != NULL && b->state != FM_CELL_MEASURED ? b
	                                                                            : NULL;

	if (r == NULL)
		return FM_ERR_MEMORY;
	if (bad != NULL)
		snprintf(r->why, sizeof r->why, "%s in %c%s%s", word[bad->state],
		        bad == a ? 'A' : 'B', bad->klass[0] != '\0' ? ": " : "", bad->klass);
	else if (a == NULL || b == NULL)
		snprintf(r->why, sizeof r->why, "not in %c", a == NULL ? 'A' : 'B');
	else {
		int rc = fill(r, a, b);

		if (c->versions)
			take_rounds(r, a, b);
		return rc;
	}
	return FM_OK;
}

/* Every cell of both lists ends up in a row. */
static int match(struct fm_compare *c, size_t pair, const char *candidate, const struct fm_cells *a,
        const struct fm_cells *b)
{
	bool *met = fm_alloc_array(b->count + 1, sizeof *met);
	int rc = met == NULL ? FM_ERR_MEMORY : FM_OK;

	for (size_t i = 0; i < a->count && rc == FM_OK; i++) {
		bool found = false;
		if (c->versions && !is_base(c, &a->list[i]))
			continue;
		for (size_t k = 0; k < b->count && rc == FM_OK; k++) {
			if (met[k] || !belongs(c, &a->list[i], &b->list[k]))
				continue;
			met[k] = found = true;
			rc = one_row(c, pair, candidate, &a->list[i], &b->list[k]);
		}
		if (!found && !c->versions && rc == FM_OK)
			rc = one_row(c, pair, candidate, &a->list[i], NULL);
	}
	for (size_t k = 0; k < b->count && rc == FM_OK; k++)
		if (!met[k] && !(c->versions && is_base(c, &b->list[k])))
			rc = one_row(c, pair, candidate, NULL, &b->list[k]);
	free(met);
	return rc;
}

static int one_candidate(struct fm_compare *c, const char *id, bool *sources)
{
	int rc = FM_OK;

	for (size_t i = 0; i < c->pair_count && rc == FM_OK; i++) {
		struct fm_compare_pair *p = &c->pairs[i];
		struct fm_cells a = {NULL, 0}, b = {NULL, 0};
		char source[2][65];
		rc = fm_input_cells(&c->input[0], p->system[0], id, &a, source[0]);
		if (rc == FM_OK)
			rc = fm_input_cells(
			        &c->input[p->input[1]], p->system[1], id, &b, source[1]);
		if (rc == FM_OK)
			rc = match(c, i, id, &a, &b);
		*sources = *sources || (source[0][0] != '\0' && source[1][0] != '\0' &&
		                               strcmp(source[0], source[1]) != 0);
		fm_cells_free(&a);
		fm_cells_free(&b);
	}
	return rc;
}

static int naturally(const void *a, const void *b)
{
	return fm_natural(*(char *const *)a, *(char *const *)b);
}

/* Chosen candidates of all inputs, in natural order, each once. */
static int gather_candidates(struct fm_compare *c)
{
	size_t kept = 0;

	for (size_t k = 0; k < c->input_count; k++)
		for (size_t i = 0; i < fm_input_candidates(&c->input[k]); i++) {
			const char *name = fm_input_candidate(&c->input[k], i);
			char **slot;
			if (!fm_glob_list(c->candidates, name))
				continue;
			if ((slot = fm_grow(&c->kept, &c->kept_count, sizeof *slot)) == NULL)
				return FM_ERR_MEMORY;
			if ((*slot = fm_strdup(name)) == NULL) {
				c->kept_count--;
				return FM_ERR_MEMORY;
			}
		}
	if (c->kept_count > 1)
		qsort(c->kept, c->kept_count, sizeof *c->kept, naturally);
	for (size_t i = 0; i < c->kept_count; i++)
		if (kept == 0 || strcmp(c->kept[kept - 1], c->kept[i]) != 0)
			c->kept[kept++] = c->kept[i];
		else
			free(c->kept[i]);
	c->kept_count = kept;
	return FM_OK;
}

int fm_compare_cells(struct fm_compare *c)
{
	int rc = gather_candidates(c);

	for (size_t i = 0; i < c->kept_count && rc == FM_OK; i++) {
		bool other = false;
		if ((rc = one_candidate(c, c->kept[i], &other)) == FM_OK && other)
			rc = fm_compare_note(&c->sources, c->kept[i]);
	}
	for (size_t i = 0; i < c->pair_count; i++)
		for (int k = 0; k < 2; k++)
			fm_input_facts(&c->input[k == 0 ? 0 : c->pairs[i].input[1]],
			        c->pairs[i].system[k], &c->pairs[i].facts[k]);
	return rc;
}

static bool can_have_interval(const struct fm_compare_value *v)
{
	return v->n[0] > 1 && v->n[1] > 1 && isfinite(v->variance[0]) && isfinite(v->variance[1]);
}

static void make_ratio(struct fm_compare_value *v, size_t intervals)
{
	const bool paired = v->rounds.n > 1;
	size_t n = paired ? v->rounds.n : v->n[0] < v->n[1] ? v->n[0] : v->n[1];
	double t = NAN;

	if (n > 1 && intervals > 0)
		t = fm_t_upper(0.025 / (double)intervals, n - 1);
	if (paired) {
		v->ratio = fm_ratio_in_rounds(&v->rounds, t);
		return;
	}
	v->ratio = fm_fieller_at(t, v->mean[1], v->variance[1] / (double)v->n[1], v->n[1],
	        v->mean[0], v->variance[0] / (double)v->n[0], v->n[0]);
}

static enum fm_verdict judge(const struct fm_compare_row *r)
{
	const struct fm_compare_value *v = isfinite(r->cycles.mean[0]) ? &r->cycles : &r->seconds;

	if (!isfinite(v->ratio.r))
		return strncmp(r->why, "not comparable", 14) == 0 ? FM_VERDICT_UNLIKE
		                                                  : FM_VERDICT_INCOMPLETE;
	if (!isfinite(v->ratio.low))
		return FM_VERDICT_OPEN;
	return v->ratio.high < 1  ? FM_VERDICT_LESS
	       : v->ratio.low > 1 ? FM_VERDICT_MORE
	                          : FM_VERDICT_SAME;
}

void fm_compare_finish(struct fm_compare *c)
{
	for (size_t i = 0; i < c->row_count; i++)
		c->intervals += (size_t)can_have_interval(&c->rows[i].cycles) +
		                (size_t)can_have_interval(&c->rows[i].seconds);
	for (size_t i = 0; i < c->row_count; i++) {
		struct fm_compare_row *r = &c->rows[i];
		make_ratio(&r->cycles, c->intervals);
		make_ratio(&r->seconds, c->intervals);
		c->paired += r->cycles.rounds.n > 1 || r->seconds.rounds.n > 1;
		r->verdict = judge(r);
		c->count[r->verdict]++;
		c->unlike += r->not_joined;
	}
}
