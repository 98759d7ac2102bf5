/* page_environment.c: section 2 of a tree's candidate page: the system as its agent saw it, and the
 * host checks. */
#include "orchestrator/number.h"
#include "orchestrator/report_parts.h"

#include <stdio.h>
#include <string.h>

#define DASH "\xe2\x80\x93"

static void item(struct fm_page *p, const char *name, const char *value)
{
	fm_page_row(p);
	fm_page_cell(p, "%s", name);
	fm_page_cell_text(p, value[0] == '\0' ? DASH : value);
	fm_page_row_end(p);
}

static void write_clock(struct fm_page *p, const struct fm_evidence *e)
{
	char text[300];

	for (size_t i = 0; i < e->clock_count; i++) {
		const struct fm_ev_clock *c = &e->clocks[i];
		snprintf(text, sizeof text, "nominal %s, measured %s, quartile range %.1f %%",
		        fm_n_clock((double)c->nominal_khz).s,
		        fm_n_clock((double)c->measured_hz / 1e3).s,
		        c->iqr_ppm < 0 ? 0.0 : (double)c->iqr_ppm / 1e4);
		item(p,
		        e->clock_count == 1 ? "clock"
		        : i == 0            ? "clock at the start"
		                            : "clock later",
		        text);
	}
}

static void write_checks(struct fm_page *p, const struct fm_side *s)
{
	static const char *const heads[] = {"host check", "state", "value", "read from"};
	static const char *const states[] = {"bad", "unknown", "ok"};

	if (!s->have || s->evidence.check_count == 0)
		return;
	fm_page(p, "What the agent checked before measuring. `mark`: the cells carry it; `note`: "
	           "worth knowing, no cell is marked; `unknown`: this host does not tell.\n\n");
	fm_page_table(p, heads, 4);
	for (size_t k = 0; k < 3; k++)
		for (size_t i = 0; i < s->evidence.check_count; i++) {
			const struct fm_ev_check *c = &s->evidence.checks[i];
			if (strcmp(c->state, states[k]) != 0)
				continue;
			fm_page_row(p);
			fm_page_cell_text(p, c->check);
			fm_page_cell(p, "%s", k == 2 ? "ok" : k == 1 ? "unknown" : c->severity);
			fm_page_cell_text(p, c->value);
			fm_page_cell_text(p, c->source);
			fm_page_row_end(p);
		}
	fm_page(p, "\n");
}

void fm_page_environment(struct fm_page *p, const struct fm_side *s)
{
	static const char *const heads[] = {"item", "value"};
	const struct fm_evidence *e = &s->evidence;
	char text[700];

	fm_page(p, "## 2. Assessment environment\n\n");
	if (!s->have) {
		fm_page(p, "No bundle of this system was accepted for this candidate");
		if (s->job != NULL && s->job->klass[0] != '\0') {
			fm_page(p, ": %s (%s) ", s->job->klass, s->job->reason);
			fm_page_text(p, s->job->text);
		}
		fm_page(p, ".\n\n");
		return;
	}
	fm_page_table(p, heads, 2);
	snprintf(text, sizeof text, "%s (CPU %lld, one core)", e->host.cpu_model,
	        (long long)e->measure.cpu);
	item(p, "processor", text);
	item(p, "core type", e->measure.core_type);
	write_clock(p, e);
	item(p, "memory", fm_n_mib_of_kib(e->host.memory_kib).s);
	snprintf(text, sizeof text, "%s / %s", e->host.os, e->host.kernel);
	item(p, "OS / kernel", text);
	item(p, "microcode", e->host.microcode);
	item(p, "compiler", fm_evidence_compiler(e));
	item(p, "virtual machine", e->host.virtual_machine ? "yes" : "no");
	if (fm_evidence_emulated(e))
		item(p, "emulated by", e->host.emulator);
	snprintf(text, sizeof text, "%s by %s, scope %s", e->counter.label, e->counter.source,
	        e->counter.scope);
	if (e->counter.hz > 0)
		snprintf(text + strlen(text), sizeof text - strlen(text), ", %.4g MHz",
		        (double)e->counter.hz / 1e6);
	item(p, "counter", text);
	for (size_t i = 0; i < e->counter.rejected_count; i++)
		item(p, "counter not used", e->counter.rejected[i]);
	snprintf(text, sizeof text, "%s; no_new_privs %lld, seccomp %lld, Landlock %lld",
	        e->isolation.mode, (long long)e->isolation.no_new_privs,
	        (long long)e->isolation.seccomp, (long long)e->isolation.landlock);
	item(p, "isolation of measured code", text);
	snprintf(text, sizeof text, "%s / %s", e->clock.started_at, e->clock.finished_at);
	item(p, "start / end of this candidate (host's clock)", text);
	if (s->job != NULL) {
		snprintf(text, sizeof text, "%s / %s", s->job->issued_at, s->job->received_at);
		item(p, "order sent / bundle received (controller's clock)", text);
	}
	fm_page(p, "\n");
	write_checks(p, s);
}
