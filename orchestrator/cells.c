/* cells.c: figures of cells and entries of build lists, sorted and looked up as pages need them. */
#include "orchestrator/cells.h"

#include "orchestrator/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fm_cell_fig_free(struct fm_cell_fig *c)
{
	free(c->text);
	free(c->marks);
	free(c->rejected);
	free(c->processes);
	free(c->in_rounds);
	c->in_rounds = NULL;
	c->text = c->marks = NULL;
	c->rejected = NULL;
	c->processes = NULL;
}

void fm_cells_free(struct fm_cells *c)
{
	for (size_t i = 0; i < c->count; i++)
		fm_cell_fig_free(&c->list[i]);
	free(c->list);
	memset(c, 0, sizeof *c);
}

struct fm_cell_fig *fm_cells_add(struct fm_cells *c)
{
	struct fm_cell_fig *f = fm_grow(&c->list, &c->count, sizeof *f);

	if (f != NULL)
		f->mean_seconds = f->mean_cycles = f->mbs = f->mean_ticks = NAN;
	return f;
}

static int in_page_order(const void *a, const void *b)
{
	const struct fm_cell_fig *x = a, *y = b;
	int d = fm_natural(x->label, y->label);

	if (d != 0)
		return d;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return strcmp(x->key, y->key);
}

void fm_cells_sort(struct fm_cells *c)
{
	if (c->count > 1)
		qsort(c->list, c->count, sizeof *c->list, in_page_order);
}

const struct fm_cell_fig *fm_cells_find(const struct fm_cells *c, const char *label, int64_t bytes)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].bytes == bytes && strcmp(c->list[i].label, label) == 0)
			return &c->list[i];
	return NULL;
}

int fm_cell_estimate(struct fm_cell_fig *c, const double *seconds, const double *counts, size_t n)
{
	const double *shown = c->count == FM_COUNT_CYCLES && counts != NULL ? counts : seconds;
	int rc;

	if ((rc = fm_estimate(seconds, n, &c->seconds)) != FM_OK)
		return rc;
	if (counts != NULL && (rc = fm_estimate(counts, n, &c->counted)) != FM_OK)
		return rc;
	if ((rc = fm_stat_flags(shown, n, fm_cell_shown(c), &c->flags)) != FM_OK ||
	        !fm_cell_flagged(c))
		return rc;
	if ((c->processes = fm_alloc_array(n, sizeof *c->processes)) == NULL)
		return FM_ERR_MEMORY;
	memcpy(c->processes, shown, n * sizeof *c->processes);
	return FM_OK;
}

bool fm_cell_flagged(const struct fm_cell_fig *c)
{
	return c->flags.outliers > 0 || c->flags.far > 0 || c->flags.bimodal || c->flags.drift ||
	       c->flags.gap;
}

const struct fm_estimate *fm_cell_shown(const struct fm_cell_fig *c)
{
	return c->count == FM_COUNT_CYCLES && c->counted.n > 0 ? &c->counted : &c->seconds;
}

int fm_cell_from_record(const struct fm_record *r, struct fm_cell_fig *c)
{
	double *seconds = NULL, *counts = NULL;
	int rc = FM_ERR_MEMORY;

	if (strlen(r->label) > FM_LABEL_MAX || strlen(r->instance) > FM_NAME_MAX)
		return fm_fail(FM_ERR_FORM, "label: longer than %d bytes", FM_LABEL_MAX);
	snprintf(c->label, sizeof c->label, "%s", r->label);
	snprintf(c->instance, sizeof c->instance, "%s", r->instance);
	fm_record_key(r, c->key);
	c->bytes = r->input_bytes;
	c->state = r->complete ? FM_CELL_MEASURED : FM_CELL_FAILED;
	if (!r->complete)
		return FM_OK;
	c->measurements = r->measurements;
	c->trials = r->trials_planned;
	c->iterations = r->iterations_per_trial;
	c->mean_seconds = r->mean_seconds;
	c->mean_cycles = r->mean_cycles;
	c->mbs = r->throughput_mb;
	c->baseline_rss = r->baseline_rss_bytes;
	c->peak_rss = r->peak_rss_bytes;
	c->cpu = (int)r->environment.value[FM_ENV_CPU_NUMBER].number;
	c->count = isfinite(r->mean_cycles) ? FM_COUNT_CYCLES
	           : r->ticks               ? FM_COUNT_TICKS
	                                    : FM_COUNT_NONE;
	c->emulated = r->emulated;
	c->no_interval = r->smoke;
	c->not_validated = r->kat != NULL && strcmp(r->kat, "NOKAT") == 0;
	c->few_calls = !r->guide_100;
	seconds = fm_alloc_array(r->trial_count, sizeof *seconds);
	counts = fm_alloc_array(r->trial_count, sizeof *counts);
	if (seconds == NULL || counts == NULL)
		goto out;
	for (size_t i = 0; i < r->trial_count; i++) {
		seconds[i] = r->trials[i].seconds / (double)r->trials[i].measurements;
		counts[i] = (double)r->trials[i].cycles / (double)r->trials[i].measurements;
	}
	rc = fm_cell_estimate(
	        c, seconds, c->count == FM_COUNT_CYCLES ? counts : NULL, r->trial_count);
out:
	free(seconds);
	free(counts);
	return rc;
}

char *fm_cell_flags(const struct fm_cell_fig *c)
{
	struct fm_buf b = FM_BUF_INIT(4096);
	const struct fm_stat_flags *f = &c->flags;
	size_t n = fm_cell_shown(c)->n;
	int rc = FM_OK;

#define FLAG(condition, ...)            \
	if (rc == FM_OK && (condition)) \
	rc = fm_buf_printf(&b, "; " __VA_ARGS__)
	FLAG(f->outliers > 0, "outlier %zu of %zu", f->outliers, n);
	FLAG(f->far > 0 && f->outliers == 0, "far %zu of %zu", f->far, n);
	FLAG(f->gap, "mean \xe2\x89\xa0 median");
	FLAG(f->bimodal, "bimodal");
	FLAG(f->drift, "drift");
	FLAG(c->disturbed, "disturbed");
	FLAG(c->partial, "partial");
	FLAG(c->few_calls, "few_calls");
	FLAG(c->emulated, "emulated");
	FLAG(c->not_validated, "not validated");
	FLAG(c->marks != NULL, "%s", c->marks);
#undef FLAG
	if (rc == FM_OK && b.len == 0)
		rc = fm_buf_puts(&b, "; \xe2\x80\x93");
	if (rc != FM_OK) {
		fm_buf_free(&b);
		return NULL;
	}
	fm_buf_consume(&b, 2);
	return b.data;
}

bool fm_cell_ranked(const struct fm_cell_fig *c, const char **why)
{
	*why = c->state != FM_CELL_MEASURED ? "not measured"
	       : c->emulated                ? "emulated"
	       : c->not_validated           ? "not validated"
	       : c->disturbed               ? "disturbed"
	       : c->partial                 ? "partial"
	       : c->trials == 1             ? "one process"
	                                    : NULL;
	return *why == NULL;
}

void fm_builds_free(struct fm_builds *b)
{
	for (size_t i = 0; i < b->count; i++) {
		struct fm_build_fig *f = &b->list[i];
		char *all[] = {f->variant, f->flags, f->kat, f->library_sha256, f->kat_log,
		        f->kat_log_sha256, f->library, f->not_run, f->kat_digest, f->build_log,
		        f->build_log_sha256, f->reason};
		for (size_t k = 0; k < sizeof all / sizeof *all; k++)
			free(all[k]);
	}
	free(b->list);
	memset(b, 0, sizeof *b);
}

struct fm_build_fig *fm_builds_add(struct fm_builds *b)
{
	struct fm_build_fig *f = fm_grow(&b->list, &b->count, sizeof *f);

	if (f != NULL)
		f->elf_bytes = -1;
	return f;
}

const struct fm_build_fig *fm_builds_find(const struct fm_builds *b, const char *label)
{
	for (size_t i = 0; i < b->count; i++)
		if (strcmp(b->list[i].label, label) == 0)
			return &b->list[i];
	return NULL;
}

static int naturally(const void *a, const void *b)
{
	return fm_natural(*(const char *const *)a, *(const char *const *)b);
}

int fm_labels(
        const struct fm_cells *c, const struct fm_builds *b, const char ***labels, size_t *count)
{
	size_t n = 0, kept = 0;
	const char **list = fm_alloc_array(c->count + b->count + 1, sizeof *list);

	*labels = NULL;
	*count = 0;
	if (list == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < c->count; i++)
		list[n++] = c->list[i].label;
	for (size_t i = 0; i < b->count; i++)
		list[n++] = b->list[i].label;
	if (n > 1)
		qsort(list, n, sizeof *list, naturally);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || strcmp(list[kept - 1], list[i]) != 0)
			list[kept++] = list[i];
	*labels = list;
	*count = kept;
	return FM_OK;
}
