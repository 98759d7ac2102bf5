/* page_differences.c: which facts of the systems differ, a column each, and which are the same
 * everywhere. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DASH "\xe2\x80\x93"

/* One line of an environment comparison: a value per system; equal ones are gathered for the
 * closing line. */
struct diff {
	struct fm_page *p;
	const struct fm_report *r;
	struct fm_buf same; /* names of equal rows */
	bool begun;
};

static void diff_row(struct diff *d, const char *name, const char *const *values)
{
	bool equal = true;
	const char *first = NULL;

	for (size_t i = 0; i < d->r->system_count; i++) {
		if (values[i] == NULL)
			continue;
		equal = equal && (first == NULL || strcmp(first, values[i]) == 0);
		first = values[i];
	}
	if (first == NULL)
		return;
	if (equal) {
		if (fm_buf_printf(&d->same, "%s%s", d->same.len > 0 ? ", " : "", name) != FM_OK)
			d->p->error = FM_ERR_MEMORY;
		return;
	}
	if (!d->begun) {
		fm_page(d->p, "| differs |");
		for (size_t i = 0; i < d->r->system_count; i++)
			fm_page(d->p, " %s |", d->r->systems[i].plan->name);
		fm_page(d->p, "\n|---|");
		for (size_t i = 0; i < d->r->system_count; i++)
			fm_page(d->p, "---|");
		fm_page(d->p, "\n");
		d->begun = true;
	}
	fm_page_row(d->p);
	fm_page_cell(d->p, "%s", name);
	for (size_t i = 0; i < d->r->system_count; i++)
		fm_page_cell_text(d->p, values[i] == NULL ? DASH : values[i]);
	fm_page_row_end(d->p);
}

static const char *text_of(const struct fm_report_system *s, int which, char *buf, size_t size)
{
	const char *fixed[] = {s->plan->arch, s->cpu_model, s->core_type, s->compiler, s->os,
	        s->kernel, s->microcode, s->label, s->source, s->scope, s->isolation};

	if (which == 0)
		return fixed[0];
	if (!s->any)
		return NULL;
	if (which < 11) /* what no side knows is not called the same */
		return fixed[which][0] == '\0' ? NULL : fixed[which];
	switch (which) {
	case 11:
		if (s->nominal_khz <= 0)
			return NULL;
		snprintf(buf, size, "%s", fm_n_clock((double)s->nominal_khz).s);
		break;
	case 12:
		if (s->measured_hz <= 0)
			return NULL;
		snprintf(buf, size, "%s", fm_n_clock((double)s->measured_hz / 1e3).s);
		break;
	case 13:
		snprintf(buf, size, "%s", s->virtual_machine ? "yes" : "no");
		break;
	case 14:
		snprintf(buf, size, "%s",
		        !s->emulated             ? "no"
		        : s->emulator[0] == '\0' ? "yes"
		                                 : s->emulator);
		break;
	default:
		snprintf(buf, size, "%s", fm_n_mib_of_kib(s->memory_kib).s);
	}
	return buf;
}

int fm_page_environments(struct fm_page *p, const struct fm_report *r, const char *folder)
{
	static const char *const names[] = {"architecture", "processor", "core type", "compiler",
	        "OS", "kernel", "microcode", "label of the count", "counter", "scope", "isolation",
	        "nominal clock", "measured clock", "virtual machine", "emulated", "memory"};
	struct diff d = {p, r, FM_BUF_INIT(4096), false};
	const char **values = fm_alloc_array(r->system_count + 1, sizeof *values);
	char(*text)[64] = fm_alloc_array(r->system_count + 1, sizeof *text);
	int rc = FM_ERR_MEMORY;

	if (values == NULL || text == NULL)
		goto out;
	if (r->system_count < 2) {
		fm_page(p, "One system: [summary](%s%ssummary_%s.md).\n\n", folder,
		        r->mark != NULL ? "performance/" : "", r->systems[0].plan->name);
		rc = FM_OK;
		goto out;
	}
	for (int which = 0; which < 16; which++) {
		for (size_t i = 0; i < r->system_count; i++)
			values[i] = text_of(&r->systems[i], which, text[i], sizeof text[i]);
		diff_row(&d, names[which], values);
	}
	if (d.begun)
		fm_page(p, "\n");
	if (d.same.len > 0)
		fm_page(p, "The same everywhere: %s.\n\n", d.same.data);
	rc = FM_OK;
out:
	fm_buf_free(&d.same);
	free(values);
	free(text);
	return rc;
}
