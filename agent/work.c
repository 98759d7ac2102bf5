/* work.c: makes the job's tables from the mandate and keeps the small answers about them. */
#include "agent/work.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const fm_column_names[FM_COLUMN_COUNT] = {
#define FM_COLUMN_NAME_(name) #name,
        FM_COLUMNS(FM_COLUMN_NAME_)
#undef FM_COLUMN_NAME_
};

const char *const fm_reason_names[FM_WHY_COUNT] = {"none", "preempted", "blocked", "quota", "steal",
        "thermal", "majfault", "kernel_share", "clock_off", "cpu_changed", "counter_stopped",
        "signal", "gate_mismatch", "canary", "no_end", "time_limit", "superseded", "impossible",
        "shared_core"};

static int by_operation(const void *a, const void *b)
{
	return strcmp(((const struct fm_cell_work *)a)->operation,
	        ((const struct fm_cell_work *)b)->operation);
}

/* The plan's order of cells is the order of bytes of instance/version/operation; '/' sorts before
 * letters and digits but after '-' and '.', so whole names are compared. */
static int by_unit(const void *a, const void *b)
{
	const struct fm_unit *x = a, *y = b;
	char left[160], right[160];

	snprintf(left, sizeof left, "%s/%s/", x->instance->instance, x->version->version);
	snprintf(right, sizeof right, "%s/%s/", y->instance->instance, y->version->version);
	return strcmp(left, right);
}

static int make_unit(
        struct fm_unit *u, const struct fm_jp_instance *in, const struct fm_jp_version *v)
{
	u->instance = in;
	u->version = v;
	snprintf(u->stem, sizeof u->stem, "%s__%s", in->instance, v->version);
	u->cell_count = v->operations.count;
	u->pace_one_ns = u->pace_long_ns = u->rom_reachable = -1;
	u->cells = fm_alloc_array(u->cell_count, sizeof *u->cells);
	if (u->cells == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < u->cell_count; i++) {
		struct fm_cell_work *c = &u->cells[i];

		c->operation = v->operations.at[i];
		c->bytes = fm_jobplan_bytes(c->operation);
		c->t1_ns = -1;
		c->weight = (struct fm_weight){-1, -1, -1, -1, -1, -1, -1, -1, -1, ""};
		snprintf(c->stem, sizeof c->stem, "%s__%s", u->stem, c->operation);
	}
	qsort(u->cells, u->cell_count, sizeof *u->cells, by_operation);
	for (size_t i = 1; i < u->cell_count; i++)
		if (strcmp(u->cells[i - 1].operation, u->cells[i].operation) == 0)
			return fm_fail(FM_ERR_FORM, "plan: %s has %s twice", u->stem,
			        u->cells[i].operation);
	return FM_OK;
}

static int make_units(struct fm_candidate_work *c)
{
	int rc = FM_OK;

	for (size_t i = 0; rc == FM_OK && i < c->plan->instance_count; i++) {
		const struct fm_jp_instance *in = &c->plan->instances[i];

		for (size_t v = 0; rc == FM_OK && v < in->version_count; v++) {
			struct fm_unit *u = fm_grow(&c->units, &c->unit_count, sizeof *u);

			rc = u == NULL ? FM_ERR_MEMORY : make_unit(u, in, &in->versions[v]);
			c->cell_count += rc == FM_OK ? u->cell_count : 0;
		}
	}
	if (rc != FM_OK)
		return rc;
	qsort(c->units, c->unit_count, sizeof *c->units, by_unit);
	for (size_t i = 0; i < c->unit_count; i++) {
		if (i > 0 && strcmp(c->units[i - 1].stem, c->units[i].stem) == 0)
			return fm_fail(
			        FM_ERR_FORM, "plan: %s stands there twice", c->units[i].stem);
		for (size_t k = 0; k < c->units[i].cell_count; k++)
			c->units[i].cells[k].unit = &c->units[i];
	}
	return FM_OK;
}

/* First 8 bytes of SHA-256 over job nonce, system, candidate, each with LF. */
static void order_seed(const struct fm_job *j, struct fm_candidate_work *c)
{
	struct fm_sha256 h;
	const char *parts[3] = {c->item->nonce, j->mandate.plan.system, c->plan->candidate};
	char hex[65];

	fm_sha256_start(&h);
	for (int i = 0; i < 3; i++) {
		fm_sha256_add(&h, parts[i], strlen(parts[i]));
		fm_sha256_add(&h, "\n", 1);
	}
	fm_sha256_end(&h, hex);
	snprintf(c->order_seed, sizeof c->order_seed, "%.16s", hex);
}

int fm_work_make(struct fm_job *j)
{
	const struct fm_dispatch *d = &j->mandate.dispatch;
	int rc = FM_OK;

	j->candidates = fm_alloc_array(d->item_count, sizeof *j->candidates);
	if (j->candidates == NULL)
		return FM_ERR_MEMORY;
	for (size_t i = 0; i < d->item_count; i++)
		j->candidates[i].dir = j->candidates[i].tree = -1;
	j->candidate_count = d->item_count;
	for (size_t i = 0; rc == FM_OK && i < d->item_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		c->item = &d->items[i];
		c->plan = fm_jobplan_candidate(&j->mandate.plan, c->item->candidate);
		c->commands = FM_BUF_INIT(32u << 20);
		fm_stamp_now(c->started_at);
		c->started_ns = fm_agent_now_ns();
		c->no_new_privs = c->landlock = c->seccomp = -1;
		order_seed(j, c);
		rc = make_units(c);
	}
	return rc;
}

static void free_unit(struct fm_unit *u)
{
	for (size_t i = 0; i < u->cell_count; i++) {
		for (size_t k = 0; k < u->cells[i].taken_count; k++)
			free(u->cells[i].taken[k].windows);
		free(u->cells[i].taken);
	}
	free(u->cells);
	for (size_t i = 0; i < u->property_count; i++)
		free(u->properties[i]);
	free(u->properties);
	free(u->flags);
	free(u->library);
}

void fm_work_free(struct fm_job *j)
{
	for (size_t i = 0; i < j->candidate_count; i++) {
		struct fm_candidate_work *c = &j->candidates[i];

		for (size_t k = 0; k < c->unit_count; k++)
			free_unit(&c->units[k]);
		free(c->units);
		free(c->path);
		fm_buf_free(&c->commands);
		(void)!fm_lines_close(c->spool);
		if (c->dir >= 0)
			close(c->dir);
		if (c->tree >= 0)
			close(c->tree);
	}
	free(j->candidates);
	j->candidates = NULL;
	j->candidate_count = 0;
}

bool fm_unit_gated(const struct fm_unit *u)
{
	return fm_streq(u->build_status, "ok") && !u->kat_missing &&
	       (strcmp(u->kat_status, "PASS") == 0 || strcmp(u->kat_status, "NOKAT") == 0);
}

void fm_cell_close(struct fm_cell_work *c, const char *status, const char *klass,
        const char *reason, const char *text)
{
	if (c->status != NULL)
		return;
	c->status = status;
	c->klass = klass;
	c->reason = reason;
	fm_agent_clean(text, strlen(text), c->text);
}

void fm_unit_close(struct fm_unit *u, const char *status, const char *klass, const char *reason,
        const char *text)
{
	for (size_t i = 0; i < u->cell_count; i++)
		fm_cell_close(&u->cells[i], status, klass, reason, text);
}

int fm_order_library(struct fm_buf *order, const char *task, const struct fm_candidate_work *c,
        const struct fm_unit *u, int cpu)
{
	int rc;

	if ((rc = fm_order_begin(order, task)) != FM_OK ||
	        (rc = fm_text_put(order, "library", "%s", u->library)) != FM_OK ||
	        (rc = fm_text_put(order, "library_sha256", "%s", u->library_sha256)) != FM_OK ||
	        (rc = fm_text_put(order, "candidate", "%s", c->plan->candidate)) != FM_OK ||
	        (rc = fm_text_put(order, "instance", "%s", u->instance->instance)) != FM_OK ||
	        (rc = fm_text_put(order, "digest_bits", "%u", u->instance->digest_bits)) != FM_OK)
		return rc;
	return fm_text_put(order, "cpu", "%d", cpu);
}

int fm_work_cpu(size_t n)
{
	cpu_set_t set;
	int found[CPU_SETSIZE];
	size_t count = 0;

	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return -1;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, &set))
			found[count++] = i;
	return count == 0 ? -1 : found[n % count];
}

int fm_children_run(size_t count, size_t width,
        int (*begin)(void *, size_t, size_t, struct fm_child *),
        int (*end)(void *, size_t, struct fm_child *), void *arg)
{
	struct fm_child children[64];
	size_t index[64], next = 0, running = 0, ended = 0;
	int rc = FM_OK;

	if (width < 1)
		width = 1;
	if (width > 64)
		width = 64;
	memset(children, 0, sizeof children);
	for (size_t slot = 0; slot < width; slot++)
		children[slot].out_fd = children[slot].result_fd = -1;
	while (rc == FM_OK && (next < count || running > 0)) {
		for (size_t slot = 0; rc == FM_OK && slot < width && next < count;) {
			if (children[slot].pid != 0) {
				slot++;
				continue;
			}
			memset(&children[slot], 0, sizeof children[slot]);
			children[slot].out_fd = children[slot].result_fd = -1;
			index[slot] = next;
			rc = begin(arg, next++, slot, &children[slot]);
			if (children[slot].pid != 0)
				running++;
		}
		if (rc != FM_OK || running == 0)
			continue;
		rc = fm_child_wait(children, width, &ended);
		if (rc == FM_OK) {
			running--;
			rc = end(arg, index[ended], &children[ended]);
			fm_child_free(&children[ended]);
		}
	}
	if (rc != FM_OK)
		fm_child_kill_all(children, width);
	for (size_t slot = 0; slot < width; slot++)
		fm_child_free(&children[slot]);
	return rc;
}
